"""What is new in the call log for somebody who has seen it up to a point, without gaps or doubles.

Keys are given before rows are committed, so a row may appear below one that was seen already. A
cursor therefore stays behind the newest row until nothing can be on its way there any more; what
was seen above it is named. Nothing of this is kept between two questions.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q, QuerySet

from mcp_app.audit.storage import LONGEST_CALL
from mcp_app.models import UNENDED, CallEvent, CallOutcome

MOST: Final = 100
"""Rows of one answer, and those that a page keeps."""

REACH: Final = 10_000
"""Keys that are looked through at most; a filter that few rows pass must not read the table."""

SETTLING: Final = timedelta(seconds=10)
"""How long a row may be on its way from its key to its commit. A batch of events takes far less."""

_KEYS: Final = re.compile(r"[0-9]{1,18}(,[0-9]{1,18})*")

Rows = QuerySet[CallEvent]


@dataclass(frozen=True, slots=True)
class Cursor:
    """Up to where somebody has seen everything.

    Attributes:
        settled: the key up to which no row can appear any more.
        pending: the newest key at `at`, which will be settled when that is long enough ago.
        at: seconds since the epoch.
    """

    settled: int
    pending: int
    at: int

    @classmethod
    def parse(cls, text: str) -> "Cursor | None":
        """The cursor that reads so; None for none."""
        parts = text.split(".")
        if len(parts) != 3 or not all(re.fullmatch(r"[0-9]{1,18}", part) for part in parts):
            return None
        return cls(*map(int, parts))

    def __str__(self) -> str:
        return f"{self.settled}.{self.pending}.{self.at}"

    def moved(self, newest: int, now: float) -> "Cursor":
        """The cursor after a look at `now` that has shown everything up to the key `newest`."""
        if not 0 <= now - self.at < SETTLING.total_seconds():
            return Cursor(self.pending, newest, int(now))
        return self


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody has seen.

    Attributes:
        cursor: None for somebody who has just come.
        have: keys of ended calls that they have, as far back as the cursor.
        open: keys of calls that had not ended when they saw them.
        waits: those of them that waited for a person's agreement.
        floor: nothing up to this key is of interest any more.
    """

    cursor: Cursor | None = None
    have: frozenset[int] = frozenset()
    open: frozenset[int] = frozenset()
    waits: frozenset[int] = frozenset()
    floor: int = 0

    @classmethod
    def parse(cls, cursor: str, have: str, open_: str, waits: str, floor: str) -> "Asked":
        """Of five texts from an address; what cannot be read counts as empty."""
        return cls(
            cursor=Cursor.parse(cursor),
            have=_keys(have),
            open=_keys(open_),
            waits=_keys(waits),
            floor=max(_keys(floor), default=0),
        )


@dataclass(frozen=True, slots=True)
class News:
    """What they have not seen.

    Attributes:
        rows: new ones and those that have ended, or got their answer, since; by falling key.
        gone: keys of open calls whose rows were deleted.
        skipped: whether more came than is told.
        cursor: what to ask with next.
    """

    rows: list[CallEvent]
    gone: list[int]
    skipped: bool
    cursor: Cursor


def news(everything: Rows, wanted: Rows, asked: Asked, now: datetime) -> News:
    """What is new.

    Args:
        everything: all rows that the asker may see.
        wanted: those of them that pass the filters; a call that has not ended passes those for
            its outcome, since that is still to come.
        now: the moment of the question.
    """
    newest = everything.order_by("-pk").values_list("pk", flat=True).first() or 0
    before = asked.cursor
    low = max(newest - REACH, before.settled if before else 0, asked.floor)
    seen = asked.have | asked.open
    fresh = list(wanted.filter(pk__gt=low).exclude(pk__in=seen).order_by("-pk")[: MOST + 1])
    found = {row.pk: row for row in fresh[:MOST]}
    if before is None:
        found |= {row.pk: row for row in _running(wanted, now)}
    known = {row.pk: row for row in everything.filter(pk__in=asked.open)} if asked.open else {}
    found |= {key: row for key, row in known.items() if _is_new(row, key in asked.waits)}
    seconds = now.timestamp()
    return News(
        rows=sorted(found.values(), key=lambda row: -row.pk),
        gone=sorted(asked.open - known.keys()),
        skipped=before is not None and (len(fresh) > MOST or newest - REACH > before.settled),
        cursor=_begun(newest, seconds) if before is None else before.moved(newest, seconds),
    )


def unended(outcomes: Q) -> Q:
    """`outcomes`, or none yet."""
    return outcomes | Q(outcome__in=UNENDED)


def _is_new(row: CallEvent, waited: bool) -> bool:
    """Whether an open call is not any more as it was seen."""
    return row.has_ended or waited != (row.outcome == CallOutcome.WAITING)


def _running(wanted: Rows, now: datetime) -> list[CallEvent]:
    """Calls that began longer ago, and may run still."""
    open_ = wanted.filter(outcome__in=UNENDED, created_at__gt=now - LONGEST_CALL)
    return list(open_.order_by("-created_at")[: MOST // 2])


def _begun(newest: int, seconds: float) -> Cursor:
    """Whoever comes now may have missed what is on its way below `newest`."""
    return Cursor(max(newest - MOST, 0), newest, int(seconds))


def _keys(text: str) -> frozenset[int]:
    whole = _KEYS.fullmatch(text)
    return frozenset(list(map(int, text.split(",")))[: 4 * MOST]) if whole else frozenset()
