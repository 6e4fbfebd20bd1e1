"""What the door decided about one request: its revision, its client, and its dialect.

Behind the door the eras differ only in the `Dialect` object that a route carries.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from mcp_app.protocol.errors import ProtocolError
from mcp_app.protocol.messages import Request, RequestId
from mcp_app.protocol.versions import ProtocolVersion


@dataclass(frozen=True, slots=True)
class Client:
    """What a client says of itself; for display and logs, never for decisions."""

    name: str = ""
    version: str = ""

    @classmethod
    def from_value(cls, value: Any) -> "Client":
        """From an `Implementation` object; whatever is not text is left out."""
        if not isinstance(value, Mapping):
            return cls()
        name, version = value.get("name"), value.get("version")
        return cls(
            name if isinstance(name, str) else "", version if isinstance(version, str) else ""
        )


@dataclass(frozen=True, slots=True)
class Caching:
    """How long a result stays fresh, in milliseconds, and whether callers may share it."""

    ttl_ms: int
    scope: str


class Dialect(Protocol):
    """How one era words its answers and what it asks of headers."""

    @property
    def cancels_on_disconnect(self) -> bool:
        """Whether a closed connection means that the request is cancelled."""
        ...

    def complete(
        self, result: Mapping[str, Any], server_info: Mapping[str, Any], caching: Caching | None
    ) -> dict[str, Any]:
        """A finished result."""
        ...

    def failure(self, request_id: RequestId | None, error: ProtocolError) -> dict[str, Any]:
        """An error response."""
        ...

    def status(self, error: ProtocolError) -> int:
        """The HTTP status of an error response."""
        ...

    def undeclared(self, capabilities: Mapping[str, Any]) -> ProtocolError:
        """What to say of client capabilities that a request needs and the client has not."""
        ...

    def check_name(self, request: Request, headers: Mapping[str, str]) -> None:
        """Raise HeaderMismatch where the body's name must be mirrored and is not."""
        ...

    def check_parameter(self, header_name: str, value: Any, headers: Mapping[str, str]) -> None:
        """Raise HeaderMismatch where an argument must be mirrored and is not."""
        ...


@dataclass(frozen=True, slots=True)
class Route:
    """One request's way through: decided once, read everywhere."""

    version: ProtocolVersion
    dialect: Dialect
    client: Client = field(default_factory=Client)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    """What the client declared that it can do."""
    log_level: str | None = None
    """The least severe level that the client wants to hear of; None for silence."""
    progress_token: RequestId | None = None
