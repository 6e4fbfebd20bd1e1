"""Threads that wait for a person: each lets others have its place meanwhile, up to a number.

Knows neither lanes nor seats: whoever owns a thread says here whose place it is.
"""

import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

from mcp_app.dispatch.inputs import CannotAsk

AT_MOST: Final = 8
"""Threads a worker that may wait for people at a time, beside those at work."""


class Lender(Protocol):
    """A thread's place among a bounded number."""

    def lent(self) -> AbstractContextManager[None]:
        """Let others have it for the length of the block.

        Raises:
            CannotAsk: as many wait already as may.
        """
        ...


class _Here(threading.local):
    place: Lender | None = None


_here: Final = _Here()


class at:
    """What the block does in this thread it does in `place`."""

    __slots__ = ("_before", "_place")

    def __init__(self, place: Lender) -> None:
        self._place = place

    def __enter__(self) -> None:
        self._before, _here.place = _here.place, self._place

    def __exit__(self, *raised: object) -> None:
        _here.place = self._before


def lent() -> AbstractContextManager[None]:
    """`Lender.lent` of this thread's place; a thread that has none just waits."""
    return nullcontext() if _here.place is None else _here.place.lent()


def too_many() -> CannotAsk:
    """What is said where no place can be lent any more."""
    return CannotAsk("Too many questions wait for an answer already. Try again later.")
