"""The diagnostics events of the last seven days, as a timeline that can be filtered."""

import datetime as dt
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from project.quiz.choices import Category, Severity
from project.quiz.cursors import Keyset
from project.quiz.models import DiagnosticsEvent
from project.quiz.retention import window

INCIDENTS = Keyset(name="incidents", moment="at")


@dataclass(frozen=True)
class IncidentFilter:
    """Which events to list; what is None does not filter."""

    since: dt.datetime | None = None
    until: dt.datetime | None = None
    category: Category | None = None
    severity: Severity | None = None
    code: str | None = None


@dataclass(frozen=True)
class Incident:
    """One diagnostics event; `address` is where it came from, `match_id` the match it is about."""

    at: dt.datetime
    category: Category
    severity: Severity
    code: str
    message: str
    node: str
    address: str | None
    match_id: UUID | None


@dataclass(frozen=True)
class IncidentTimeline:
    """Events of a period, newest first."""

    since: dt.datetime
    until: dt.datetime
    since_clamped: bool
    incidents: list[Incident]
    next_cursor: str | None


def incident_timeline(
    wanted: IncidentFilter, *, limit: int, cursor: str | None, now: dt.datetime
) -> IncidentTimeline:
    """Return a page of events. Raises `Refused` for a bad cursor or a period turned round."""
    period = window(wanted.since, wanted.until, now=now)
    events = DiagnosticsEvent.objects.filter(
        _matching(wanted), at__gte=period.since, at__lte=period.until
    )
    page = INCIDENTS.page(events, limit=limit, cursor=cursor)
    return IncidentTimeline(
        since=period.since,
        until=period.until,
        since_clamped=period.since_clamped,
        incidents=[incident(event) for event in page.rows],
        next_cursor=page.next_cursor,
    )


def incident(event: DiagnosticsEvent) -> Incident:
    """Return what an answer says of an event."""
    return Incident(
        at=event.at,
        category=Category(event.category),
        severity=Severity(event.severity),
        code=event.code,
        message=event.message,
        node=event.node,
        address=event.address,
        match_id=event.match_id,
    )


def _matching(wanted: IncidentFilter) -> Q:
    asked = {"category": wanted.category, "severity": wanted.severity, "code": wanted.code}
    return Q(**{name: value for name, value in asked.items() if value is not None})
