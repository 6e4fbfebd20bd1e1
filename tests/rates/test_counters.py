"""Counts on the caches that Django has: never more than the formula admits (D-086)."""

import os
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from django.core.cache import caches
from django.test.utils import override_settings

from mcp_app.rates import counters
from mcp_app.rates.window import Rate

HOUR = Rate(20, 3600.0)
LOCAL = "django.core.cache.backends.locmem.LocMemCache"


class OtherCache:
    """What a cache without a step of ours offers: `add`, `incr`, `decr` and `get`, each atomic."""

    _held: ClassVar[dict[str, int]] = {}
    _lock = threading.Lock()

    def __init__(self, name: str, params: Any) -> None:
        """One server, however many connections there are."""

    def add(self, key: str, value: int, timeout: float) -> bool:
        with self._lock:
            return self._held.setdefault(key, value) == value

    def get(self, key: str, default: int) -> int:
        return self._held.get(key, default)

    def incr(self, key: str, by: int = 1) -> int:
        with self._lock:
            if key not in self._held:
                raise ValueError(key)
            self._held[key] += by
            return self._held[key]

    def decr(self, key: str) -> int:
        return self.incr(key, -1)

    def close(self) -> None:
        """Nothing is open."""


CACHES = {
    "local": {"BACKEND": LOCAL, "LOCATION": "rates"},
    "other": {"BACKEND": "tests.rates.test_counters.OtherCache"},
    "redis": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": os.environ.get("REDIS_URL", ""),
    },
}


@pytest.fixture(params=["local", "other", "redis"])
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each kind of cache."""
    if request.param == "redis" and "REDIS_URL" not in os.environ:
        pytest.skip("needs Redis")
    with override_settings(CACHES={"default": CACHES[request.param]}):
        yield request.param


@pytest.fixture
def key() -> str:
    """A name that no other test counts under."""
    return uuid.uuid4().hex


def wait(key: str) -> float:
    """What one more call hears."""
    return counters.take(key, HOUR).wait


def test_so_many_fit_and_then_none(kind: str, key: str) -> None:
    waits = [wait(key) for _ in range(23)]
    assert waits[:20] == [0.0] * 20
    assert all(0 < wait <= 7200 for wait in waits[20:])


def test_what_is_given_back_fits_again(kind: str, key: str) -> None:
    tickets = [counters.take(key, HOUR) for _ in range(20)]
    assert [ticket.wait for ticket in tickets] == [0.0] * 20
    counters.give_back(key, HOUR, tickets[0])
    assert wait(key) == 0
    assert wait(key) > 0


def test_what_is_given_back_late_makes_no_room_in_the_next_window(kind: str, key: str) -> None:
    tickets = [counters.take(key, HOUR) for _ in range(20)]
    for ago in (1, 2, 3):
        counters.give_back(key, HOUR, replace(tickets[0], window=tickets[0].window - ago))
    assert wait(key) > 0


def test_what_is_given_back_late_is_not_in_the_last_window_any_more(
    kind: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    *_, ticket = [counters.take(key, HOUR) for _ in range(20)]
    if kind == "redis":  # which counts by its own clock
        cache: Any = caches["default"]
        cache._cache.get_client().hincrby(cache.make_key(f"mcp_app:rate:{key}"), "w", -1)
        ticket = replace(ticket, window=ticket.window - 1)
    else:
        monkeypatch.setattr(counters.time, "time", lambda: (ticket.window + 1) * 3600.0)
    assert counters.look(key, HOUR).previous == 20
    counters.give_back(key, HOUR, ticket)
    seen = counters.look(key, HOUR)
    assert (seen.current, seen.previous) == (0, 19)


def test_what_is_given_back_when_nothing_is_counted_any_more_does_no_harm(
    kind: str, key: str
) -> None:
    counters.give_back(key, HOUR, counters.Ticket(0.0, 7))
    assert [wait(key) for _ in range(20)] == [0.0] * 20


def test_one_key_is_not_another(kind: str, key: str) -> None:
    assert [counters.take(f"{key}-{n}", Rate(1, 3600.0)).wait for n in range(3)] == [0.0] * 3


def test_threads_together_are_admitted_no_more_than_one_alone(kind: str, key: str) -> None:
    with ThreadPoolExecutor(16) as pool:
        waits = list(pool.map(lambda _: wait(key), range(200)))
    admitted = waits.count(0.0)
    assert admitted <= 20
    # Elsewhere calls of the same instant may be refused; here each step is one.
    assert admitted == 20 or kind == "other"


def test_the_last_window_fades(kind: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "redis":
        pytest.skip("Redis counts by its own clock")
    now = 3600.0 * 1000
    monkeypatch.setattr(counters.time, "time", lambda: now)
    assert [wait(key) for _ in range(20)] == [0.0] * 20
    now += 3600
    assert wait(key) == pytest.approx(0.001)
    now += 1800
    assert [wait(key) == 0 for _ in range(11)] == [True] * 10 + [False]
    now += 7200
    assert [wait(key) == 0 for _ in range(21)] == [True] * 20 + [False]


def test_to_look_counts_nothing_and_says_what_the_next_call_would_hear(kind: str, key: str) -> None:
    assert counters.look(key, HOUR).used(HOUR) == 0
    *_, ticket = [counters.take(key, HOUR) for _ in range(20)]
    seen = [counters.look(key, HOUR) for _ in range(3)][-1]
    assert seen.used(HOUR) == 20
    assert seen.wait(HOUR) == pytest.approx(wait(key), abs=60)
    counters.give_back(key, HOUR, ticket)
    assert counters.look(key, HOUR).used(HOUR) == 19
    assert counters.look(key, HOUR).wait(HOUR) == 0


def test_a_clock_that_steps_back_over_a_windows_start_loses_no_count(kind: str, key: str) -> None:
    if kind != "redis":
        pytest.skip("elsewhere each window has an entry of its own")
    tickets = [counters.take(key, HOUR) for _ in range(20)]
    cache: Any = caches["default"]
    redis, name = cache._cache.get_client(), cache.make_key(f"mcp_app:rate:{key}")
    redis.hincrby(name, "w", 1)
    assert counters.look(key, HOUR).used(HOUR) == 20
    assert wait(key) > 0
    counters.give_back(key, HOUR, replace(tickets[0], window=tickets[0].window + 1))
    assert wait(key) == 0
    assert wait(key) > 0
    assert int(redis.hget(name, "w")) == tickets[0].window + 1
    redis.hincrby(name, "w", 1)  # further back is another time
    assert wait(key) == 0


def test_what_redis_refused_is_refused_however_its_numbers_are_rounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counters._Redis, "_run", lambda *given: [0, 1, 2, b"30.000000000001", 7])
    assert counters._Redis(None, None).take("key", Rate(2, 60)).wait > 0
