"""Closing a room from the back office."""

import datetime as dt
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from project.quiz.choices import MatchEventKind, MatchStatus, RoomStatus, Severity
from project.quiz.errors import Refused
from project.quiz.models import MatchEvent, Room
from project.quiz.services.rooms import find_room


@dataclass(frozen=True)
class ClosedRoom:
    """What closing did: players sent out, and the match it cut short, if one was running."""

    invite_code: str
    closed_at: dt.datetime
    reason: str
    players_removed: int
    match_aborted: UUID | None


@transaction.atomic
def close_room(invite_code: str, reason: str, *, now: dt.datetime) -> ClosedRoom:
    """Close the room, abort its match and send its players out.

    Raises `Missing`, and `Refused` where the room is closed already.
    """
    room = Room.objects.select_for_update().get(pk=find_room(invite_code).pk)
    if room.status == RoomStatus.CLOSED:
        raise Refused(f"Room {room.invite_code} is closed already.")
    room.status = RoomStatus.CLOSED
    room.closed_at = now
    room.closed_reason = reason
    room.save(update_fields=["status", "closed_at", "closed_reason"])
    return ClosedRoom(
        invite_code=room.invite_code,
        closed_at=now,
        reason=reason,
        players_removed=room.players.filter(left_at__isnull=True).update(left_at=now),
        match_aborted=_abort_match(room, reason, now),
    )


def _abort_match(room: Room, reason: str, now: dt.datetime) -> UUID | None:
    match = room.matches.filter(status=MatchStatus.RUNNING).first()
    if match is None:
        return None
    match.status = MatchStatus.ABORTED
    match.ended_at = now
    match.save(update_fields=["status", "ended_at"])
    MatchEvent.objects.create(
        match=match,
        at=now,
        kind=MatchEventKind.ABORTED,
        severity=Severity.WARNING,
        data={"reason": reason},
    )
    return match.id
