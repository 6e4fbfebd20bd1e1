"""Sealing: which rows will not change any more, and the links that are made of them."""

import time
from collections.abc import Iterator
from typing import Final

from django.db import OperationalError, connections, transaction
from django.db.models import Max, Min, QuerySet
from django.utils import timezone

from mcp_app.audit.chain import ChainRefused, append, check_continuable, head, retried, sealed_to
from mcp_app.audit.leaves import leaves_of, packed
from mcp_app.audit.storage import LONGEST_CALL
from mcp_app.models import UNENDED, CallEvent, Seal

ROWS: Final = 1000
"""In one link: a fault is found in as many rows, and then in one."""

_LOCK_TRIES: Final = 5
_LOCK_PAUSE: Final = 0.5
"""In seconds: for those that waited behind the lock."""


def seal(alias: str, *, adopt: bool = False) -> Iterator[Seal]:
    """Seal what has happened and will not change, link by link, each in its own transaction.

    A row without an end may still change for a day: it and what came after it wait so long.

    Raises:
        ChainRefused: see `chain.append`, or the writers gave no moment of rest.
    """
    # From the first link on, whoever removes rows says so in the chain (`pruning`).
    retried(lambda: _open(alias, adopt), alias)
    bound = settled_to(alias)
    while link := retried(lambda: _seal_next(alias, bound), alias):
        yield link


def settled_to(alias: str) -> int:
    """The last key below which no row can appear or change; 0 where there is none."""
    newest = _newest(alias) or 0
    since = timezone.now() - LONGEST_CALL
    running = _events(alias).filter(outcome__in=UNENDED, created_at__gt=since, pk__lte=newest)
    oldest = running.aggregate(oldest=Min("pk"))["oldest"]
    return newest if oldest is None else oldest - 1


def _open(alias: str, adopt: bool) -> None:
    last = head(alias)
    if last is None or adopt:
        end = sealed_to(alias)
        append(alias, last, Seal.Kind.RANGE, span=(end + 1, end), adopt=adopt)
    check_continuable(head(alias))


def _seal_next(alias: str, bound: int) -> Seal | None:
    last, end = head(alias), sealed_to(alias)
    leaves = leaves_of(_next_rows(alias, end, bound))
    if not leaves:
        return None
    span = end + 1, leaves[-1].id
    return append(
        alias, last, Seal.Kind.RANGE, span=span, rows=len(leaves), contents=packed(leaves)
    )


def _next_rows(alias: str, end: int, bound: int) -> QuerySet[CallEvent]:
    rows = _events(alias).filter(pk__gt=end, pk__lte=bound).order_by("pk")
    keys = list(rows.values_list("pk", flat=True)[:ROWS])
    return rows.filter(pk__lte=keys[-1]) if keys else rows.none()


def _newest(alias: str) -> int | None:
    for _ in range(_LOCK_TRIES):
        try:
            with transaction.atomic(using=alias):
                _wait_for_writers(alias)
                newest: int | None = _events(alias).aggregate(newest=Max("pk"))["newest"]
                return newest
        except OperationalError:
            time.sleep(_LOCK_PAUSE)
    raise ChainRefused("The table of calls is written to without a pause; try again later.")


def _wait_for_writers(alias: str) -> None:
    """PostgreSQL gives out keys before rows are committed; SQLite has one writer at a time."""
    if connections[alias].vendor != "postgresql":
        return
    with connections[alias].cursor() as cursor:
        # The lock is let go at once. While it waits, new events wait behind it: no longer than so.
        cursor.execute("SET LOCAL lock_timeout = '1s'")
        cursor.execute(f'LOCK TABLE "{CallEvent._meta.db_table}" IN SHARE MODE')


def _events(alias: str) -> QuerySet[CallEvent]:
    return CallEvent._base_manager.using(alias)
