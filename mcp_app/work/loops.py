"""What there is one of for each event loop."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class PerLoop(Generic[Thing]):
    """Makes a thing when it is first asked for on a loop, and has the same one there from then on.

    Args:
        make: is given the loop, and called on it.
    """

    def __init__(self, make: Callable[[asyncio.AbstractEventLoop], Thing]) -> None:
        self._make = make
        self._by_loop: dict[asyncio.AbstractEventLoop, Thing] = {}

    def here(self) -> Thing:
        """The running loop's."""
        loop = asyncio.get_running_loop()
        found = self._by_loop.get(loop)
        if found is None:
            # Loops are few; those that are over are let go when another comes.
            for other in [other for other in tuple(self._by_loop) if other.is_closed()]:
                self._by_loop.pop(other, None)
            found = self._by_loop[loop] = self._make(loop)
        return found

    def clear(self) -> None:
        """Forget them all."""
        self._by_loop.clear()
