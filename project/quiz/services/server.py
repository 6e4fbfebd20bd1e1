"""How the servers are doing: health at a glance, and the counts behind it."""

import datetime as dt
import time
from dataclasses import dataclass
from typing import Literal

from django.db import connection
from django.db.models import Count, QuerySet

from project.quiz.choices import ForwardingState, RoomStatus, Severity
from project.quiz.models import DiagnosticsEvent, ForwardingRecord, Match, MatchAnswer, Player, Room

RECENTLY = dt.timedelta(minutes=15)


@dataclass(frozen=True)
class Health:
    """`degraded`: a critical event, or logs not delivered, in the last 15 minutes."""

    status: Literal["ok", "degraded"]
    checked_at: dt.datetime
    database: str
    database_ms: float
    critical_events: int
    undelivered_batches: int


@dataclass(frozen=True)
class Stats:
    """Counts of rooms and players now, and of what happened in the last 24 hours."""

    counted_at: dt.datetime
    rooms: dict[str, int]
    players_present: int
    matches_running: int
    matches_started: int
    answers_received: int
    events: dict[str, int]


def health(*, now: dt.datetime) -> Health:
    """Return the health of the game servers and of the database."""
    began = time.perf_counter()
    critical = _recent_critical(now).count()
    database_ms = round((time.perf_counter() - began) * 1000, 2)
    undelivered = ForwardingRecord.objects.filter(at__gt=now - RECENTLY, at__lte=now).exclude(
        state=ForwardingState.DELIVERED
    )
    batches = undelivered.count()
    return Health(
        status="degraded" if critical or batches else "ok",
        checked_at=now,
        database=connection.vendor,
        database_ms=database_ms,
        critical_events=critical,
        undelivered_batches=batches,
    )


def stats(*, now: dt.datetime) -> Stats:
    """Return the counts."""
    day = now - dt.timedelta(days=1)
    rooms = Room.objects.order_by("status").values_list("status").annotate(n=Count("id"))
    events = DiagnosticsEvent.objects.filter(at__gt=day, at__lte=now).order_by("severity")
    return Stats(
        counted_at=now,
        rooms={status: dict(rooms).get(status, 0) for status in RoomStatus.values},
        players_present=_present().count(),
        matches_running=Match.objects.filter(ended_at__isnull=True).count(),
        matches_started=Match.objects.filter(started_at__gt=day, started_at__lte=now).count(),
        answers_received=MatchAnswer.objects.filter(question__opened_at__gt=day).count(),
        events=dict(events.values_list("severity").annotate(n=Count("id"))),
    )


def _recent_critical(now: dt.datetime) -> QuerySet[DiagnosticsEvent]:
    return DiagnosticsEvent.objects.filter(
        severity=Severity.CRITICAL, at__gt=now - RECENTLY, at__lte=now
    )


def _present() -> QuerySet[Player]:
    return Player.objects.filter(
        left_at__isnull=True, room__status__in=[RoomStatus.LOBBY, RoomStatus.PLAYING]
    )
