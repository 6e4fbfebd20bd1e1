"""One request answered on an event loop: hops to worker lanes, notifications, hanging up.

A sync read-only call costs one hop to a lane, from recognising the caller to the reply; any other
call two. Waiting for a commit happens here, on the loop, never in a lane.
"""

import asyncio
import math
import time
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Final, cast

from mcp_app.conf import settings
from mcp_app.dispatch.calls import Call, Ran
from mcp_app.dispatch.context import Cancelled, Outlet, Silence, TimeLimitReached
from mcp_app.dispatch.dispatcher import Dispatcher, Reply
from mcp_app.dispatch.interfaces import Outcome
from mcp_app.dispatch.listening import Listening
from mcp_app.dispatch.receipts import Receipt
from mcp_app.dispatch.services import Inbound
from mcp_app.protocol.errors import Throttled
from mcp_app.transports.bell import bell
from mcp_app.transports.bus import Subscription, bus
from mcp_app.transports.call_stream import CallStream, Opening, keep
from mcp_app.transports.exchange import Entered, Exchange
from mcp_app.transports.gates import Accepts
from mcp_app.transports.gathering import ahead_of
from mcp_app.transports.incoming import HttpReply, HttpStream, Incoming
from mcp_app.transports.keepalive import keep_alives
from mcp_app.transports.listening import get_stream, listen_stream
from mcp_app.transports.outlets import Notifications
from mcp_app.transports.postbox import hear_cancellation
from mcp_app.transports.reception import Refused
from mcp_app.transports.replies import (
    as_http,
    begin,
    combine,
    conclude,
    may_go_on,
    note_waiting,
    worded,
)
from mcp_app.transports.session_requests import SessionRequest
from mcp_app.transports.stopping import stoppable
from mcp_app.transports.watch import watch
from mcp_app.work.crews import Ahead
from mcp_app.work.lanes import READ, WRITE, Lane, beside_sync_code
from mcp_app.work.workers import Place

Step = Call | Reply | Listening | None
"""How far a hop came: to a call that goes on elsewhere, to its reply, to a stream, or nowhere."""


class Late:
    """In the place of a step: the tool passed its time limit, and its thread has not come back."""


_LOOK: Final = 1.0
"""Seconds, at most, between looks at a hop whose tool has not started its clock."""
_UNREAD_LOOK: Final = 0.1
"""The same where it is not known yet what is called."""
_GRACE: Final = 1.0
"""Seconds that an async tool has to clean up after it was cancelled; then it is forgotten."""
_SLACK: Final = 0.01
"""Seconds that a look comes after a deadline, lest it come just before."""

