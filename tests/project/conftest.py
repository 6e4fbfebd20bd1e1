"""What the tests of the quiz share: a moment, and small rows made by hand."""

import datetime as dt
from collections.abc import Callable

import pytest

from project.quiz.choices import Difficulty, MatchStatus, RoomStatus, Topic
from project.quiz.models import Match, MatchAnswer, MatchQuestion, Player, Room


@pytest.fixture
def now() -> dt.datetime:
    """A moment that the tests pass for the present one."""
    return dt.datetime(2026, 3, 14, 15, 9, 26, 535_897, tzinfo=dt.UTC)


@pytest.fixture
def make_room(db: None, now: dt.datetime) -> Callable[..., Room]:
    """Return a maker of rooms; keywords replace the model's values."""

    def make(invite_code: str = "ROOM22", **values: object) -> Room:
        usual: dict[str, object] = {
            "name": "Pub quiz",
            "status": RoomStatus.PLAYING,
            "topic": Topic.CAPITALS,
            "difficulty": Difficulty.EASY,
            "created_at": now - dt.timedelta(minutes=10),
        }
        return Room.objects.create(invite_code=invite_code, **(usual | values))

    return make


@pytest.fixture
def make_match(now: dt.datetime) -> Callable[..., Match]:
    """Return a maker of matches."""

    def make(room: Room, **values: object) -> Match:
        usual: dict[str, object] = {
            "status": MatchStatus.FINISHED,
            "topic": room.topic,
            "difficulty": room.difficulty,
            "question_count": 8,
            "player_count": 2,
            "started_at": now - dt.timedelta(minutes=5),
        }
        return Match.objects.create(room=room, **(usual | values))

    return make


@pytest.fixture
def open_game(
    make_room: Callable[..., Room], make_match: Callable[..., Match], now: dt.datetime
) -> Match:
    """A match with one question revealed and a second one open, both answered by both players."""
    room = make_room()
    match = make_match(room, status=MatchStatus.RUNNING, started_at=now - dt.timedelta(seconds=35))
    players = [
        Player.objects.create(room=room, nickname=name, country=country, is_host=name == "Ada")
        for name, country in (("Ada", "NO"), ("Bob", "JP"))
    ]
    for number, country, capital in ((1, "Italy", "Rome"), (2, "Portugal", "Lisbon")):
        opened_at = match.started_at + dt.timedelta(seconds=30 * (number - 1))
        question = MatchQuestion.objects.create(
            match=match,
            number=number,
            prompt=f"What is the capital of {country}?",
            options=["Oslo", "Madrid", capital, "Cairo"],
            correct_index=2,
            opened_at=opened_at,
            closes_at=opened_at + dt.timedelta(seconds=20),
            revealed_at=opened_at + dt.timedelta(seconds=20) if number == 1 else None,
        )
        for player, choice in zip(players, (2, 0) if number == 1 else (0, 2), strict=True):
            MatchAnswer.objects.create(
                question=question,
                player=player,
                choice=choice,
                correct=choice == 2,
                points=171 if choice == 2 else 0,
                milliseconds=3_000,
            )
    return match
