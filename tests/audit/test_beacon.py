"""Who watches is told that something was stored: gathered, and only while somebody watches."""

import threading
from collections.abc import Iterator

import pytest

from mcp_app.audit.watching import tell_stored
from mcp_app.transports.beacon import Beacon, beacon, say_watched


class Counter:
    """Counts announcements, from any thread."""

    def __init__(self) -> None:
        self.count = 0
        self.heard = threading.Semaphore(0)

    def __call__(self) -> None:
        self.count += 1
        self.heard.release()


@pytest.fixture
def told() -> Counter:
    return Counter()


@pytest.fixture
def own(told: Counter) -> Iterator[Beacon]:
    """A beacon beside the process's."""
    own = Beacon(told)
    yield own
    own.put_out()
    tell_stored()


def test_nothing_is_announced_until_somebody_watches(own: Beacon, told: Counter) -> None:
    tell_stored()
    assert told.count == 0
    own.light("", {})
    tell_stored()
    assert told.count == 1


def test_many_are_announced_together_and_the_last_is_not_forgotten(
    own: Beacon, told: Counter
) -> None:
    own.light("", {})
    for _ in range(1000):
        tell_stored()
    assert told.heard.acquire(timeout=5)
    assert told.heard.acquire(timeout=5), "what came after the first is announced, too"
    assert told.count < 100


def test_nothing_is_announced_once_nobody_watches_any_more(own: Beacon, told: Counter) -> None:
    own.light("", {})
    own.put_out()
    tell_stored()
    assert (told.count, own.is_lit) == (0, False)


def test_a_watcher_lights_the_beacon_of_the_process() -> None:
    say_watched()
    assert beacon.is_lit
    beacon.put_out()
