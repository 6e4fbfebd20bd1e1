"""How an event loop hears of what other threads have done: many things by one call.

A loop is woken once for all that comes about before it looks.
"""

import asyncio
import threading
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from mcp_app.work.loops import PerLoop

Outcome = TypeVar("Outcome")


class Bell:
    """That of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._rung: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._is_ringing = False

    def outcome(self, future: "Future[Outcome]") -> "asyncio.Future[Outcome]":
        """What comes of `future`, for this loop to wait for; `future` itself is never cancelled."""
        waiter: asyncio.Future[Outcome] = self._loop.create_future()
        future.add_done_callback(partial(self._ring, waiter))
        return waiter

    def _ring(self, waiter: "asyncio.Future[Outcome]", future: "Future[Outcome]") -> None:
        """In whichever thread it came about."""
        with self._lock:
            self._rung.append((waiter, future))
            is_heard, self._is_ringing = self._is_ringing, True
        if not is_heard:
            # A loop that is over has nobody left who waits.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        with self._lock:
            rung, self._rung = self._rung, deque()
            self._is_ringing = False
        for waiter, future in rung:
            if waiter.done():
                continue
            try:
                waiter.set_result(future.result())
            except BaseException as error:
                waiter.set_exception(error)


_bells: Final = PerLoop(Bell)


def bell() -> Bell:
    """That of the running event loop."""
    return _bells.here()
