"""The state of a room's game, without anything from which an open answer follows.

While a question is open, neither its text nor its options are told (whoever reads them may know
the answer, and the round generators would confirm it), nor who chose what, nor how many chose
which, and its points count only from the reveal on. A question stays open until it is revealed,
however late.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Literal

from django.db.models import QuerySet, Sum

from project.quiz.choices import MatchStatus, RoomStatus
from project.quiz.models import Match, MatchAnswer, MatchQuestion, Room
from project.quiz.services.rooms import find_room

Phase = Literal["no_match", "question_open", "between_questions", "ended"]


@dataclass(frozen=True)
class Timers:
    """When the latest question was opened and closes; `seconds_left` is 0 once it is late."""

    question_number: int
    opened_at: dt.datetime
    closes_at: dt.datetime
    seconds_left: int
    revealed: bool


@dataclass(frozen=True)
class Standing:
    """A place on the leaderboard; equal points share a rank. Revealed questions only."""

    rank: int
    nickname: str
    points: int


@dataclass(frozen=True)
class Member:
    """Someone in the room now."""

    nickname: str
    country: str
    is_host: bool


@dataclass(frozen=True)
class GameState:
    """A room's latest match, as a spectator may see it."""

    invite_code: str
    status: RoomStatus
    phase: Phase
    question_count: int
    revealed_questions: int
    timers: Timers | None
    leaderboard: list[Standing]
    members: list[Member]


def game_state(invite_code: str, *, now: dt.datetime) -> GameState:
    """Return the state of the room's latest match. Raises `Missing`."""
    room = find_room(invite_code)
    match = room.matches.order_by("-started_at", "-id").first()
    question = match.questions.order_by("-number").first() if match else None
    return GameState(
        invite_code=room.invite_code,
        status=RoomStatus(room.status),
        phase=_phase(match, question),
        question_count=match.question_count if match else 0,
        revealed_questions=_revealed(match).count() if match else 0,
        timers=_timers(question, now) if question else None,
        leaderboard=_leaderboard(match) if match else [],
        members=_members(room),
    )


def _phase(match: Match | None, question: MatchQuestion | None) -> Phase:
    if match is None:
        return "no_match"
    if match.status != MatchStatus.RUNNING:
        return "ended"
    return "question_open" if question and question.revealed_at is None else "between_questions"


def _revealed(match: Match) -> QuerySet[MatchQuestion]:
    return match.questions.filter(revealed_at__isnull=False)


def _timers(question: MatchQuestion, now: dt.datetime) -> Timers:
    left = (question.closes_at - now).total_seconds()
    revealed = question.revealed_at is not None
    return Timers(
        question_number=question.number,
        opened_at=question.opened_at,
        closes_at=question.closes_at,
        seconds_left=0 if revealed else max(0, int(left)),
        revealed=revealed,
    )


def _leaderboard(match: Match) -> list[Standing]:
    totals = (
        MatchAnswer.objects.filter(question__in=_revealed(match))
        .values_list("player__nickname")
        .annotate(total=Sum("points"))
        .order_by("-total", "player__nickname")
    )
    rows = list(totals)
    rank = {total: place for place, (_, total) in reversed(list(enumerate(rows, start=1)))}
    return [Standing(rank[total], nickname, total) for nickname, total in rows]


def _members(room: Room) -> list[Member]:
    present = room.players.filter(left_at__isnull=True)
    return [Member(player.nickname, player.country, player.is_host) for player in present]
