"""What is seen to after one and the same while, unless it is forgotten before: by one timer.

A timer of its own costs a call some hundredth of its time; nearly all of them would never ring.
"""

import asyncio
from collections.abc import Callable, Hashable
from typing import Final

from mcp_app.work.loops import PerLoop

_EARLY: Final = 0.001
"""Seconds before its time that one may be seen to, along with others."""


class Delay:
    """One length of time, on one event loop. Used on it alone.

    Args:
        seconds: how long whatever is expected has.
    """

    __slots__ = ("_due", "_loop", "_seconds", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds
        self._due: dict[Hashable, tuple[float, Callable[[], None]]] = {}
        """All have as long, so the oldest is first."""
        self._timer: asyncio.TimerHandle | None = None

    def expect(self, what: Hashable, act: Callable[[], None]) -> None:
        """Call `act` after that time. Nothing may be expected twice."""
        due = self._loop.time() + self._seconds
        self._due[what] = due, act
        if self._timer is None:
            self._timer = self._loop.call_at(due, self._see_to)

    def forget(self, what: Hashable) -> None:
        """It has come; nothing happens where it was seen to already."""
        self._due.pop(what, None)

    def _see_to(self) -> None:
        self._timer = None
        now = self._loop.time() + _EARLY
        late = [what for what, (due, _) in self._due.items() if due <= now]
        for what in late:
            _, act = self._due.pop(what, (0.0, None))
            if act is not None:
                self._call(act)
        if self._due and self._timer is None:
            due, _ = next(iter(self._due.values()))
            self._timer = self._loop.call_at(due, self._see_to)

    def _call(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:
            # The others are seen to all the same.
            told = {"message": "What was late could not be seen to", "exception": error}
            self._loop.call_exception_handler(told)


def delays(seconds: float) -> PerLoop[Delay]:
    """A delay of that length for each event loop."""
    return PerLoop(lambda loop: Delay(loop, seconds))
