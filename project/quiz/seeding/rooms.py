"""Example rooms and players."""

import datetime as dt
from collections.abc import Iterator
from itertools import count
from random import Random

from project.quiz.choices import Difficulty, RoomStatus, Topic
from project.quiz.countries import COUNTRIES
from project.quiz.models import Player, Room
from project.quiz.randomness import seeded

# The first room of a status has a code that a person can remember.
PLAN = (
    (RoomStatus.PLAYING, 8, "PLAY42"),
    (RoomStatus.LOBBY, 10, "LOBBY7"),
    (RoomStatus.FINISHED, 40, "DONE99"),
    (RoomStatus.CLOSED, 6, "SHUT55"),
)

# Without the letters and digits that are easily taken for each other.
_CODE_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
_ADJECTIVES = ("Amber", "Bold", "Brisk", "Calm", "Clever", "Keen", "Lucky", "Quiet", "Swift")
_ANIMALS = ("Badger", "Crane", "Falcon", "Fox", "Heron", "Lynx", "Otter", "Owl", "Raven")
_EVENINGS = ("Friday night", "Family", "Office", "Geography club", "Night owls", "Pub", "School")
_WEEK_MINUTES = 7 * 24 * 60


def seed_rooms(now: dt.datetime) -> list[Room]:
    """Create the rooms with their players and return them, oldest first."""
    rng = seeded("seed", "rooms")
    rooms = sorted(_rooms(now, rng), key=lambda room: room.created_at)
    Room.objects.bulk_create(rooms)
    players = [player for room in rooms for player in _players(room, now, rng)]
    Player.objects.bulk_create(players, batch_size=500)
    return rooms


def _rooms(now: dt.datetime, rng: Random) -> Iterator[Room]:
    number = count(1)
    for status, how_many, first_code in PLAN:
        for index in range(how_many):
            created_at = now - _age(status, rng)
            closed = status is RoomStatus.CLOSED
            yield Room(
                invite_code=first_code if index == 0 else "".join(rng.choices(_CODE_LETTERS, k=6)),
                name=f"{rng.choice(_EVENINGS)} quiz {next(number)}",
                status=status,
                topic=rng.choice(Topic.values),
                difficulty=rng.choice(Difficulty.values),
                max_players=rng.choice((6, 8, 10)),
                created_at=created_at,
                closed_at=created_at + dt.timedelta(minutes=40) if closed else None,
                closed_reason="Reported for abusive nicknames" if closed else "",
            )


def _age(status: RoomStatus, rng: Random) -> dt.timedelta:
    # An open room is young; one that is over was created at any time of the week.
    minutes = (20, 55) if status in (RoomStatus.PLAYING, RoomStatus.LOBBY) else (90, _WEEK_MINUTES)
    return dt.timedelta(minutes=rng.randrange(*minutes), seconds=rng.randrange(60))


def _players(room: Room, now: dt.datetime, rng: Random) -> Iterator[Player]:
    names = [f"{adjective} {animal}" for adjective in _ADJECTIVES for animal in _ANIMALS]
    over = room.status in (RoomStatus.FINISHED, RoomStatus.CLOSED)
    for index, nickname in enumerate(rng.sample(names, rng.randrange(3, 7))):
        left_early = index > 1 and rng.random() < 0.1
        stay = dt.timedelta(minutes=40) if over else now - room.created_at
        yield Player(
            room=room,
            nickname=nickname,
            country=rng.choice(COUNTRIES).code,
            is_host=index == 0,
            joined_at=room.created_at + dt.timedelta(seconds=10 * index),
            left_at=room.created_at + stay if over or left_early else None,
        )
