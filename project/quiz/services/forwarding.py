"""Whether the servers' logs reach their destinations."""

import datetime as dt
from dataclasses import dataclass

from django.db.models import Count, Max, Q, QuerySet, Sum

from project.quiz.choices import Destination, ForwardingState
from project.quiz.models import ForwardingRecord
from project.quiz.retention import window


@dataclass(frozen=True)
class ForwardingFilter:
    """Which batches count; what is None does not filter."""

    since: dt.datetime | None = None
    destination: Destination | None = None
    state: ForwardingState | None = None


@dataclass(frozen=True)
class Batch:
    """One forwarded batch; `milliseconds` is how long its last attempt took."""

    at: dt.datetime
    destination: Destination
    state: ForwardingState
    lines: int
    attempts: int
    milliseconds: int
    error: str


@dataclass(frozen=True)
class DestinationTotal:
    """All batches of one destination that pass the filter."""

    destination: Destination
    batches: int
    lines: int
    failed: int
    latest_delivery_at: dt.datetime | None


@dataclass(frozen=True)
class ForwardingStatus:
    """Totals over every batch that passes the filter, and the newest `limit` of them."""

    since: dt.datetime
    since_clamped: bool
    total: int
    destinations: list[DestinationTotal]
    batches: list[Batch]


def forwarding_status(
    wanted: ForwardingFilter, *, limit: int, now: dt.datetime
) -> ForwardingStatus:
    """Return the state of forwarding; the filter applies first, then the limit."""
    period = window(wanted.since, None, now=now)
    asked = {"destination": wanted.destination, "state": wanted.state}
    records = ForwardingRecord.objects.filter(
        at__gte=period.since,
        at__lte=period.until,
        **{name: value for name, value in asked.items() if value is not None},
    )
    return ForwardingStatus(
        since=period.since,
        since_clamped=period.since_clamped,
        total=records.count(),
        destinations=_totals(records),
        batches=[_batch(record) for record in records.order_by("-at", "-id")[:limit]],
    )


def _totals(records: QuerySet[ForwardingRecord]) -> list[DestinationTotal]:
    rows = (
        records.order_by("destination")
        .values("destination")
        .annotate(
            batches=Count("id"),
            line_total=Sum("lines"),
            failed=Count("id", filter=Q(state=ForwardingState.FAILED)),
            latest=Max("at", filter=Q(state=ForwardingState.DELIVERED)),
        )
    )
    return [
        DestinationTotal(
            destination=Destination(row["destination"]),
            batches=row["batches"],
            lines=row["line_total"],
            failed=row["failed"],
            latest_delivery_at=row["latest"],
        )
        for row in rows
    ]


def _batch(record: ForwardingRecord) -> Batch:
    return Batch(
        at=record.at,
        destination=Destination(record.destination),
        state=ForwardingState(record.state),
        lines=record.lines,
        attempts=record.attempts,
        milliseconds=record.milliseconds,
        error=record.error,
    )
