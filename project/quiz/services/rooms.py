"""Finding rooms: the list, and one by its invite code."""

import datetime as dt
from dataclasses import dataclass

from django.db.models import Count

from project.quiz.choices import Difficulty, RoomStatus, Topic
from project.quiz.errors import Missing
from project.quiz.models import Player, Room


@dataclass(frozen=True)
class RoomRow:
    """A room in the list; `players` are those in it now."""

    invite_code: str
    name: str
    status: RoomStatus
    topic: Topic
    difficulty: Difficulty
    players: int
    max_players: int
    created_at: dt.datetime


@dataclass(frozen=True)
class RoomList:
    """One page of rooms, newest first; `total` counts the rooms on all pages."""

    total: int
    page: int
    pages: int
    limit: int
    rooms: list[RoomRow]


@dataclass(frozen=True)
class PlayerRow:
    """A player; `country` is an ISO 3166 code and `left_at` is empty while the player is there."""

    nickname: str
    country: str
    is_host: bool
    joined_at: dt.datetime
    left_at: dt.datetime | None


@dataclass(frozen=True)
class RoomDetail:
    """A room with everyone who has been in it."""

    room: RoomRow
    closed_at: dt.datetime | None
    closed_reason: str
    matches_played: int
    players: list[PlayerRow]


def list_rooms(status: RoomStatus | None, *, limit: int, page: int) -> RoomList:
    """Return the rooms of a page; a page after the last one is empty."""
    rooms = Room.objects.filter(status=status) if status else Room.objects.all()
    total = rooms.count()
    first = (page - 1) * limit
    chosen = list(rooms.order_by("-created_at", "-id")[first : first + limit])
    present = _present(chosen)
    return RoomList(
        total=total,
        page=page,
        pages=-(-total // limit),
        limit=limit,
        rooms=[_room_row(room, present.get(room.pk, 0)) for room in chosen],
    )


def find_room(invite_code: str) -> Room:
    """Return the room; case does not matter. Raises `Missing`."""
    code = invite_code.strip().upper()
    room = Room.objects.filter(invite_code=code).first()
    if room is None:
        raise Missing(f"There is no room with the invite code {code}.")
    return room


def room_detail(invite_code: str) -> RoomDetail:
    """Return one room. Raises `Missing`."""
    room = find_room(invite_code)
    players = list(room.players.all())
    present = sum(player.left_at is None for player in players)
    return RoomDetail(
        room=_room_row(room, present),
        closed_at=room.closed_at,
        closed_reason=room.closed_reason,
        matches_played=room.matches.filter(ended_at__isnull=False).count(),
        players=[_player_row(player) for player in players],
    )


def _present(rooms: list[Room]) -> dict[int, int]:
    players = Player.objects.filter(room__in=rooms, left_at__isnull=True).order_by("room_id")
    return dict(players.values_list("room_id").annotate(n=Count("id")))


def _room_row(room: Room, present: int) -> RoomRow:
    return RoomRow(
        invite_code=room.invite_code,
        name=room.name,
        status=RoomStatus(room.status),
        topic=Topic(room.topic),
        difficulty=Difficulty(room.difficulty),
        players=present,
        max_players=room.max_players,
        created_at=room.created_at,
    )


def _player_row(player: Player) -> PlayerRow:
    return PlayerRow(
        nickname=player.nickname,
        country=player.country,
        is_host=player.is_host,
        joined_at=player.joined_at,
        left_at=player.left_at,
    )
