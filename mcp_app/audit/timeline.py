"""The last day, week or month as buckets of the current time zone's clock.

The edges are made here and not by the database, whose own truncation to the hour takes the two
hours for one that a clock shows twice when summer ends, and needs its own table of time zones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

from django.db.models import TextChoices
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _

from mcp_app.audit.periods import local, midnight

HOURS: Final = 24
_HOUR: Final = timedelta(hours=1)


class Period(TextChoices):
    """How far back to look; the bucket that runs now is the last one."""

    DAY = "day", _("Day")
    WEEK = "week", _("Week")
    MONTH = "month", _("Month")


_DAYS: Final = {Period.WEEK: 7, Period.MONTH: 30}


@dataclass(frozen=True, slots=True)
class Bucket:
    """From `start`, which is in it, to `end`, which is not; `short` is a label for little room."""

    start: datetime
    end: datetime
    label: str
    short: str

    @property
    def query(self) -> dict[str, str]:
        """How the call log's filter is asked for it."""
        return {"since": _minute(self.start), "until": _minute(self.end)}


def buckets(period: Period, now: datetime | None = None) -> list[Bucket]:
    """24 hours, or 7 or 30 days of however many hours each, oldest first."""
    now = now or timezone.now()
    edges = _hours(now) if period is Period.DAY else _days(now, _DAYS[period])
    label = _hour_labels if period is Period.DAY else _day_labels
    return [
        Bucket(start, end, *labels)
        for (start, end), labels in zip(pairwise(edges), label(edges), strict=True)
    ]


def _hours(now: datetime) -> list[datetime]:
    this = local(now).replace(minute=0, second=0, microsecond=0)
    # In UTC an hour more is always an hour later.
    start = this.astimezone(UTC) if timezone.is_aware(this) else this
    return [start + _HOUR * (number - HOURS + 1) for number in range(HOURS + 1)]


def _days(now: datetime, count: int) -> list[datetime]:
    today = local(now).date()
    return [midnight(today + timedelta(days=number - count + 1)) for number in range(count + 1)]


def _hour_labels(edges: Sequence[datetime]) -> list[tuple[str, str]]:
    """Clock times; with the offset where the clock shows one twice."""
    shown = [local(edge) for edge in edges[:-1]]
    times = [f"{at:%H:%M}" for at in shown]
    return [
        (f"{text} (UTC{at:%z})" if at.tzinfo and times.count(text) > 1 else text, text)
        for at, text in zip(shown, times, strict=True)
    ]


def _day_labels(edges: Sequence[datetime]) -> list[tuple[str, str]]:
    days = [local(edge) for edge in edges[:-1]]
    return [(date_format(day, "D j M"), date_format(day, "j M")) for day in days]


def _minute(at: datetime) -> str:
    return local(at).isoformat(timespec="minutes")
