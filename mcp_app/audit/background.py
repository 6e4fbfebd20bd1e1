"""A thread of a process that is handed work and does it in batches. Knows nothing of events.

It starts with the first item and ends, closing its database connections, when nothing came for a
while: an idle process holds neither. A forked child starts with an empty one. While it rests,
who would wait for it may do the work in its stead, on its connections: two threads that wake each
other cost more than a small piece of work.
"""

import atexit
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar

from django.core import mail
from django.db import connections

logger: Final = logging.getLogger("mcp_app.audit")

Item = TypeVar("Item")

IDLE_SECONDS: Final = 20.0
_LEAST_REST: Final = 0.1
"""Seconds between looks whether somebody who works in its stead is through."""
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

    _rests: bool
    """Whether the thread waits for something to do."""
    _is_lent: bool
    """Whether somebody works in its stead."""

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
        with self._lock:
            self._waiting.append(item)
            if self._thread is None:
                self._start()
            elif self._rests and len(self._waiting) == 1 and not self._is_lent:
                # Of what came before this it knows already, and at work it looks by itself.
                self._changed.notify()

    def do(self, item: Item, alias: str) -> bool:
        """Work on `item` in this thread, on the other's connection to the database `alias`.

        False where the other has none, or does not rest; nothing was done then. Raises what the
        work raises.
        """
        with self._lock:
            is_free = self._rests and not (self._is_lent or self._waiting or self._closing)
            if not is_free or all(alias != connection.alias for connection in self._connections):
                return False
            self._is_lent = True
        try:
            with _instead(self._connections):
                self._work([item])
                _let_go_in_tests(self._connections)
        finally:
            with self._lock:
                self._is_lent, self._used_at = False, time.monotonic()
                if self._waiting or self._closing:
                    self._changed.notify()
        return True

    @property
    def waiting(self) -> int:
        """How many items wait; those of the batch at work do not count."""
        return len(self._waiting)

    def close(self, timeout: float | None = None) -> None:
        """Wait until everything queued is done and the thread has ended; `put` starts it again.

        Args:
            timeout: in seconds; None waits for as long as it takes.
        """
        with self._lock:
            thread = self._thread
            self._closing = True
            self._changed.notify()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._waiting: deque[Item] = deque()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._rests = self._is_lent = False
        self._used_at = 0.0
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
        self._connections = connections.all(initialized_only=True)
        _let_go_in_tests(self._connections)
        for connection in self._connections:
            if not connection.allow_thread_sharing:
                connection.inc_thread_sharing()

    def _ended(self) -> None:
        with self._lock:
            if self._thread is threading.current_thread():
                self._thread = None

    def _next(self) -> list[Item]:
        """What waits now, at once if anything does; empty when the thread is to end."""
        with self._lock:
            self._rests, self._used_at = True, time.monotonic()
            while (patience := self._patience()) > 0:
                self._changed.wait(patience)
            self._rests = False
            count = min(len(self._waiting), self._most)
            if not count:
                self._thread, self._closing = None, False
            return [self._waiting.popleft() for _ in range(count)]

    def _patience(self) -> float:
        """Seconds that the thread still rests, at most; 0 where it is to work, or to end."""
        if self._is_lent:
            return max(self._idle_seconds, _LEAST_REST)
        if self._waiting or self._closing:
            return 0.0
        return self._used_at + self._idle_seconds - time.monotonic()


@contextmanager
def _instead(lent: Sequence[Any]) -> Iterator[None]:
    """Put another thread's connections in the place of this one's, for the length of the block."""
    own = connections._connections  # type: ignore[attr-defined]
    before = {connection.alias: getattr(own, connection.alias, None) for connection in lent}
    for connection in lent:
        connections[connection.alias] = connection
    try:
        yield
    finally:
        for alias, connection in before.items():
            if connection is None:
                del connections[alias]
            else:
                connections[alias] = connection


def _let_go_in_tests(held: Sequence[Any]) -> None:
    """Close them where Django's test environment is set up: it drops its database in the end,
    which PostgreSQL refuses while anybody is connected.
    """
    if hasattr(mail, "outbox"):
        for connection in held:
            connection.close()


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
