"""Announcing something to players, a batch at a time."""

import datetime as dt
from collections.abc import Iterator

from django.db import transaction
from django.db.models import F

from project.quiz.choices import RoomStatus
from project.quiz.errors import Refused
from project.quiz.models import Announcement, Notice, Player
from project.quiz.services.rooms import find_room

BATCH = 25


def create_announcement(
    message: str, invite_code: str | None, *, author_id: int | None, now: dt.datetime
) -> Announcement:
    """Store the announcement; nobody has it yet.

    Raises `Missing` where the room is, and `Refused` where it is over.
    """
    room = find_room(invite_code) if invite_code else None
    if room and room.status not in (RoomStatus.LOBBY, RoomStatus.PLAYING):
        raise Refused(f"Room {room.invite_code} is over; nobody is there to read this.")
    return Announcement.objects.create(
        room=room, message=message, created_by_id=author_id, created_at=now
    )


def audience(announcement: Announcement) -> list[int]:
    """Return the ids of the players present in the announcement's room, or in every open room."""
    players = Player.objects.filter(left_at__isnull=True)
    if announcement.room_id:
        players = players.filter(room_id=announcement.room_id)
    else:
        players = players.filter(room__status__in=[RoomStatus.LOBBY, RoomStatus.PLAYING])
    return list(players.order_by("id").values_list("id", flat=True))


def deliver(announcement: Announcement, player_ids: list[int]) -> Iterator[int]:
    """Put the announcement into inboxes, yielding after each batch how many players have it.

    Each batch is one transaction, so `reached` is right wherever delivery stops.
    """
    for first in range(0, len(player_ids), BATCH):
        batch = player_ids[first : first + BATCH]
        with transaction.atomic():
            Notice.objects.bulk_create(
                Notice(announcement=announcement, player_id=player_id) for player_id in batch
            )
            Announcement.objects.filter(pk=announcement.pk).update(
                reached=F("reached") + len(batch)
            )
        yield first + len(batch)
