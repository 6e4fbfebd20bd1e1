"""Matches: the recent ones, and the timeline of one."""

import datetime as dt
from dataclasses import dataclass
from uuid import UUID

from project.quiz.choices import Difficulty, MatchEventKind, MatchStatus, Severity, Topic
from project.quiz.cursors import Keyset
from project.quiz.errors import Missing
from project.quiz.models import Match, MatchEvent
from project.quiz.retention import window

MATCHES = Keyset(name="matches", moment="started_at")
TIMELINE_LIMIT = 500

Facts = dict[str, str | int | float | bool | None]


@dataclass(frozen=True)
class MatchRow:
    """A match; `winner` is empty where there is none."""

    match_id: UUID
    invite_code: str
    status: MatchStatus
    topic: Topic
    difficulty: Difficulty
    players: int
    questions: int
    winner: str
    started_at: dt.datetime
    ended_at: dt.datetime | None


@dataclass(frozen=True)
class RecentMatches:
    """Matches that started at `since` or later, newest first."""

    since: dt.datetime
    since_clamped: bool
    matches: list[MatchRow]
    next_cursor: str | None


@dataclass(frozen=True)
class TimelineEntry:
    """What happened; `withheld` says that the data belong to a question still open."""

    at: dt.datetime
    kind: MatchEventKind
    severity: Severity
    question_number: int | None
    nickname: str
    data: Facts
    withheld: bool


@dataclass(frozen=True)
class MatchTimeline:
    """A match's events, oldest first; `truncated` says that there are more than are listed."""

    match: MatchRow
    events: list[TimelineEntry]
    truncated: bool


def recent_matches(
    since: dt.datetime | None, *, limit: int, cursor: str | None, now: dt.datetime
) -> RecentMatches:
    """Return a page of matches. Raises `Refused` for a bad cursor."""
    period = window(since, None, now=now)
    matches = Match.objects.select_related("room").filter(
        started_at__gte=period.since, started_at__lte=period.until
    )
    page = MATCHES.page(matches, limit=limit, cursor=cursor)
    return RecentMatches(
        since=period.since,
        since_clamped=period.since_clamped,
        matches=[match_row(match) for match in page.rows],
        next_cursor=page.next_cursor,
    )


def match_timeline(match_id: UUID) -> MatchTimeline:
    """Return the match's timeline. Raises `Missing`."""
    match = find_match(match_id)
    revealed = set(
        match.questions.filter(revealed_at__isnull=False).values_list("number", flat=True)
    )
    events = list(match.events.order_by("at", "id")[: TIMELINE_LIMIT + 1])
    return MatchTimeline(
        match=match_row(match),
        events=[_entry(event, revealed) for event in events[:TIMELINE_LIMIT]],
        truncated=len(events) > TIMELINE_LIMIT,
    )


def find_match(match_id: UUID) -> Match:
    """Return the match with its room. Raises `Missing`."""
    match = Match.objects.select_related("room").filter(pk=match_id).first()
    if match is None:
        raise Missing(f"There is no match {match_id}.")
    return match


def match_row(match: Match) -> MatchRow:
    """Return what lists and details say of a match."""
    return MatchRow(
        match_id=match.id,
        invite_code=match.room.invite_code,
        status=MatchStatus(match.status),
        topic=Topic(match.topic),
        difficulty=Difficulty(match.difficulty),
        players=match.player_count,
        questions=match.question_count,
        winner=match.winner,
        started_at=match.started_at,
        ended_at=match.ended_at,
    )


def _entry(event: MatchEvent, revealed: set[int]) -> TimelineEntry:
    # An answer's points say whether it was right, and so the answer, until the reveal.
    withheld = event.question_number is not None and event.question_number not in revealed
    return TimelineEntry(
        at=event.at,
        kind=MatchEventKind(event.kind),
        severity=Severity(event.severity),
        question_number=event.question_number,
        nickname=event.nickname,
        data={} if withheld else event.data,
        withheld=withheld,
    )
