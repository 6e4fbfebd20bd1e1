"""The game state says nothing from which the answer to an open question follows."""

import dataclasses
import datetime as dt
import json
from collections.abc import Callable

import pytest
from django.core.serializers.json import DjangoJSONEncoder

from project.quiz.choices import MatchEventKind, MatchStatus
from project.quiz.errors import Missing
from project.quiz.models import Match, MatchAnswer, MatchEvent, Player, Room
from project.quiz.services.closing import close_room
from project.quiz.services.game_state import GameState, game_state
from project.quiz.services.match_diagnostics import match_diagnostics
from project.quiz.services.matches import match_timeline

pytestmark = pytest.mark.django_db


def as_text(state: object) -> str:
    return json.dumps(dataclasses.asdict(state), cls=DjangoJSONEncoder)  # type: ignore[call-overload]


def points_of(state: GameState) -> dict[str, int]:
    return {standing.nickname: standing.points for standing in state.leaderboard}


def test_an_open_question_shows_its_timers_but_not_its_words(
    open_game: Match, now: dt.datetime
) -> None:
    state = game_state("ROOM22", now=now)
    assert state.phase == "question_open"
    assert state.timers is not None
    assert (state.timers.question_number, state.timers.seconds_left) == (2, 15)
    for secret in ("Portugal", "Lisbon", "Madrid", "correct", "choice"):
        assert secret not in as_text(state)


def test_points_count_only_from_the_reveal_on(open_game: Match, now: dt.datetime) -> None:
    assert points_of(game_state("ROOM22", now=now)) == {"Ada": 171, "Bob": 0}
    open_game.questions.update(revealed_at=now)
    assert points_of(game_state("ROOM22", now=now)) == {"Ada": 171, "Bob": 171}


def test_the_state_is_the_same_whatever_was_answered(open_game: Match, now: dt.datetime) -> None:
    before = game_state("ROOM22", now=now)
    answers = MatchAnswer.objects.filter(question__revealed_at__isnull=True)
    answers.update(choice=1, correct=False, points=0, milliseconds=9_000)
    assert game_state("ROOM22", now=now) == before
    answers.delete()
    assert game_state("ROOM22", now=now) == before


def test_the_state_is_the_same_whichever_option_is_right(
    open_game: Match, now: dt.datetime
) -> None:
    before = game_state("ROOM22", now=now)
    open_game.questions.filter(revealed_at__isnull=True).update(correct_index=0)
    assert game_state("ROOM22", now=now) == before


def test_a_late_question_stays_secret_until_it_is_revealed(
    open_game: Match, now: dt.datetime
) -> None:
    state = game_state("ROOM22", now=now + dt.timedelta(hours=1))
    assert state.phase == "question_open"
    assert state.timers is not None
    assert (state.timers.seconds_left, state.timers.revealed) == (0, False)
    assert points_of(state)["Bob"] == 0


def test_closing_the_room_does_not_reveal_the_question(open_game: Match, now: dt.datetime) -> None:
    close_room("ROOM22", "Broken", now=now)
    state = game_state("ROOM22", now=now)
    assert state.phase == "ended"
    assert points_of(state)["Bob"] == 0
    assert state.members == []


def test_between_two_questions_the_state_says_so(open_game: Match, now: dt.datetime) -> None:
    open_game.questions.update(revealed_at=now)
    state = game_state("ROOM22", now=now)
    assert (state.phase, state.revealed_questions) == ("between_questions", 2)


def test_equal_points_share_a_rank(open_game: Match, now: dt.datetime) -> None:
    last = Player.objects.create(room=open_game.room, nickname="Cy", country="FR")
    for question in open_game.questions.filter(revealed_at__isnull=False):
        MatchAnswer.objects.create(
            question=question, player=last, choice=1, correct=False, points=0, milliseconds=1_000
        )
    ranks = [(s.rank, s.nickname) for s in game_state("ROOM22", now=now).leaderboard]
    assert ranks == [(1, "Ada"), (2, "Bob"), (2, "Cy")]


def test_a_room_without_a_match_has_an_empty_state(
    make_room: Callable[..., Room], now: dt.datetime
) -> None:
    make_room("EMPTY2")
    state = game_state("empty2", now=now)
    assert (state.phase, state.timers, state.leaderboard) == ("no_match", None, [])


def test_a_missing_room_is_missing(db: None, now: dt.datetime) -> None:
    with pytest.raises(Missing, match="NOSUCH"):
        game_state("nosuch", now=now)


def test_the_timeline_withholds_the_data_of_the_open_question(
    open_game: Match, now: dt.datetime
) -> None:
    for number in (1, 2):
        MatchEvent.objects.create(
            match=open_game,
            at=now,
            kind=MatchEventKind.ANSWER_RECEIVED,
            question_number=number,
            nickname="Bob",
            data={"correct": number == 2, "points": 171},
        )
    revealed, still_open = match_timeline(open_game.id).events
    assert (revealed.withheld, revealed.data["correct"]) == (False, False)
    assert (still_open.withheld, still_open.data) == (True, {})


def test_diagnostics_measure_revealed_questions_only(open_game: Match, now: dt.datetime) -> None:
    MatchAnswer.objects.filter(question__number=2).update(milliseconds=19_000)
    summary = match_diagnostics(open_game.id, now=now).summary
    assert (summary.answers, summary.average_answer_ms) == (2, 3_000)
    assert open_game.status == MatchStatus.RUNNING
