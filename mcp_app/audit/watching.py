"""Whoever is told at once that events were stored. Nobody, as long as nobody watches."""

from collections.abc import Callable

Hear = Callable[[], None]

_watchers: set[Hear] = set()


def watch(hear: Hear) -> None:
    """Have `hear` called after each commit, in the thread that made it; it must not block."""
    _watchers.add(hear)


def unwatch(hear: Hear) -> None:
    """Call it no more."""
    _watchers.discard(hear)


def tell_stored() -> None:
    """Some events were stored."""
    for hear in tuple(_watchers):
        hear()
