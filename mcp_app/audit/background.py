"""A thread of a process that is handed work and does it in batches. Knows nothing of events.

It starts with the first item and ends, closing its database connections, when nothing came for a
while: an idle process holds neither. A forked child starts with an empty one.
"""

import atexit
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from django.core import mail
from django.db import connections

logger: Final = logging.getLogger("mcp_app.audit")

Item = TypeVar("Item")

IDLE_SECONDS: Final = 20.0
EXIT_SECONDS: Final = 10.0
"""How long a process that ends waits for what is still queued."""

_all: Final[weakref.WeakSet["Background[Any]"]] = weakref.WeakSet()
# A child must not close connections it inherited: the server would hear it as the parent's word.
_inherited: Final[list[Any]] = []


class Background(Generic[Item]):
    """A queue and the daemon thread that empties it.

    Args:
        name: the thread's.
        work: called in the thread with what waits, oldest first.
        most: items in one batch.
        idle_seconds: how long the thread waits for more before it ends.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[list[Item]], None],
        *,
        most: int,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._name = name
        self._work = work
        self._most = most
        self._idle_seconds = idle_seconds
        self._reset()
        _all.add(self)

    def put(self, item: Item) -> None:
        """Queue `item`. Raises RuntimeError where no thread can start: the process is ending."""
        with self._changed:
            self._waiting.append(item)
            if self._thread is None:
                self._start()
            else:
                self._changed.notify()

    @property
    def waiting(self) -> int:
        """How many items wait; those of the batch at work do not count."""
        return len(self._waiting)

    def close(self, timeout: float | None = None) -> None:
        """Wait until everything queued is done and the thread has ended; `put` starts it again.

        Args:
            timeout: in seconds; None waits for as long as it takes.
        """
        with self._changed:
            thread = self._thread
            self._closing = True
            self._changed.notify()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[Item] = deque()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._connections: Sequence[Any] = ()

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._waiting.pop()
            raise
        self._thread, self._closing = thread, False

    def _run(self) -> None:
        try:
            while batch := self._next():
                self._do(batch)
        finally:
            connections.close_all()
            self._ended()

    def _do(self, batch: list[Item]) -> None:
        try:
            self._work(batch)
        except BaseException:
            # A receiver of the product's may raise anything, and others wait for this thread.
            logger.exception("%s failed", self._name)
        if _is_test():
            connections.close_all()
        self._connections = connections.all(initialized_only=True)

    def _ended(self) -> None:
        with self._changed:
            if self._thread is threading.current_thread():
                self._thread = None

    def _next(self) -> list[Item]:
        """What waits now, at once if anything does; empty when the thread is to end."""
        with self._changed:
            if not self._waiting and not self._closing:
                self._changed.wait(self._idle_seconds)
            count = min(len(self._waiting), self._most)
            if not count:
                self._thread, self._closing = None, False
            return [self._waiting.popleft() for _ in range(count)]


def _is_test() -> bool:
    """Whether Django's test environment is set up, which drops its database after the last test.

    PostgreSQL refuses while anybody is connected.
    """
    return hasattr(mail, "outbox")


def _close_all() -> None:
    for background in list(_all):
        background.close(EXIT_SECONDS)


def _forget_all() -> None:
    for background in list(_all):
        _inherited.extend(background._connections)
        background._reset()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
