"""Where a running call's notifications wait until its stream sends them."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp_app.protocol import messages

Lost = Callable[[], None]

MOST_WAITING: Final = 4 * 2**20
"""Bytes that may wait for a client that does not read; then nothing is kept that can be missed."""
_CAN_BE_MISSED: Final = frozenset({"notifications/progress", "notifications/message"})


class Notifications:
    """An outlet that a stream reads. `emit` may be called from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._on_loop = threading.get_ident()
        self._lock = threading.Lock()
        self._waiting: list[tuple[bytes, Lost | None]] = []
        self._size = 0
        """Bytes of what waits."""
        self._is_told = False
        """Whether the loop knows, or will hear, that something waits."""
        self._is_stirred = False
        self._waiter: asyncio.Future[None] | None = None
        """The reader's, while it waits."""
        self._is_closed = False
        self.was_silent = False
        """Whether the last `stirred` ended because nothing was emitted for too long."""
        self.retry_ms: int | None = None
        """Set once the call wants its client to leave and come back so much later."""

    def emit(self, message: Mapping[str, Any], lost: Lost | None = None) -> None:
        """Queue one message; order is kept. `lost` is called on the loop.

        Progress and logs are left out while as much waits as may: a client that does not read must
        cost no more than that, however much a tool has to tell.
        """
        if self._size >= MOST_WAITING and message.get("method") in _CAN_BE_MISSED:
            return
        data = messages.dumps(message)
        with self._lock:
            self._waiting.append((data, lost))
            self._size += len(data)
            is_told, self._is_told = self._is_told, True
        if is_told:
            return
        if threading.get_ident() == self._on_loop:
            self._heard()
        else:
            self._loop.call_soon_threadsafe(self._heard)

    def _heard(self) -> None:
        self.wake()
        if self._is_closed:
            self._lose()

    def close(self) -> None:
        """Nobody reads any more, and nobody can come back for what is left. On the loop."""
        self._is_closed = True
        self._lose()

    def _lose(self) -> None:
        for _, lost in self._taken():
            if lost is not None:
                lost()

    def part(self, retry_ms: int) -> None:
        """End the connection, not the stream, where the client can come back for the rest."""
        self._loop.call_soon_threadsafe(self._part, retry_ms)

    def _part(self, retry_ms: int) -> None:
        self.retry_ms = retry_ms
        self.wake()

    def wake(self, _: object = None) -> None:
        """End a wait although nothing was emitted."""
        self._is_stirred = True
        if self._waiter is not None:
            if not self._waiter.done():
                self._waiter.set_result(None)
            self._waiter = None

    def calm(self) -> None:
        """Have the next wait last until something is emitted or said, where nothing is by now."""
        if self.is_empty and self.retry_ms is None and not self.was_silent:
            self._is_stirred = False

    def take(self) -> list[bytes]:
        """What was emitted since the last time."""
        self._is_stirred = False
        return [data for data, _ in self._taken()]

    def _taken(self) -> list[tuple[bytes, Lost | None]]:
        with self._lock:
            taken, self._waiting = self._waiting, []
            self._size, self._is_told = 0, False
        return taken

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits to be sent."""
        return not self._waiting

    def keep_alive(self) -> None:
        """Nothing was emitted for too long; that ends `stirred`, too."""
        self.was_silent = True
        self.wake()

    async def stirred(self) -> None:
        """Until something is emitted or said; for one reader at a time."""
        self.was_silent = False
        if not self._is_stirred:
            self._waiter = self._loop.create_future()
            await self._waiter
