"""The security events of a period, summed up."""

import datetime as dt
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from project.quiz.choices import Category, Severity
from project.quiz.models import DiagnosticsEvent
from project.quiz.rejections import rejections
from project.quiz.retention import window

TOP_ADDRESSES = 10


@dataclass(frozen=True)
class AddressCount:
    """How many events came from an address."""

    address: str
    events: int


@dataclass(frozen=True)
class SecuritySummary:
    """Security events by severity and code, the busiest addresses, and ledgers rejected by reason.

    Rejected ledgers are counted by whole UTC days.
    """

    since: dt.datetime
    since_clamped: bool
    total: int
    by_severity: dict[str, int]
    by_code: dict[str, int]
    top_addresses: list[AddressCount]
    ledger_rejections: dict[str, int]
    latest_critical_at: dt.datetime | None


def security_summary(since: dt.datetime | None, *, now: dt.datetime) -> SecuritySummary:
    """Return the summary of the period from `since` to now."""
    period = window(since, None, now=now)
    events = DiagnosticsEvent.objects.filter(
        category=Category.SECURITY, at__gte=period.since, at__lte=period.until
    )
    critical = events.filter(severity=Severity.CRITICAL).order_by("-at").first()
    return SecuritySummary(
        since=period.since,
        since_clamped=period.since_clamped,
        total=events.count(),
        by_severity=_counted(events, "severity"),
        by_code=_counted(events, "code"),
        top_addresses=_top_addresses(events),
        ledger_rejections=rejections(period.since, period.until),
        latest_critical_at=critical.at if critical else None,
    )


def _counted(events: QuerySet[DiagnosticsEvent], column: str) -> dict[str, int]:
    rows = events.order_by(column).values_list(column).annotate(n=Count("id"))
    return {str(value): n for value, n in rows}


def _top_addresses(events: QuerySet[DiagnosticsEvent]) -> list[AddressCount]:
    rows = (
        events.filter(address__isnull=False)
        .values_list("address")
        .annotate(n=Count("id"))
        .order_by("-n", "address")
    )
    return [AddressCount(str(address), n) for address, n in rows[:TOP_ADDRESSES]]