Hop = asyncio.Future[Step | Late]
"""A job in a lane, on its way."""


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
        self._method = incoming.method
        self._exchange = Exchange(dispatcher, incoming, accepts, body, outlet)
        message = self._exchange.parsed
        known = _UNREAD_LOOK if message is None else dispatcher.time_limit(message)
        self._shortest_limit = min(known, _LOOK)
        self._hung_up = False
        self._entered = Entered()
        self._inbound: Inbound | None = None
        self._call: Call | None = None
        self._waiting: asyncio.Task[Any] | None = None
        """What the loop does for the call: wait for a person's agreement, or run an async tool."""
        self._loop = asyncio.get_running_loop()
        self._looking: asyncio.TimerHandle | None = None
        self._cancellations: dict[int, Subscription] = {}

    async def answer(self) -> HttpReply | HttpStream:
        """The whole answer, or a stream once the call has something to tell before its end."""
        await bus.hear()
        hop = self._first_hop() if self._method not in ("GET", "DELETE") else None
        if hop is not None and (reply := await self._ended_by(hop)) is not None:
            return self._opened(reply)
        work = self._go_on(hop)
        notifications = self._notifications
        if notifications is not None:
            notifications.calm()
        try:
            if notifications is None:
                return self._opened(await asyncio.shield(work))
            work.add_done_callback(notifications.wake)
            await self._first_word(notifications)
        except asyncio.CancelledError:
            self._abandon()
            raise
        if work.done() and notifications.is_empty:
            return self._opened(work.result())
        stream = CallStream(
            work, notifications, self._inbound, hang_up=self.hang_up, stop=self.stop
        )
        return HttpStream(stream.chunks())

    async def _ended_by(self, hop: Hop) -> HttpReply | None:
        """The answer where the first hop makes it; None where more is to be done, or told.

        Most calls end so, and need no task beside their client's.
        """
        notifications = self._notifications
        try:
            if notifications is None:
                await asyncio.wait({hop})
            else:
                hop.add_done_callback(notifications.wake)
                await self._first_word(notifications)
        except asyncio.CancelledError:
            self._go_on(hop)
            self._abandon()
            raise
        is_all_told = notifications is None or notifications.is_empty
        if not (hop.done() and is_all_told) or hop.cancelled() or hop.exception() is not None:
            return None
        step = hop.result()
        if isinstance(step, Late) or not self._is_answered_by(step):
            return None
        self._look_no_more()
        answer = await self._opening(step)
        assert isinstance(answer, HttpReply), "what was answered opens no stream"
        return answer

    def _is_answered_by(self, step: Step) -> bool:
        """Whether there is nothing left but to commit one event, at most, and to answer.

        Of several the others would be lost with a client who leaves during the first commit.
        """
        items = self._entered.items
        if isinstance(step, Reply):
            return len(items) == 1
        return step is None and (not items or (len(items) == 1 and isinstance(items[0], Refused)))

    def _go_on(self, hop: Hop | None) -> asyncio.Task[Opening]:
        """Do what is left to do, whoever waits for it."""
        work = asyncio.create_task(self._work(hop))
        keep(work)
        return work

    def _abandon(self) -> None:
        """Nobody waits any more."""
        self.hang_up()
        if self._notifications is not None:
            self._notifications.close()

    async def _first_word(self, notifications: Notifications) -> None:
        """Until there is something to tell, the call is over, or it is time for a keep-alive."""
        silence = keep_alives()
        silence.expect(notifications)
        try:
            await notifications.stirred()
        finally:
            silence.forget(notifications)

    def _opened(self, result: Opening) -> HttpReply | HttpStream:
        if isinstance(result, HttpReply):
            return worded(result, self._accepts)
        return HttpStream(result)

    def hang_up(self) -> None:
        """The client is gone. Where the era says so, that cancels the call."""
        self._hung_up = True
        if self._inbound is not None:
            self._cancel_if_unwanted(self._inbound)

    def stop(self) -> None:
        """End the call whatever the era: its credential is no longer good. From any thread."""
        if self._inbound is not None:
            self._cancel(self._inbound)

    def _cancel_if_unwanted(self, inbound: Inbound) -> None:
        if self._hung_up and inbound.route.dialect.cancels_on_disconnect:
            self._cancel(inbound)

    def _cancel(self, inbound: Inbound) -> None:
        """Stop a call. From any thread."""
        inbound.cancellation.cancel()
        self._loop.call_soon_threadsafe(self._cancel_task)

    def _cancel_task(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()

    # --- working -----------------------------------------------------------------------------

    async def _work(self, hop: Hop | None) -> Opening:
        if self._method == "DELETE":
            return await self._end_session()
        if self._method == "GET":
            return await self._session_stream()
        assert hop is not None, "a body was begun to be read"
        return await self._opening(await self._come_back(hop))

    async def _opening(self, step: Step) -> Opening:
        """What is said to all that was sent, of which the first hop came to `step`."""
        replies = []
        for item in self._entered.items:
            if isinstance(item, Refused):
                await _committed(conclude(item.record, ""))
                replies.append(item.reply)
            elif isinstance(step, Listening):
                return await self._subscription(step)
            else:
                reply = await self._reply(item, step)
                replies += [] if reply is None else [reply]
                step = None
        return combine(replies, is_batch=self._entered.is_batch)

    async def _end_session(self) -> HttpReply:
        ended = await READ.run(self._session_request().end_session)
        return await self._refusal(ended) if isinstance(ended, Refused) else ended

    def _session_request(self) -> SessionRequest:
        return SessionRequest(self._dispatcher, self._exchange.incoming)

    async def _refusal(self, refused: Refused) -> HttpReply:
        await _committed(conclude(refused.record, ""))
        return as_http(refused.reply)

    def _enter(self) -> Step:
        """In a lane: recognise, route and, for a lone message, go as far as one hop reaches."""
        entered = self._entered = self._exchange.enter()
        lone = entered.items[0] if len(entered.items) == 1 else None
        return self._advance(lone) if isinstance(lone, Inbound) else None

    def _advance(self, inbound: Inbound) -> Step:
        """In a lane: prepare, and run what may run here. None if the loop answered meanwhile."""
        self._inbound = inbound
        heard = hear_cancellation(inbound, partial(self._cancel, inbound))
        if heard is not None:
            self._cancellations[id(inbound)] = heard
        self._cancel_if_unwanted(inbound)
        prepared = self._dispatcher.prepare(inbound)
        if not isinstance(prepared, Call):
            return prepared
        self._call = prepared
        waits = prepared.awaits_agreement or prepared.target.is_async
        if prepared.runs and (waits or not prepared.target.read_only):
            return prepared
        return self._run(prepared)

    def _run(self, call: Call) -> Reply | None:
        return self._settle(call, self._dispatcher.run(call))

    def _settle(self, call: Call, ran: Ran) -> Reply | None:
        ran = self._dispatcher.read(call, ran)
        return self._dispatcher.finish(call, ran) if call.claim() else None

    async def _reply(self, inbound: Inbound, step: Step) -> Reply | None:
        """The reply to one message; None where its client has cancelled it."""
        if step is None:
            # The deadline of a batch's last call is not the next one's.
            self._inbound = self._call = None
            step = await self._hop(READ, partial(self._advance, inbound))
        reply = await self._finish(step) if isinstance(step, Call) else step
        assert isinstance(reply, Reply), "a hop whose answer the loop gave is not awaited"
        self._hear_no_more(inbound)
        await _committed(conclude(inbound.record, inbound.request.method))
        return None if self._is_given_up(inbound) else reply

    def _is_given_up(self, inbound: Inbound) -> bool:
        """Whether the client itself has cancelled the request, and waits for nothing."""
        cancelled = inbound.record.outcome == Outcome.CANCELLED
        return cancelled and not inbound.cancellation.stopped_by

    def _hear_no_more(self, inbound: Inbound) -> None:
        heard = self._cancellations.pop(id(inbound), None)
        if heard is not None:
            heard.close()

    async def _subscription(self, listening: Listening) -> Opening:
        inbound = listening.inbound
        if not watch.is_full_for(inbound.caller.user.pk):
            return listen_stream(listening, self._dispatcher.services)
        return await self._too_many(inbound)

    async def _too_many(self, inbound: Inbound) -> HttpReply:
        """Its user has as many streams open here as one may."""
        reply = self._dispatcher.refuse(inbound, Throttled(math.ceil(settings.KEEP_ALIVE)))
        await _committed(conclude(inbound.record, inbound.request.method))
        return as_http(reply)

    async def _session_stream(self) -> Opening:
        """GET: a handshake session's own stream, or the rest of one that broke off."""
        opened = await READ.run(self._session_request().open_stream)
        if isinstance(opened, Refused):
            return await self._refusal(opened)
        # Of a session's own streams the newest ends the older: sessions are limited themselves.
        if opened.position is not None and watch.is_full_for(opened.inbound.caller.user.pk):
            return await self._too_many(opened.inbound)
        return get_stream(opened, self._dispatcher.services)

    async def _finish(self, call: Call) -> Reply | None:
        """What one hop could not: wait for a person, run an async tool here, or one that writes.

        What takes long stands in the log before it begins, and can be stopped from then on.
        """
        waits = call.awaits_agreement and call.inbound.inputs.waits
        with stoppable(call.inbound, in_log=waits or call.writes):
            if waits and not may_go_on(call, await _committed(note_waiting(call))):
                return self._dispatcher.withhold(call.inbound)
            ended = await self._agree(call) if call.awaits_agreement else None
            if ended is not None:
                return await self._settled(call, ended)
            if not may_go_on(call, await _committed(begin(call))):
                return self._dispatcher.withhold(call.inbound)
            return await self._ran(call)

    async def _ran(self, call: Call) -> Reply | None:
        if call.target.is_async:
            return await self._settled(call, await self._run_async(call))
        lane = READ if call.target.read_only else WRITE
        step = await self._hop(lane, partial(self._run, call))
        return step if isinstance(step, Reply) else None

    async def _settled(self, call: Call, ran: Ran) -> Reply | None:
        """The reply of a call that ended here."""
        settle = partial(self._settle, call, ran)
        # What is left to the time limit is to read a lazy value.
        step = await (READ.run(settle) if ran.error else self._hop(READ, settle))
        return step if isinstance(step, Reply) else None

    async def _agree(self, call: Call) -> Ran | None:
        """Wait for a person, in no lane; what ends the call, if it does."""
        task = asyncio.create_task(self._dispatcher.aagree(call, READ.run))
        self._waiting = task
        self._cancel_if_unwanted(call.inbound)
        try:
            return await task
        except asyncio.CancelledError:
            return Ran(error=Cancelled())
        finally:
            self._waiting = None

    async def _run_async(self, call: Call) -> Ran:
        job = partial(self._dispatcher.arun, call)
        task = asyncio.create_task(beside_sync_code(job))
        self._waiting = task
        keep(task)
        self._cancel_if_unwanted(call.inbound)
        assert call.time_limit is not None, "a call that runs has a time limit"
        try:
            while not task.done() and not self._is_forgotten(call):
                await asyncio.wait({task}, timeout=self._patience() + _GRACE)
        except asyncio.CancelledError:
            task.cancel()
            return Ran(error=Cancelled())
        finally:
            self._waiting = None
        if not task.done():
            return Ran(error=TimeLimitReached())
        return Ran(error=Cancelled()) if task.cancelled() else task.result()

    def _is_forgotten(self, call: Call) -> bool:
        """Whether an async tool has not come back though its time, and its grace, are over.

        While a person is asked there is no deadline.
        """
        deadline = call.inbound.cancellation.deadline
        return deadline is not None and time.monotonic() >= deadline + _GRACE

    async def _hop(self, lane: Lane, job: Callable[[], Step], ahead: Ahead | None = None) -> Step:
        """What `job` comes to in a lane, or the answer for a tool that passed its time limit."""
        return await self._come_back(self._submit(lane, job, ahead))

    def _first_hop(self) -> Hop:
        exchange = self._exchange
        return self._submit(READ, self._enter, ahead_of(exchange.incoming, exchange.announced))

    def _submit(self, lane: Lane, job: Callable[[], Step], ahead: Ahead | None = None) -> Hop:
        place = Place(self._owner_in(lane))
        hop: Hop = lane.submit(job, place, ahead)
        self._look_later(hop, place)
        return hop

    async def _come_back(self, hop: Hop) -> Step:
        try:
            step = await hop
        finally:
            self._look_no_more()
        return self._overdue() if isinstance(step, Late) else step

    def _look_no_more(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def _owner_in(self, lane: Lane) -> Hashable | None:
        """Whose turn a hop takes; None for nobody's in particular.

        A request's first hop finds out whose it is: until then it is its credential's.
        """
        if lane is WRITE and self._inbound is not None:
            return cast("Hashable | None", self._inbound.caller.user.pk)
        return self._exchange.incoming.sender

    def _look_later(self, hop: Hop, place: Place) -> None:
        self._looking = self._loop.call_later(self._patience(), self._look, hop, place)

    def _look(self, hop: Hop, place: Place) -> None:
        """Wait no longer for a tool that is overdue."""
        if hop.done():
            return
        if self._is_overdue():
            place.give_up()
            hop.set_result(Late())
        else:
            self._look_later(hop, place)

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


async def _committed(receipt: Receipt | None) -> bool:
    """Whether the event is stored, or there is none to store."""
    if receipt is None:
        return True
    return receipt.result() if receipt.done() else await bell().outcome(receipt)
