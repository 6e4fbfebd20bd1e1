"""Removing what is older than it need be, in chunks: no lock is held for longer than one takes.

Where rows are sealed, the chain says in the same transaction which ones were pruned, and why.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from django.db import router, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Least
from django.utils import timezone

from mcp_app.audit.chain import append, head, links, pack_keys, pruned_keys, retried
from mcp_app.conf import settings
from mcp_app.models import CallEvent, Seal, Session, SpentState, StreamEvent

CHUNK: Final = 1000


def old_events(alias: str, outcome: str, before: datetime) -> QuerySet[CallEvent]:
    """The call events of one outcome that happened before a moment."""
    return CallEvent._base_manager.using(alias).filter(outcome=outcome, created_at__lt=before)


def prune_events(alias: str, outcome: str, before: datetime) -> Iterator[int]:
    """Remove `old_events`, oldest first; gives the number of each chunk as it is gone.

    Raises:
        ChainRefused: rows are sealed and the chain cannot be continued.
    """
    since: datetime | None = None
    reason = f"{outcome} before {before:%Y-%m-%d %H:%M} UTC"
    while True:
        count, since = retried(partial(_chunk, alias, outcome, before, since, reason), alias)
        if not count:
            return
        yield count


def forget_digests(alias: str) -> None:
    """Let go of the digests of ranges whose every row has been pruned."""
    events = CallEvent._base_manager.using(alias)
    kept = links(alias).filter(kind=Seal.Kind.RANGE, rows__gt=0).exclude(contents=b"")
    oldest = events.order_by("pk").values_list("pk", flat=True).first()
    spent = kept if oldest is None else kept.filter(last_id__lt=oldest)
    for number, first, last, rows in spent.values_list("number", "first_id", "last_id", "rows"):
        if len(pruned_keys(alias, first, last)) == rows:
            links(alias).filter(number=number).update(contents=b"")


def leftovers(before: datetime | None) -> dict[str, QuerySet[Any]]:
    """What calls leave beside their events and nobody needs any more, by what it is called.

    Args:
        before: sessions that were over by then go too; None keeps them.
    """
    now = timezone.now()
    found: dict[str, QuerySet[Any]] = {
        "stream events": _all(StreamEvent).filter(
            created_at__lt=now - timedelta(seconds=settings.STREAM_EVENT_TTL)
        ),
        "spent states": _all(SpentState).filter(expires_at__lt=now),
    }
    if before is not None:
        idle = F("last_seen_at") + settings.session_ttl
        over = _all(Session).annotate(over_at=Least(Coalesce("ended_at", idle), idle))
        found["sessions"] = over.filter(
            Q(last_seen_at__lt=before) | Q(ended_at__lt=before), over_at__lt=before
        )
    return found


def prune(rows: QuerySet[Any]) -> Iterator[int]:
    """Remove rows that no seal covers, in chunks; gives the number of each."""
    while keys := list(rows.order_by("pk").values_list("pk", flat=True)[:CHUNK]):
        with transaction.atomic(using=rows.db):
            rows.model._base_manager.using(rows.db).filter(pk__in=keys).delete()
        yield len(keys)


def _chunk(
    alias: str, outcome: str, before: datetime, since: datetime | None, reason: str
) -> tuple[int, datetime | None]:
    """One chunk in the caller's transaction: how many are gone, and up to when."""
    old = old_events(alias, outcome, before).order_by("created_at")
    # The index still knows what the last chunks removed: begin where they ended.
    rest = old if since is None else old.filter(created_at__gte=since)
    rows = list(rest.values_list("pk", "created_at")[:CHUNK])
    if not rows:
        return 0, since
    last, keys = head(alias), [key for key, _ in rows]
    CallEvent._base_manager.using(alias).filter(pk__in=keys).delete()
    if last is not None:
        append(
            alias,
            last,
            Seal.Kind.PRUNED,
            span=(min(keys), max(keys)),
            rows=len(keys),
            contents=pack_keys(keys),
            reason=reason,
        )
    return len(rows), rows[-1][1]


def _all(model: Any) -> QuerySet[Any]:
    found: QuerySet[Any] = model._base_manager.using(router.db_for_write(model))
    return found.order_by()
