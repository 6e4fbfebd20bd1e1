"""How one event loop's jobs come to the threads of a lane, many of them in one hop.

Waking a thread, and being woken by it, costs more than a quick job does. So a thread that was
woken takes one job after another, and tells the loop of several at once. Jobs that wait for
something else get threads of their own: the crew looks every millisecond whether jobs come back.
"""

import asyncio
import contextvars
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from asgiref.sync import SyncToAsync, _restore_context

from mcp_app.work.turns import Turns

logger: Final = logging.getLogger("mcp_app.work")

_LOOK: Final = 0.001
"""Seconds between looks while jobs wait for a thread."""
_QUICK: Final = 4
"""Jobs that come back between two looks where none of them waits for anything."""
_TOGETHER: Final = 64
"""Jobs that are prepared at once."""


class Ahead:
    """What a job needs that costs little more for many jobs than for one.

    Args:
        prepare: called in the thread with the items of all jobs that wait and have the same
            `prepare`, before the first of them runs. What it raises is logged, and the jobs run.
        item: the job's own; where `prepare` leaves what it found.
    """

    __slots__ = ("item", "prepare", "prepared")

    def __init__(self, prepare: Callable[[Sequence[Any]], None], item: Any) -> None:
        self.prepare = prepare
        self.item = item
        self.prepared: threading.Event | None = None
        """Set once it is, for all at once; none before a thread has begun."""

    def goes_with(self, other: "Ahead") -> bool:
        """Whether one call prepares both."""
        return self.prepared is None and self.prepare == other.prepare


@dataclass(slots=True, eq=False)
class Job:
    """One function to call, in the context it was given in, and who waits for it."""

    function: Callable[[], Any]
    future: asyncio.Future[Any]
    ahead: Ahead | None = None
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    value: Any = None
    error: BaseException | None = None

    def do(self) -> None:
        """In a thread: call it, and keep what comes of it."""
        try:
            self.value = self.context.run(self._call)
        except StopIteration as error:
            self.error = RuntimeError("A job raised StopIteration.")
            self.error.__cause__ = error
        except BaseException as error:
            self.error = error

    def _call(self) -> Any:
        # As asgiref does for each of its own hops: what Django keeps by request, such as the
        # language that was activated, is this thread's for as long as the job runs.
        _restore_context(self.context)
        return self.function()

    def tell(self) -> None:
        """On the loop: hand that over, if anybody still waits."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.value)
        else:
            self.future.set_exception(self.error)


class Crew:
    """The threads that work for one event loop; used on it, but for what a thread does.

    Args:
        workers: the pool that the threads belong to.
        most: how many may work at once; asked anew each time.
        at_work: how many jobs of each owner are at work.
        ready: called in a thread that was woken, before its first job.
    """

    def __init__(
        self,
        workers: ThreadPoolExecutor,
        most: Callable[[], int],
        ready: Callable[[], None] = lambda: None,
        at_work: Mapping[Hashable, int] = MappingProxyType({}),
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._workers = workers
        self._most = most
        self._ready = ready
        self._lock = threading.Lock()
        self._waiting: Turns[Job] = Turns(at_work)
        self._back: deque[Job] = deque()
        self._active = 0
        self._came_back = self._seen = 0
        self._timer: asyncio.TimerHandle | None = None

    def submit(
        self,
        function: Callable[[], Any],
        ahead: Ahead | None = None,
        owner: Hashable | None = None,
    ) -> asyncio.Future[Any]:
        """Have `function` called in a thread. One whose future is cancelled before is not.

        Where several owners wait they take turns; a job without one waits for itself alone.
        """
        job = Job(function, self._loop.create_future(), ahead)
        with self._lock:
            self._waiting.append(job, owner)
            is_alone = not self._active
            self._active += is_alone
        if is_alone:
            self._wake()
        elif self._timer is None:
            self._look_later()
        return job.future

    # --- on the loop ---------------------------------------------------------------------------

    def _wake(self) -> None:
        """Set another thread to work; it has been counted.

        Not before the loop is through with what it has at hand: more jobs may come of it.
        """
        self._loop.call_soon(self._send)

    def _send(self) -> None:
        try:
            self._workers.submit(self._hop)
        except RuntimeError as error:
            # No thread can be had: the process is ending.
            self._refuse(error)

    def _look_later(self) -> None:
        self._seen = self._came_back
        self._timer = self._loop.call_later(_LOOK, self._look)

    def _look(self) -> None:
        self._timer = None
        self._deliver()
        if not self._waiting:
            return
        if self._came_back - self._seen < _QUICK:
            self._grow()
        self._look_later()

    def _grow(self) -> None:
        """Twice as many: where jobs only take their time, more threads would not help them."""
        with self._lock:
            room = min(len(self._waiting), self._most() - self._active)
            more = max(min(room, max(self._active, 1)), 0)
            self._active += more
        for _ in range(more):
            self._wake()

    def _deliver(self) -> None:
        while self._back:
            self._back.popleft().tell()

    def _refuse(self, error: BaseException) -> None:
        with self._lock:
            self._active -= 1
            lost = [] if self._active else list(self._waiting)
            if lost:
                self._waiting.clear()
        for job in lost:
            job.error = error
            job.tell()

    # --- in a thread ---------------------------------------------------------------------------

    def _hop(self) -> None:
        # As asgiref notes it, so that `async_to_sync` in a job finds the way back to this loop.
        here = SyncToAsync.threadlocal
        here.main_event_loop, here.main_event_loop_pid = self._loop, os.getpid()
        here.task_context = None
        try:
            # An empty context, which nothing is carried out of or back into: each job has its own.
            contextvars.Context().run(self._work)
        finally:
            with suppress(RuntimeError):  # the loop is over, and nobody waits
                self._loop.call_soon_threadsafe(self._deliver)

    def _work(self) -> None:
        try:
            self._ready()
        except Exception:
            logger.exception("A thread could not be made ready")
        while (job := self._next()) is not None:
            job.do()
            self._back.append(job)
            self._came_back += 1

    def _next(self) -> Job | None:
        """The next job, prepared; None where the thread is not needed any more."""
        with self._lock:
            while self._waiting:
                job = self._waiting.pop()
                if not job.future.cancelled():
                    break
            else:
                self._active -= 1
                return None
            together = self._beside(job.ahead) if job.ahead is not None else []
        if together:
            _prepare(together)
        elif job.ahead is not None and (prepared := job.ahead.prepared) is not None:
            # Nearly always it is; to find that out by a wait costs ten times as much.
            _ = prepared.is_set() or prepared.wait()
        return job

    def _beside(self, first: Ahead) -> list[Ahead]:
        """What is to be prepared with the first of them; nothing where another thread does it."""
        if first.prepared is not None:
            return []
        others = (other.ahead for other in self._waiting)
        alike = (other for other in others if other is not None and other.goes_with(first))
        together = [first, *islice(alike, _TOGETHER - 1)]
        prepared = threading.Event()
        for ahead in together:
            ahead.prepared = prepared
        return together


def _prepare(together: Sequence[Ahead]) -> None:
    first = together[0]
    try:
        first.prepare([ahead.item for ahead in together])
    except Exception:
        logger.exception("What jobs share could not be prepared")
    finally:
        if first.prepared is not None:
            first.prepared.set()
