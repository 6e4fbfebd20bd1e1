"""Where the counts of sliding windows are kept: Django's cache.

On Redis one script decides and counts in one step, by Redis's own clock: exact across processes
and machines. On a cache of this process (`LocMemCache`) a lock does the same. On any other cache
the count is raised first and lowered again by what is refused, with the cache's own atomic `incr`:
never too many, though calls at the same instant may be refused that would just have fitted.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, Final

from django.core.cache import caches
from django.core.cache.backends.locmem import LocMemCache

from mcp_app.conf import settings
from mcp_app.rates.window import Count, Rate, admits, wait

_SCRIPT: Final = """
local now = redis.call('TIME')
local time = tonumber(now[1]) + tonumber(now[2]) / 1000000
local limit, seconds, give_back = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local window = math.floor(time / seconds)
local held = redis.call('HMGET', KEYS[1], 'w', 'c', 'p')
local last, current, previous = tonumber(held[1]), tonumber(held[2]) or 0, tonumber(held[3]) or 0
if last ~= window then
  if last == window - 1 then previous = current else previous = 0 end
  current = 0
end
local elapsed = time - window * seconds
local admitted = 0
if give_back == '1' then
  current = math.max(current - 1, 0)
elseif current + (1 - elapsed / seconds) * previous < limit then
  current = current + 1
  admitted = 1
end
redis.call('HSET', KEYS[1], 'w', window, 'c', current, 'p', previous)
redis.call('PEXPIRE', KEYS[1], math.ceil(seconds * 2000))
return {admitted, current, previous, tostring(elapsed)}
"""
_PREFIX: Final = "mcp_app:rate:"
_lock: Final = threading.Lock()


def take(key: str, rate: Rate) -> float:
    """Count one more under `key` if it fits: 0, or else the seconds to wait.

    Raises:
        Exception: whatever the cache raises when it is away.
    """
    return _counter()(key, rate, False)


def give_back(key: str, rate: Rate) -> None:
    """Take back one that was counted just now, and did not happen after all."""
    _counter()(key, rate, True)


def look(key: str, rate: Rate) -> Count:
    """What is counted under `key` now; nothing is counted by that.

    Raises:
        Exception: whatever the cache raises when it is away.
    """
    cache: Any = caches[settings.THROTTLE_CACHE]
    redis = _redis_client(cache)
    if redis is not None:
        return _seen_on_redis(redis, cache.make_key(f"{_PREFIX}{key}"), rate)
    now = time.time()
    current, previous = (cache.get(name, 0) for name in _names(key, rate, now))
    return Count(current, previous, now % rate.seconds)


def _seen_on_redis(redis: Any, name: str, rate: Rate) -> Count:
    seconds, microseconds = redis.time()
    now = seconds + microseconds / 1_000_000
    window, current, previous = (int(held or 0) for held in redis.hmget(name, "w", "c", "p"))
    gone = int(now // rate.seconds) - window
    counts = {0: (current, previous), 1: (0, current)}.get(gone, (0, 0))
    return Count(*counts, now % rate.seconds)


def _counter() -> Callable[[str, Rate, bool], float]:
    cache: Any = caches[settings.THROTTLE_CACHE]
    redis = _redis_client(cache)
    if redis is not None:
        return lambda key, rate, back: _on_redis(redis, cache, key, rate, back)
    if isinstance(cache, LocMemCache):
        return lambda key, rate, back: _in_process(cache, key, rate, back)
    return lambda key, rate, back: _elsewhere(cache, key, rate, back)


def _redis_client(cache: Any) -> Any:
    """The connection of Django's own Redis cache, or of django-redis; None for another cache."""
    own: Any = getattr(cache, "_cache", None)
    if hasattr(own, "get_client") and type(cache).__module__.startswith("django.core.cache"):
        return own.get_client(None, write=True)
    client: Any = getattr(cache, "client", None)
    if hasattr(client, "get_client") and type(cache).__module__.startswith("django_redis"):
        return client.get_client(write=True)
    return None


def _on_redis(redis: Any, cache: Any, key: str, rate: Rate, back: bool) -> float:
    name = cache.make_key(f"{_PREFIX}{key}")
    script = redis.register_script(_SCRIPT)
    admitted, current, previous, elapsed = script(
        keys=[name], args=[rate.limit, rate.seconds, int(back)]
    )
    return 0.0 if admitted or back else wait(rate, current, previous, float(elapsed))


def _in_process(cache: Any, key: str, rate: Rate, back: bool) -> float:
    now = time.time()
    names = _names(key, rate, now)
    with _lock:
        current, previous = (cache.get(name, 0) for name in names)
        elapsed = now % rate.seconds
        if back:
            cache.set(names[0], max(current - 1, 0), rate.seconds * 2)
        elif admits(rate, current, previous, elapsed):
            cache.set(names[0], current + 1, rate.seconds * 2)
        else:
            return wait(rate, current, previous, elapsed)
    return 0.0


def _elsewhere(cache: Any, key: str, rate: Rate, back: bool) -> float:
    now = time.time()
    this, last = _names(key, rate, now)
    cache.add(this, 0, rate.seconds * 2)
    if back:
        cache.decr(this)
        return 0.0
    current, previous = cache.incr(this) - 1, cache.get(last, 0)
    elapsed = now % rate.seconds
    if admits(rate, current, previous, elapsed):
        return 0.0
    cache.decr(this)
    return wait(rate, current, previous, elapsed)


def _names(key: str, rate: Rate, now: float) -> tuple[str, str]:
    """The keys of this window and of the last one."""
    window = int(now // rate.seconds)
    return f"{_PREFIX}{key}:{window}", f"{_PREFIX}{key}:{window - 1}"
