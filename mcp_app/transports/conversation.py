"""One request answered on an event loop: hops to worker lanes, notifications, hanging up.

A sync read-only call costs one hop to a lane, from recognising the caller to the reply; any other
call two. Waiting for a commit happens here, on the loop, never in a lane.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, Final

from mcp_app.catalog.definition import Kind
from mcp_app.conf import settings
from mcp_app.dispatch.calls import Call, Ran
from mcp_app.dispatch.context import Cancelled, Outlet, Silence, TimeLimitReached
from mcp_app.dispatch.dispatcher import Dispatcher, Reply
from mcp_app.dispatch.services import Inbound
from mcp_app.protocol import messages, sse
from mcp_app.transports.exchange import Entered, Exchange, Refused
from mcp_app.transports.gates import Accepts
from mcp_app.transports.incoming import HttpReply, HttpStream, Incoming
from mcp_app.transports.replies import as_http, begin, combine, conclude, may_run, worded
from mcp_app.work.lanes import READ, WRITE, Lane, Place, beside_sync_code

_running: Final[set[asyncio.Task[Any]]] = set()
"""Calls whose client may be gone already: a legacy call goes on without one, and so does an async
tool that will not be cancelled."""


Step = Call | Reply | None
"""How far a hop came: to a call that goes on elsewhere, to its reply, or nowhere yet."""

_LOOK: Final = 1.0
"""Seconds, at most, between looks at a hop whose tool has not started its clock."""
_GRACE: Final = 1.0
"""Seconds that an async tool has to clean up after it was cancelled; then it is forgotten."""
_SLACK: Final = 0.01
"""Seconds that a look comes after a deadline, lest it come just before."""


class Notifications:
    """An outlet that a stream reads. `emit` may be called from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[bytes] = deque()
        self._stirred = asyncio.Event()

    def emit(self, message: Mapping[str, Any]) -> None:
        """Queue one notification; order is kept."""
        self._loop.call_soon_threadsafe(self._put, messages.dumps(message))

    def _put(self, data: bytes) -> None:
        self._waiting.append(data)
        self._stirred.set()

    def wake(self, _: object = None) -> None:
        """End a `wait` although nothing was emitted."""
        self._stirred.set()

    def take(self) -> list[bytes]:
        """What was emitted since the last time."""
        self._stirred.clear()
        taken = list(self._waiting)
        self._waiting.clear()
        return taken

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits to be sent."""
        return not self._waiting

    async def wait(self, seconds: float) -> bool:
        """Until something is emitted or `wake` is called; False after `seconds` of silence."""
        try:
            async with asyncio.timeout(seconds):
                await self._stirred.wait()
        except TimeoutError:
            return False
        return True


class Conversation:
    """Answers one request; made and used on one event loop."""

    def __init__(
        self, dispatcher: Dispatcher, incoming: Incoming, accepts: Accepts, body: bytes
    ) -> None:
        self._dispatcher = dispatcher
        self._accepts = accepts
        self._notifications: Notifications | None = None
        outlet: Outlet = Silence()
        if incoming.streams and accepts.events:
            outlet = self._notifications = Notifications(asyncio.get_running_loop())
        self._is_delete = incoming.method == "DELETE"
        self._exchange = Exchange(dispatcher, incoming, accepts, body, outlet)
        self._shortest_limit = min(dispatcher.time_limit(self._exchange.parsed), _LOOK)
        self._hung_up = False
        self._entered = Entered()
        self._inbound: Inbound | None = None
        self._call: Call | None = None
        self._tool_task: asyncio.Task[Ran] | None = None

    async def answer(self) -> HttpReply | HttpStream:
        """The whole answer, or a stream once the call has something to tell before its end."""
        work = asyncio.create_task(self._work())
        _running.add(work)
        work.add_done_callback(_running.discard)
        notifications = self._notifications
        try:
            if notifications is None:
                return worded(await asyncio.shield(work), self._accepts)
            work.add_done_callback(notifications.wake)
            await notifications.wait(settings.KEEP_ALIVE)
        except asyncio.CancelledError:
            self.hang_up()
            raise
        if work.done() and notifications.is_empty:
            return worded(work.result(), self._accepts)
        return HttpStream(self._events(work, notifications))

    def hang_up(self) -> None:
        """The client is gone. Where the era says so, that cancels the call."""
        self._hung_up = True
        if self._inbound is not None:
            self._cancel_if_unwanted(self._inbound)

    def _cancel_if_unwanted(self, inbound: Inbound) -> None:
        if self._hung_up and inbound.route.dialect.cancels_on_disconnect:
            inbound.cancellation.cancel()
            if self._tool_task is not None:
                self._tool_task.cancel()

    # --- streaming ---------------------------------------------------------------------------

    async def _events(
        self, work: asyncio.Task[HttpReply], notifications: Notifications
    ) -> AsyncIterator[bytes]:
        """Notifications as they come, comments in between, the one response, the end."""
        try:
            while True:
                for data in notifications.take():
                    yield sse.event(data)
                if work.done() and notifications.is_empty:
                    break
                if not await notifications.wait(settings.KEEP_ALIVE):
                    yield sse.COMMENT
            yield sse.event(work.result().body)
        finally:
            if not work.done():
                self.hang_up()

    # --- working -----------------------------------------------------------------------------

    async def _work(self) -> HttpReply:
        if self._is_delete:
            return await self._end_session()
        step = await self._hop(READ, self._enter)
        replies = []
        for item in self._entered.items:
            if isinstance(item, Refused):
                await _committed(conclude(item.record, ""))
                replies.append(item.reply)
            else:
                replies.append(await self._reply(item, step))
                step = None
        return combine(replies, is_batch=self._entered.is_batch)

    async def _end_session(self) -> HttpReply:
        ended = await READ.run(self._exchange.end_session)
        if not isinstance(ended, Refused):
            return ended
        await _committed(conclude(ended.record, ""))
        return as_http(ended.reply)

    def _enter(self) -> Step:
        """In a lane: recognise, route and, for a lone message, go as far as one hop reaches."""
        entered = self._entered = self._exchange.enter()
        lone = entered.items[0] if len(entered.items) == 1 else None
        return self._advance(lone) if isinstance(lone, Inbound) else None

    def _advance(self, inbound: Inbound) -> Step:
        """In a lane: prepare, and run what may run here. None if the loop answered meanwhile."""
        self._inbound = inbound
        self._cancel_if_unwanted(inbound)
        prepared = self._dispatcher.prepare(inbound)
        if isinstance(prepared, Reply):
            return prepared
        self._call = prepared
        if prepared.refusal is None and (_is_async(prepared) or not prepared.tool.read_only):
            return prepared
        return self._run(prepared)

    def _run(self, call: Call) -> Reply | None:
        return self._settle(call, self._dispatcher.run(call))

    def _settle(self, call: Call, ran: Ran) -> Reply | None:
        ran = self._dispatcher.read(call, ran)
        return self._dispatcher.finish(call, ran) if call.claim() else None

    async def _reply(self, inbound: Inbound, step: Step) -> Reply:
        if step is None:
            # The deadline of a batch's last call is not the next one's.
            self._inbound = self._call = None
            step = await self._hop(READ, partial(self._advance, inbound))
        reply = await self._finish(step) if isinstance(step, Call) else step
        assert reply is not None, "a hop whose answer the loop gave is not awaited"
        await _committed(conclude(inbound.record, inbound.request.method))
        return reply

    async def _finish(self, call: Call) -> Reply | None:
        """Run what one hop could not: an async tool here, one that writes in its own lane."""
        if not may_run(await _committed(begin(call.inbound, writes=not call.tool.read_only))):
            return self._dispatcher.withhold(call.inbound)
        if _is_async(call):
            ran = await self._run_async(call)
            settle = partial(self._settle, call, ran)
            # What is left to the time limit is to read a lazy value.
            step = await (READ.run(settle) if ran.error else self._hop(READ, settle))
        else:
            step = await self._hop(WRITE, partial(self._run, call))
        return step if isinstance(step, Reply) else None

    async def _run_async(self, call: Call) -> Ran:
        job = partial(self._dispatcher.arun, call)
        task = self._tool_task = asyncio.create_task(beside_sync_code(job))
        _running.add(task)
        task.add_done_callback(_running.discard)
        self._cancel_if_unwanted(call.inbound)
        assert call.time_limit is not None, "a call that runs has a time limit"
        try:
            await asyncio.wait({task}, timeout=call.time_limit + _GRACE)
        except asyncio.CancelledError:
            task.cancel()
            return Ran(error=Cancelled())
        finally:
            self._tool_task = None
        if not task.done():
            return Ran(error=TimeLimitReached())
        return Ran(error=Cancelled()) if task.cancelled() else task.result()

    async def _hop(self, lane: Lane, job: Callable[[], Step]) -> Step:
        """What `job` comes to in a lane, or the answer for a tool that passed its time limit."""
        place = Place()
        hop = asyncio.ensure_future(lane.run(job, place))
        while not hop.done():
            await asyncio.wait({hop}, timeout=self._patience())
            if not hop.done() and self._is_overdue():
                place.give_up()
                return self._overdue()
        return hop.result()

    def _patience(self) -> float:
        """Seconds until it is worth a look whether the tool is overdue."""
        deadline = self._inbound.cancellation.deadline if self._inbound is not None else None
        if deadline is None:
            return self._shortest_limit + _SLACK
        return max(deadline - time.monotonic(), 0.0) + _SLACK

    def _is_overdue(self) -> bool:
        inbound = self._inbound
        return inbound is not None and inbound.cancellation.overdue and inbound.claim()

    def _overdue(self) -> Reply:
        """Answer for a tool whose thread has not come back: it is told to stop and forgotten."""
        call = self._call
        assert call is not None, "only a running call is ever overdue"
        call.inbound.cancellation.cancel()
        return self._dispatcher.finish(call, Ran(error=TimeLimitReached()))


def _is_async(call: Call) -> bool:
    return call.tool.kind in (Kind.ASYNC, Kind.ASYNC_GENERATOR)


async def _committed(future: Future[bool] | None) -> bool:
    """Whether the event is stored, or there is none to store."""
    if future is None:
        return True
    return future.result() if future.done() else await asyncio.wrap_future(future)
