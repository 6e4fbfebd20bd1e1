"""How far back diagnostics reach, and what becomes of a period that asks for more."""

import datetime as dt
from dataclasses import dataclass

from project.quiz.errors import Refused

RETENTION = dt.timedelta(days=7)


@dataclass(frozen=True)
class Window:
    """The period an answer covers; `since_clamped` says that an earlier start was asked for."""

    since: dt.datetime
    until: dt.datetime
    since_clamped: bool


def window(since: dt.datetime | None, until: dt.datetime | None, *, now: dt.datetime) -> Window:
    """Return the period, which lies between the start of the retention window and now.

    A moment without a zone is UTC. Raises `Refused` where `until` lies before `since`, or `since`
    in the future.
    """
    oldest = now - RETENTION
    asked = _aware(since) if since else oldest
    end = min(_aware(until), now) if until else now
    if asked > now:
        raise Refused(f"since lies in the future; it is {now.isoformat(timespec='seconds')} now.")
    if end < asked:
        raise Refused("The period ends before it begins: until is earlier than since.")
    start = max(asked, oldest)
    return Window(since=start, until=max(start, end), since_clamped=asked < oldest)


def _aware(moment: dt.datetime) -> dt.datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
