"""Events of a handshake session's streams in the database, so that a client can come back.

`2025-11-25 basic/transports` Resumability and Redelivery. An event's id names its stream and its
place in it; nothing is found but by the session that it belongs to. Runs in a worker lane.
"""

import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.db import router, transaction
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from mcp_app.conf import settings
from mcp_app.models import Session, StreamEvent
from mcp_app.transports.bus import bus

_ID: Final = re.compile(r"([A-Za-z0-9_-]{22})\.([0-9]{1,9})")
_NAME: Final = 22
_NONCE: Final = 12
"""Characters of a stream's name, and how many of them are of chance alone."""
_SWEPT: Final = 500


def stored_topic(stream: str) -> str:
    """Where it is told that a stream has new events."""
    return f"stored:{stream}"


@dataclass(slots=True)
class StoredStream:
    """A stream that is being written."""

    session_id: str
    name: str = ""
    _number: int = 0

    def __post_init__(self) -> None:
        self.name = self.name or _new_name(self.session_id)

    @property
    def priming_id(self) -> str:
        """The id before the first event."""
        return f"{self.name}.0"

    @property
    def has_events(self) -> bool:
        """Whether it has told anything."""
        return self._number > 0

    def store(self, messages: Sequence[bytes], *, is_last: bool = False) -> list[str]:
        """Keep messages, in order; their event ids. A session that ended keeps nothing."""
        first = self._number + 1
        self._number += len(messages)
        ids = [f"{self.name}.{number}" for number in range(first, self._number + 1)]
        session = _rows(Session).filter(key=self.session_id, ended_at__isnull=True).first()
        if session is None:
            return ids
        _rows(StreamEvent).bulk_create(
            StreamEvent(
                session=session,
                stream=self.name,
                number=first + index,
                data=data.decode(),
                is_last=is_last and index == len(messages) - 1,
            )
            for index, data in enumerate(messages)
        )
        if first == 1:
            _sweep(session)
        bus.publish(stored_topic(self.name), {})
        return ids


@dataclass(frozen=True, slots=True)
class Position:
    """Where a client left off."""

    session_id: str
    stream: str
    number: int


class NotResumable(Exception):
    """An event id that was never given to this session, or is too old."""


def find_position(session_id: str, event_id: str) -> Position:
    """The place of an event id in this session's own streams.

    Raises:
        NotResumable: there is none.
    """
    match = _ID.fullmatch(event_id)
    if match is None:
        raise NotResumable
    stream, number = match[1], int(match[2])
    if number:
        kept = _rows(StreamEvent).filter(session__key=session_id, stream=stream, number=number)
        is_known = kept.exists()
    else:
        # The priming event itself is not stored: the stream's name proves it.
        is_known = constant_time_compare(_name(session_id, stream[:_NONCE]), stream)
    if not is_known:
        raise NotResumable
    return Position(session_id, stream, number)


def events_after(position: Position) -> list[tuple[int, bytes, bool]]:
    """The number, message and whether it is the last, of each later event that is kept."""
    rows = (
        _rows(StreamEvent)
        .filter(
            session__key=position.session_id, stream=position.stream, number__gt=position.number
        )
        .order_by("number")
    )
    return [
        (number, data.encode(), is_last)
        for number, data, is_last in rows.values_list("number", "data", "is_last")
    ]


def _new_name(session_id: str) -> str:
    return _name(session_id, secrets.token_urlsafe(_NONCE * 3 // 4))


def _name(session_id: str, nonce: str) -> str:
    """A stream's name, which nobody makes but this server, and for one session."""
    seal = salted_hmac("mcp_app.stream", f"{session_id}:{nonce}", algorithm="sha256").digest()
    return nonce + urlsafe_b64encode(seal).decode()[: _NAME - _NONCE]


def _sweep(session: Session) -> None:
    """Keep the store within its bounds of age and number, a chunk at a time."""
    oldest = timezone.now() - timedelta(seconds=settings.STREAM_EVENT_TTL)
    stale = _rows(StreamEvent).filter(created_at__lt=oldest).order_by("pk")
    surplus = _rows(StreamEvent).filter(session=session).order_by("-pk")
    bound = settings.STREAM_EVENTS
    for rows in (
        stale.values_list("pk", flat=True)[:_SWEPT],
        surplus.values_list("pk", flat=True)[bound : bound + _SWEPT],
    ):
        with transaction.atomic(using=rows.db):
            _rows(StreamEvent).filter(pk__in=list(rows)).delete()


def _rows(model: Any) -> Any:
    """All, from the database that is written to: a replica may not know of the last ones yet."""
    return model.objects.using(router.db_for_write(model))
