"""Worker lanes: a bounded pool of threads each, whose database connections stay warm.

Read-only tools and everything short share one lane, tools that write share another, so that slow
writes never starve reads. A thread gives back connections that are too old or broken before and
after each job, as Django does around a request; between jobs it holds what CONN_MAX_AGE allows.
"""

import logging
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from asgiref.sync import AsyncToSync, SyncToAsync, ThreadSensitiveContext, sync_to_async
from django.db import connections

from mcp_app.conf import settings

logger: Final = logging.getLogger("mcp_app.work")

Result = TypeVar("Result")


class Lane:
    """A pool of worker threads. Made on first use, and anew in a forked child."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._executor: ThreadPoolExecutor | None = None
        os.register_at_fork(after_in_child=self._forget)

    async def run(self, job: Callable[[], Result]) -> Result:
        """Run `job` on one of the lane's threads.

        With `MCP_APP["WORKERS"] = 0` the job runs where Django's own sync code runs under ASGI,
        which is what a test inside a transaction needs.
        """
        if not settings.WORKERS:
            return await sync_to_async(job, thread_sensitive=True)()
        return await sync_to_async(_clean, thread_sensitive=False, executor=self._pool())(job)

    def _pool(self) -> ThreadPoolExecutor:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(settings.WORKERS, f"mcp-{self.name}")
        return self._executor

    def _forget(self) -> None:
        self._executor = None


def _clean(job: Callable[[], Result]) -> Result:
    give_back_connections()
    try:
        return job()
    finally:
        _drop_open_transactions()
        give_back_connections()


def give_back_connections() -> None:
    """Close this thread's connections that are unusable, or older than CONN_MAX_AGE."""
    for connection in connections.all(initialized_only=True):
        connection.close_if_unusable_or_obsolete()


def _drop_open_transactions() -> None:
    """Roll back what a tool began and never ended: the next call would write into it for nothing."""
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block:
            logger.error("A tool left a transaction open on %r: rolled back", connection.alias)
            connection.close()
            # Closed inside a block it stays unusable, so that the thread gets another.
            del connections[connection.alias]


async def beside_sync_code(job: Callable[[], Awaitable[Result]]) -> Result:
    """Run an async job whose `sync_to_async` calls share one thread of the job's own.

    To be awaited in a task of its own, which may outlive the request that it came with. Its
    connections are closed with the thread, which is not waited for: sync code that does not come
    back holds up no answer. Nothing is started while the job stays async.
    """
    if not settings.WORKERS:
        return await job()
    context = ThreadSensitiveContext()
    # The request's own thread serves no more once its view has returned: under Django's handler
    # that is a context, which could not be entered a second time, or a sync middleware's thread.
    AsyncToSync.executors.current = None
    token = SyncToAsync.thread_sensitive_context.set(context)
    try:
        return await job()
    finally:
        SyncToAsync.thread_sensitive_context.reset(token)
        executor = SyncToAsync.context_to_thread_executor.pop(context, None)
        if executor is not None:
            executor.submit(connections.close_all)
            executor.shutdown(wait=False)


READ: Final = Lane("read")
WRITE: Final = Lane("write")
