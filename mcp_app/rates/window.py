"""The sliding window as arithmetic; knows neither a clock nor where counts are kept.

With c admitted in this window, p in the last one and a share f of this one gone, another is
admitted if and only if c + (1 - f)·p < limit. What is refused does not count.
"""

from dataclasses import dataclass
from math import ceil
from typing import Final

BEYOND: Final = 0.001
"""Seconds after the moment at which the formula would be an equation."""

_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `limit` in any `seconds`, on average over two windows."""

    limit: int
    seconds: float

    @classmethod
    def parse(cls, text: str) -> "Rate":
        """From "100/min", as DRF reads it: per second, minute, hour or day."""
        limit, period = text.split("/")
        return cls(int(limit), _SECONDS[period[0]])


@dataclass(frozen=True, slots=True)
class Count:
    """What was admitted in this window and in the last one, `elapsed` seconds into this one."""

    current: int
    previous: int
    elapsed: float

    def used(self, rate: Rate) -> int:
        """How much of the limit is taken, in whole calls."""
        return ceil(self.current + (1 - self.elapsed / rate.seconds) * self.previous)

    def wait(self, rate: Rate) -> float:
        """Seconds until one more fits."""
        return wait(rate, self.current, self.previous, self.elapsed)


def admits(rate: Rate, current: int, previous: int, elapsed: float) -> bool:
    """Whether one more fits, `elapsed` seconds into a window."""
    return current + (1 - elapsed / rate.seconds) * previous < rate.limit


def wait(rate: Rate, current: int, previous: int, elapsed: float) -> float:
    """Seconds until one more fits, if nothing else is admitted meanwhile."""
    if admits(rate, current, previous, elapsed):
        return 0.0
    if current < rate.limit:
        # The last window fades until what is left of it makes room.
        return rate.seconds * (1 - (rate.limit - current) / previous) - elapsed + BEYOND
    return rate.seconds - elapsed + rate.seconds * (1 - rate.limit / current) + BEYOND
