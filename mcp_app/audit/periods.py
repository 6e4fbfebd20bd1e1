"""Spans of time as people write them: days, or minutes, of the current time zone."""

from datetime import date, datetime, time, timedelta
from typing import TypeVar

from django.conf import settings as django_settings
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

Day = TypeVar("Day", bound=date)


def beginning(text: str) -> datetime:
    """The moment that "2026-11-30" or "2026-11-30T14:05" names; raises ValueError for others."""
    day = _day(text)
    return _moment(text) if day is None else midnight(day)


def end(text: str) -> datetime:
    """The same as the end of a span, which a day belongs to as a whole: it is not in the span."""
    day = _day(text)
    return _moment(text) if day is None else midnight(day + timedelta(days=1))


def midnight(day: date) -> datetime:
    """The beginning of a day, as the columns of events have it."""
    return stored(datetime.combine(day, time.min))


def local(at: datetime) -> datetime:
    """A moment of an event on the clocks of the current time zone."""
    return at if timezone.is_naive(at) else timezone.localtime(at)


def to_the_minute(at: datetime) -> str:
    """A moment as texts have it, on the clocks of the current time zone."""
    return f"{local(at):%Y-%m-%d %H:%M}"


def stored(at: datetime) -> datetime:
    """A moment as the columns have it: aware, or naive without `USE_TZ`."""
    if django_settings.USE_TZ:
        return timezone.make_aware(at) if timezone.is_naive(at) else at
    return timezone.make_naive(at) if timezone.is_aware(at) else at


def _day(text: str) -> date | None:
    day = parse_date(text) if len(text) <= len("2026-11-30") else None
    return day and _check(day)


def _moment(text: str) -> datetime:
    at = parse_datetime(text)
    if at is None:
        raise ValueError(f"{text!r} is neither a day nor a moment.")
    return stored(_check(at))


def _check(at: Day) -> Day:
    """Leave room for a day more and for any time zone."""
    if not 1 < at.year < 9999:
        raise ValueError(f"{at} is too far away.")
    return at
