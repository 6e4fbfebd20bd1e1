"""How many ledgers were rejected and why: counters in the cache, so that a replay writes no row."""

import datetime as dt

from django.core.cache import cache

from project.quiz.ledger import REJECTIONS, Rejection
from project.quiz.retention import RETENTION

_KEPT_SECONDS = int((RETENTION + dt.timedelta(days=1)).total_seconds())


def count_rejection(reason: Rejection, now: dt.datetime) -> None:
    """Add one to the day's counter."""
    key = _key(reason, _day(now))
    cache.add(key, 0, timeout=_KEPT_SECONDS)
    cache.incr(key)


def rejections(since: dt.datetime, until: dt.datetime) -> dict[str, int]:
    """Return the count of each reason over the UTC days that the period touches."""
    first, last = _day(since), _day(until)
    days = [first + dt.timedelta(days=n) for n in range((last - first).days + 1)]
    keys = {_key(reason, day): reason for reason in REJECTIONS for day in days}
    totals: dict[str, int] = dict.fromkeys(REJECTIONS, 0)
    for key, count in cache.get_many(keys).items():
        totals[keys[key]] += count
    return totals


def _day(moment: dt.datetime) -> dt.date:
    return moment.astimezone(dt.UTC).date()


def _key(reason: Rejection, day: dt.date) -> str:
    return f"quiz.ledger.rejected.{reason}.{day.isoformat()}"
