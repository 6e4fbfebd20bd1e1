"""Ages and moments as people type them at a shell: `90d`, `12h`, `2026-03-01`."""

import re
from datetime import datetime, time, timedelta
from typing import Final

from django.core.management.base import CommandError
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

_UNITS: Final = {
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "y": timedelta(days=365),
}
_AGE: Final = re.compile(r"(\d{1,6})([hdwy])")


def ago(text: str) -> datetime:
    """The moment that was as long ago as `text` says. Raises CommandError."""
    return _shifted(text, -1)


def ahead(text: str) -> datetime:
    """A moment as `moment` reads it, an age being the time from now. Raises CommandError."""
    return _shifted(text, 1) if _AGE.fullmatch(text) else moment(text)


def _shifted(text: str, sign: int) -> datetime:
    match = _AGE.fullmatch(text)
    if match is None:
        raise CommandError(f"{text!r} is no age. Write one such as 90d, 12h, 4w or 1y.")
    try:
        return timezone.now() + sign * int(match[1]) * _UNITS[match[2]]
    except OverflowError:
        raise CommandError(f"{text!r} is too long a time.") from None


def moment(text: str) -> datetime:
    """A date (its first moment), a date and time, or an age. Raises CommandError."""
    if _AGE.fullmatch(text):
        return ago(text)
    try:
        day = parse_date(text)
        found = datetime.combine(day, time.min) if day else parse_datetime(text)
    except ValueError:
        found = None
    if found is None:
        raise CommandError(f"{text!r} is no moment. Write 2026-03-01, 2026-03-01T12:30 or 7d.")
    naive = timezone.is_naive(found)
    return timezone.make_aware(found) if naive and timezone.now().tzinfo else found
