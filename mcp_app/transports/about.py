"""What an administrator is told of an open stream, in as few bytes as it takes to remember."""

import secrets
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from mcp_app.dispatch.services import Inbound

_LONGEST: Final = 200
"""Characters that are kept of what a client says of itself."""


class StreamKind(StrEnum):
    """What a stream is for."""

    LISTEN = "listen"
    """A subscription of 2026-07-28."""
    SESSION = "session"
    """A handshake session's own stream."""
    CALL = "call"
    """The answer of a call that tells something before its end."""
    REPLAY = "replay"
    """The rest of a stream that broke off."""


@dataclass(frozen=True, slots=True)
class About:
    """One stream.

    Attributes:
        name: by which its process finds it.
        opened_at: seconds since the epoch.
    """

    kind: StreamKind
    client: str = ""
    version: str = ""
    tool: str = ""
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    opened_at: float = field(default_factory=time.time)

    @classmethod
    def of(cls, kind: StreamKind, inbound: Inbound | None) -> "About":
        """That of the request which opened it, where it is known."""
        if inbound is None:
            return cls(kind)
        client, version = inbound.route.client, inbound.route.version
        said = f"{client.name[:_LONGEST]} {client.version[:_LONGEST]}".strip()[:_LONGEST]
        return cls(kind, said, version.name, inbound.record.tool[:_LONGEST])
