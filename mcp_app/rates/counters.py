"""Where the counts of sliding windows are kept: Django's cache.

On Redis one script decides and counts in one step, by Redis's own clock: exact across processes
and machines. Where that clock steps back over a window's start, it is taken to stand at that start
until it is there again: no count is lost. On a cache of this process (`LocMemCache`) a lock does
the same. On any other cache the count is raised first and lowered again by what is refused, with
the cache's own atomic `incr`: never too many, though calls at the same instant may be refused that
would just have fitted.
"""

import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from django.core.cache import caches
from django.core.cache.backends.locmem import LocMemCache

from mcp_app.conf import settings
from mcp_app.rates.window import BEYOND, Count, Rate, admits, wait

_SCRIPT: Final = """
local now = redis.call('TIME')
local time = tonumber(now[1]) + tonumber(now[2]) / 1000000
local limit, seconds, back = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local window = math.floor(time / seconds)
local held = redis.call('HMGET', KEYS[1], 'w', 'c', 'p')
local last, current, previous = tonumber(held[1]), tonumber(held[2]) or 0, tonumber(held[3]) or 0
if last == window + 1 then
  window, time = last, last * seconds
elseif last ~= window then
  if last == window - 1 then previous = current else previous = 0 end
  current = 0
end
local elapsed = time - window * seconds
local admitted = 0
if back then
  if back == window then current = math.max(current - 1, 0) end
  if back == window - 1 then previous = math.max(previous - 1, 0) end
elseif current + (1 - elapsed / seconds) * previous < limit then
  current = current + 1
  admitted = 1
end
redis.call('HSET', KEYS[1], 'w', window, 'c', current, 'p', previous)
redis.call('PEXPIRE', KEYS[1], math.ceil(seconds * 2000))
return {admitted, current, previous, tostring(elapsed), window}
"""
_PREFIX: Final = "mcp_app:rate:"
_lock: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class Ticket:
    """What became of one that asked to be counted."""

    wait: float
    """0 where it was counted, or else the seconds to wait."""
    window: int
    """The number of the window in which it was decided."""


def take(key: str, rate: Rate) -> Ticket:
    """Count one more under `key` if it fits.

    Raises:
        Exception: whatever the cache raises when it is away.
    """
    return _counter().take(key, rate)


def give_back(key: str, rate: Rate, ticket: Ticket) -> None:
    """Take back one that was counted, from the window it was counted in: it did not happen."""
    _counter().give_back(key, rate, ticket.window)


def look(key: str, rate: Rate) -> Count:
    """What is counted under `key` now; nothing is counted by that.

    Raises:
        Exception: whatever the cache raises when it is away.
    """
    cache: Any = caches[settings.THROTTLE_CACHE]
    redis = _redis_client(cache)
    if redis is not None:
        return _seen_on_redis(redis, cache.make_key(f"{_PREFIX}{key}"), rate)
    window, elapsed = _moment(rate)
    return Count(cache.get(_name(key, window), 0), cache.get(_name(key, window - 1), 0), elapsed)


def _seen_on_redis(redis: Any, name: str, rate: Rate) -> Count:
    seconds, microseconds = redis.time()
    now = seconds + microseconds / 1_000_000
    window, current, previous = (int(held or 0) for held in redis.hmget(name, "w", "c", "p"))
    gone = int(now // rate.seconds) - window
    if gone == -1:
        return Count(current, previous, 0.0)
    counts = {0: (current, previous), 1: (0, current)}.get(gone, (0, 0))
    return Count(*counts, now % rate.seconds)


def _counter() -> "_Redis | _InProcess | _Elsewhere":
    cache: Any = caches[settings.THROTTLE_CACHE]
    redis = _redis_client(cache)
    if redis is not None:
        return _Redis(redis, cache)
    return _InProcess(cache) if isinstance(cache, LocMemCache) else _Elsewhere(cache)


def _redis_client(cache: Any) -> Any:
    """The connection of Django's own Redis cache, or of django-redis; None for another cache."""
    own: Any = getattr(cache, "_cache", None)
    if hasattr(own, "get_client") and type(cache).__module__.startswith("django.core.cache"):
        return own.get_client(None, write=True)
    client: Any = getattr(cache, "client", None)
    if hasattr(client, "get_client") and type(cache).__module__.startswith("django_redis"):
        return client.get_client(write=True)
    return None


@dataclass(frozen=True, slots=True)
class _Redis:
    redis: Any
    cache: Any

    def take(self, key: str, rate: Rate) -> Ticket:
        admitted, current, previous, elapsed, window = self._run(key, rate, "")
        if admitted:
            return Ticket(0.0, window)
        # Redis writes numbers with 14 digits: by those the call may just fit that did not.
        return Ticket(max(wait(rate, current, previous, float(elapsed)), BEYOND), window)

    def give_back(self, key: str, rate: Rate, window: int) -> None:
        self._run(key, rate, window)

    def _run(self, key: str, rate: Rate, back: int | str) -> list[Any]:
        name = self.cache.make_key(f"{_PREFIX}{key}")
        script = self.redis.register_script(_SCRIPT)
        ran: list[Any] = script(keys=[name], args=[rate.limit, rate.seconds, back])
        return ran


@dataclass(frozen=True, slots=True)
class _InProcess:
    cache: Any

    def take(self, key: str, rate: Rate) -> Ticket:
        window, elapsed = _moment(rate)
        this, last = _name(key, window), _name(key, window - 1)
        with _lock:
            current, previous = self.cache.get(this, 0), self.cache.get(last, 0)
            if not admits(rate, current, previous, elapsed):
                return Ticket(wait(rate, current, previous, elapsed), window)
            self.cache.set(this, current + 1, rate.seconds * 2)
        return Ticket(0.0, window)

    def give_back(self, key: str, rate: Rate, window: int) -> None:
        name = _name(key, window)
        with _lock:
            _lower(self.cache, name)


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    cache: Any

    def take(self, key: str, rate: Rate) -> Ticket:
        window, elapsed = _moment(rate)
        this, last = _name(key, window), _name(key, window - 1)
        self.cache.add(this, 0, rate.seconds * 2)
        current, previous = self.cache.incr(this) - 1, self.cache.get(last, 0)
        if admits(rate, current, previous, elapsed):
            return Ticket(0.0, window)
        self.cache.decr(this)
        return Ticket(wait(rate, current, previous, elapsed), window)

    def give_back(self, key: str, rate: Rate, window: int) -> None:
        _lower(self.cache, _name(key, window))


def _moment(rate: Rate) -> tuple[int, float]:
    """The number of this window, and the seconds since it began."""
    window, elapsed = divmod(time.time(), rate.seconds)
    return int(window), elapsed


def _name(key: str, window: int) -> str:
    return f"{_PREFIX}{key}:{window}"


def _lower(cache: Any, name: str) -> None:
    with suppress(ValueError):  # how Django's caches say that it has expired
        cache.decr(name)
