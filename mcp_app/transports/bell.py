"""How an event loop hears that events were committed, in another thread: of many by one call.

A loop is woken once for all that comes about before it looks.
"""

import asyncio
import threading
from collections import deque
from contextlib import suppress
from functools import partial
from typing import Final

from mcp_app.dispatch.receipts import Receipt
from mcp_app.work.loops import PerLoop


class Bell:
    """That of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._rung: deque[tuple[asyncio.Future[bool], Receipt]] = deque()
        self._is_ringing = False

    def outcome(self, receipt: Receipt) -> asyncio.Future[bool]:
        """Whether the event is stored, for this loop to wait for."""
        waiter: asyncio.Future[bool] = self._loop.create_future()
        receipt.add_done_callback(partial(self._ring, waiter))
        return waiter

    def _ring(self, waiter: asyncio.Future[bool], receipt: Receipt) -> None:
        """In whichever thread it came about."""
        with self._lock:
            self._rung.append((waiter, receipt))
            is_heard, self._is_ringing = self._is_ringing, True
        if not is_heard:
            # A loop that is over has nobody left who waits.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        with self._lock:
            rung, self._rung = self._rung, deque()
            self._is_ringing = False
        for waiter, receipt in rung:
            if not waiter.done():
                waiter.set_result(receipt.result())


_bells: Final = PerLoop(Bell)


def bell() -> Bell:
    """That of the running event loop."""
    return _bells.here()
