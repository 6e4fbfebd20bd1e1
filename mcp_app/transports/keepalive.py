"""The keep-alives of all streams that wait, by one timer an event loop.

A stream that has been silent for `MCP_APP["KEEP_ALIVE"]` is told so; what it sends then is its own.
"""

import asyncio
from itertools import islice
from typing import Final, Protocol

from mcp_app.conf import settings
from mcp_app.work.loops import PerLoop

_AT_ONCE: Final = 32
"""Streams told in one turn of the loop, so that thousands of them hold nothing else up."""
_EARLY: Final = 1 / 32
"""The part of a keep-alive that one may come before its time, to be told along with others."""


class Silent(Protocol):
    """What waits."""

    def keep_alive(self) -> None:
        """It has said nothing for too long. On the loop."""
        ...


class KeepAlives:
    """Those of one event loop. Used on it alone."""

    __slots__ = ("_due", "_loop", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due: dict[Silent, float] = {}
        """When each has been silent for too long; all wait as long, so the oldest is first."""
        self._timer: asyncio.TimerHandle | None = None

    def expect(self, stream: Silent) -> None:
        """Begin to count a stream's silence, or begin anew: it has just said something."""
        self._due.pop(stream, None)
        self._due[stream] = self._loop.time() + settings.KEEP_ALIVE
        if self._timer is None:
            self._timer = self._loop.call_at(self._due[stream], self._tell)

    def forget(self, stream: Silent) -> None:
        """It says nothing more, or is saying something now."""
        self._due.pop(stream, None)
        if not self._due and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell(self) -> None:
        self._timer = None
        soon = self._loop.time() + settings.KEEP_ALIVE * _EARLY
        oldest = list(islice(self._due.items(), _AT_ONCE))
        for stream, due in oldest:
            if due <= soon:
                self._due.pop(stream, None)
                stream.keep_alive()
        if self._due and self._timer is None:
            self._timer = self._loop.call_at(next(iter(self._due.values())), self._tell)


_keep_alives: Final = PerLoop(KeepAlives)


def keep_alives() -> KeepAlives:
    """Those of the running event loop."""
    return _keep_alives.here()
