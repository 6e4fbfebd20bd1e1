"""Worker lanes: a bounded pool of threads each, whose database connections stay warm.

Read-only tools and everything short share one lane, tools that write share another, so that slow
writes never starve reads. A thread gives back connections that are too old or broken before and
after each job, as Django does around a request; between jobs it holds what CONN_MAX_AGE allows.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from asgiref.sync import AsyncToSync, SyncToAsync, ThreadSensitiveContext, sync_to_async
from django.db import connections

from mcp_app.conf import settings
from mcp_app.work import waiting
from mcp_app.work.connections import clear_connections, give_back_connections
from mcp_app.work.crews import Ahead, Crew
from mcp_app.work.loops import PerLoop
from mcp_app.work.seats import guest_of
from mcp_app.work.workers import Place, Workers

Result = TypeVar("Result")


class Lane:
    """A pool of worker threads. Made on first use, and anew in a forked child."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._workers: Workers | None = None
        self._crews: PerLoop[Crew] = PerLoop(self._crew)
        os.register_at_fork(after_in_child=self._forget)

    async def run(self, job: Callable[[], Result]) -> Result:
        """What `job` gives on one of the lane's threads."""
        return await self.submit(job)

    def submit(
        self,
        job: Callable[[], Result],
        place: Place | None = None,
        ahead: Ahead | None = None,
    ) -> "asyncio.Future[Result]":
        """Have `job` called on one of the lane's threads, for the running event loop.

        Who waits for `job` no longer gives up `place`, so that no other job has to. Where jobs of
        several owners wait, whoever has the fewest at work is next.

        With `MCP_APP["WORKERS"] = 0` the job runs where Django's own sync code runs under ASGI,
        which is what a test inside a transaction needs; nothing is prepared ahead.
        """
        if not settings.WORKERS:
            return _here(job)
        place = place or Place()
        doing = partial(_clean, job, place, self._pool())
        return self._crews.here().submit(doing, ahead, place.owner)

    def _pool(self) -> Workers:
        if self._workers is None:
            self._workers = Workers(settings.WORKERS, f"mcp-{self.name}")
        return self._workers

    def _crew(self, _: asyncio.AbstractEventLoop) -> Crew:
        workers = self._pool()
        return Crew(workers, workers.count, give_back_connections, workers.at_work)

    def _forget(self) -> None:
        self._workers = None
        self._crews.clear()


def _here(job: Callable[[], Result]) -> "asyncio.Future[Result]":
    """A future of its own, as a crew's: who waits may set it."""
    future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

    def tell(task: "asyncio.Task[Result]") -> None:
        if future.done() or task.cancelled():
            future.cancel()
        elif error := task.exception():
            future.set_exception(error)
        else:
            future.set_result(task.result())

    task = asyncio.ensure_future(sync_to_async(job, thread_sensitive=True)())
    task.add_done_callback(tell)
    return future


def _clean(job: Callable[[], Result], place: Place, workers: Workers) -> Result:
    place.begin(workers)
    try:
        with waiting.at(place):
            return job()
    finally:
        try:
            clear_connections()
        finally:
            place.end()


def release_request_thread() -> None:
    """Let go of the thread that Django's handler runs this request's sync middleware in.

    It keeps one to the end of the answer, which is hours for a stream. Should more sync code come,
    such as a response's closing, it gets another.
    """
    context = SyncToAsync.thread_sensitive_context.get(None)
    executor = SyncToAsync.context_to_thread_executor.pop(context, None) if context else None
    if isinstance(executor, ThreadPoolExecutor):
        executor.submit(connections.close_all)
        executor.shutdown(wait=False)


async def beside_sync_code(job: Callable[[], Awaitable[Result]]) -> Result:
    """Run an async job whose `sync_to_async` calls share one thread of a bounded number.

    To be awaited in a task of its own, which may outlive the request that it came with. Nothing is
    started while the job stays async, and sync code that does not come back holds up no answer.
    """
    if not settings.WORKERS:
        return await job()
    context, guest = ThreadSensitiveContext(), guest_of(settings.WORKERS)
    SyncToAsync.context_to_thread_executor[context] = guest
    # The request's own thread serves no more once its view has returned: under Django's handler
    # that is a context, which could not be entered a second time, or a sync middleware's thread.
    AsyncToSync.executors.current = None
    token = SyncToAsync.thread_sensitive_context.set(context)
    try:
        return await job()
    finally:
        SyncToAsync.thread_sensitive_context.reset(token)
        guest.leave()


READ: Final = Lane("read")
WRITE: Final = Lane("write")
