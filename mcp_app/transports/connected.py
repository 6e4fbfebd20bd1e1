"""Who is connected to which process now, and the end of a stream or a session, wherever it is."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from mcp_app.audit.keys import secret_keys
from mcp_app.audit.text import printable, redact_text
from mcp_app.models import Session
from mcp_app.transports.bus import bus
from mcp_app.transports.inquiry import Said, inquire, process_name, respond_to
from mcp_app.transports.postbox import session_topic
from mcp_app.transports.watch import OpenStream, watch

CONNECTED_TOPIC: Final = "streams.connected"
"""Where it is asked which streams are open."""
END_TOPIC: Final = "streams.end"
"""Where it is asked that one of them ends."""

PATIENCE: Final = 0.7
"""Seconds that processes have to say who is connected: nobody knows how many there are."""
END_PATIENCE: Final = 2.0
"""Seconds that the one process has which is asked to end a stream."""

MOST: Final = 200
"""Streams that one process tells of; it counts the others."""

_LONGEST: Final = 200
_begun_at: Final = time.time()


@dataclass(frozen=True, slots=True)
class Process:
    """What one process says.

    Attributes:
        begun_at: seconds since the epoch.
        counts: how many streams it has open, by kind.
        streams: the newest of them.
    """

    name: str
    begun_at: float
    counts: Mapping[str, int] = field(default_factory=dict)
    streams: Sequence[Mapping[str, Any]] = ()

    @property
    def total(self) -> int:
        """How many streams it has open."""
        return sum(self.counts.values())


def connected() -> list[Process]:
    """The processes that answer, by name. Not on an event loop."""
    said = inquire(CONNECTED_TOPIC, {}, seconds=PATIENCE)
    found = [
        Process(each["process"], each["begun_at"], each["counts"], each["streams"]) for each in said
    ]
    return sorted(found, key=lambda process: process.name)


def end_stream(process: str, name: str) -> Mapping[str, Any] | None:
    """Close a stream; what it was, None where no process has it. Not on an event loop."""
    question = {"name": name, "at": process}
    found = inquire(END_TOPIC, question, seconds=END_PATIENCE, enough=1)
    return found[0]["stream"] if found else None


def end_session(session: Session) -> bool:
    """End a session as its client's DELETE would; False where it has ended already.

    Its streams close once that is committed.
    """
    live = Session.objects.filter(pk=session.pk, ended_at__isnull=True)
    if not live.update(ended_at=timezone.now()):
        return False
    told = partial(bus.publish, session_topic(session.key), {"ended": True})
    transaction.on_commit(told, using=live.db, robust=True)
    return True


def connect() -> None:
    """Answer for the streams of this process."""
    respond_to(CONNECTED_TOPIC, _tell)
    respond_to(END_TOPIC, _end)


def _tell(_: Said) -> Said:
    streams = sorted(watch.streams, key=lambda stream: -stream.about.opened_at)
    return {
        "begun_at": _begun_at,
        "counts": dict(Counter(stream.about.kind.value for stream in streams)),
        "streams": [_told(stream) for stream in streams[:MOST]],
    }


def _end(question: Said) -> Said | None:
    if question["at"] != process_name():
        return None
    found = [stream for stream in watch.streams if stream.about.name == question["name"]]
    for stream in found:
        stream.end()
    return {"stream": _told(found[0])} if found else None


def _told(stream: OpenStream) -> dict[str, Any]:
    """One stream, without what a client should not have written into its own name."""
    about, credential = stream.about, stream.credential
    return {
        "name": about.name,
        "kind": about.kind.value,
        "client": _line(about.client),
        "version": about.version,
        "tool": _line(about.tool),
        "opened_at": about.opened_at,
        "user": None if credential.user_id is None else str(credential.user_id),
        "token": credential.token_id,
        "session": credential.session_id,
    }


def _line(text: str) -> str:
    return printable(redact_text(text, secret_keys(), limit=_LONGEST, marker=False))
