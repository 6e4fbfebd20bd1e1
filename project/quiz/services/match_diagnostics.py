"""How well one match ran: a summary, and what the servers reported of it."""

import datetime as dt
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Avg, Count

from project.quiz.choices import MatchEventKind
from project.quiz.models import Match, MatchAnswer
from project.quiz.services.incidents import Incident, incident
from project.quiz.services.matches import MatchRow, find_match, match_row

EVENT_LIMIT = 200


@dataclass(frozen=True)
class DiagnosticsSummary:
    """Counts of a match's events; times in milliseconds, over revealed questions only."""

    duration_seconds: int
    events: dict[str, int]
    answers: int
    average_answer_ms: int | None
    drops: int
    returns: int
    incidents: dict[str, int]


@dataclass(frozen=True)
class MatchDiagnostics:
    """A match, its summary, and the newest server events about it."""

    match: MatchRow
    summary: DiagnosticsSummary
    events: list[Incident]


def match_diagnostics(match_id: UUID, *, now: dt.datetime) -> MatchDiagnostics:
    """Return the diagnostics of a match. Raises `Missing`."""
    match = find_match(match_id)
    reported = match.diagnostics.order_by("-at", "-id")[:EVENT_LIMIT]
    return MatchDiagnostics(
        match=match_row(match),
        summary=_summary(match, now),
        events=[incident(event) for event in reported],
    )


def _summary(match: Match, now: dt.datetime) -> DiagnosticsSummary:
    kinds = dict(match.events.order_by("kind").values_list("kind").annotate(n=Count("id")))
    answered = MatchAnswer.objects.filter(
        question__match=match, question__revealed_at__isnull=False
    ).aggregate(n=Count("id"), average=Avg("milliseconds"))
    by_severity = match.diagnostics.order_by("severity").values_list("severity")
    return DiagnosticsSummary(
        duration_seconds=int(((match.ended_at or now) - match.started_at).total_seconds()),
        events=kinds,
        answers=answered["n"],
        average_answer_ms=None if answered["average"] is None else round(answered["average"]),
        drops=kinds.get(MatchEventKind.PLAYER_DROPPED.value, 0),
        returns=kinds.get(MatchEventKind.PLAYER_RETURNED.value, 0),
        incidents=dict(by_severity.annotate(n=Count("id"))),
    )
