"""What dispatch asks of the layers above it: a recorder of call events and a store of sessions.

Knows the values that pass between them. Knows neither Django nor how anything is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol

from mcp_app.catalog.disclosure import NOTHING, Disclosure

if TYPE_CHECKING:
    from mcp_app.dispatch.context import Caller
    from mcp_app.dispatch.receipts import Receipt


WITHDRAWN: Final = "The call was permitted when it was asked about, and is not any more."
"""The error text of a call that a gate lets in no more once its user has agreed to it."""
PERMISSION_DENIED: Final = "PermissionDenied"
"""The error class where that gate was a permission class."""
NOT_PERMITTED: Final = "permission classes refused"
"""How the error text of a call begins that they did not let in; then come a colon and the class."""
WHILE_ASKED: Final = "while the user was asked whether it may run"
"""The error text of a call that its client cancelled meanwhile."""


class Decision(StrEnum):
    """What the access checks said; empty on a record whose request never reached them."""

    ALLOW = "allow"
    DENY = "deny"
    CONFIRM = "confirm"


class Outcome(StrEnum):
    """How a call ended, or that it runs."""

    STARTED = "started"
    WAITING = "waiting"
    """A person is asked on the call's stream whether it may run; nothing has run so far."""
    OK = "ok"
    ERROR = "error"
    """The tool said no: `isError` in its result."""
    DENIED = "denied"
    REFUSED = "refused"
    """Badly formed: unparsable, header and body disagree, wrong params."""
    UNKNOWN = "unknown"
    """No such tool or method."""
    INVALID = "invalid"
    """The tool's arguments did not validate."""
    UNAUTHENTICATED = "unauthenticated"
    THROTTLED = "throttled"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    ASKED = "asked"
    """The client was asked for input, and is to call again."""
    FAILED = "failed"
    """An exception nobody expected."""


@dataclass(slots=True, kw_only=True, eq=False)
class CallRecord:
    """What one call event says; filled in while the call runs.

    Texts may be of any length and content, as the caller sent them: the recorder trims, cleans
    and redacts. A recorder reads the record when it is submitted, so it may be changed afterwards
    and submitted again.
    """

    started_at: float
    """Seconds since the epoch."""
    duration: float | None = None
    """Seconds; None while the call runs."""
    method: str = ""
    tool: str = ""
    source: str = ""
    """How the caller was authenticated: "token", "session", "command"; empty for nobody."""
    transport: str = ""
    """"http", "asgi" or "command"."""
    decision: str = ""
    outcome: str = Outcome.STARTED
    error_class: str = ""
    error_text: str = ""
    correlation_id: str = ""
    """32 hexadecimal digits, also told to the caller when a call fails."""
    arguments: Mapping[str, Any] | None = None
    """As the caller sent them; only the recorder's redacted copy is ever stored."""
    disclosure: Disclosure = NOTHING
    """Which of the arguments may be stored with their values."""
    audit: str = ""
    """How much is stored of the arguments; empty for the project's `AUDIT_ARGUMENTS`."""
    result_bytes: int | None = None
    protocol_version: str = ""
    client_name: str = ""
    client_version: str = ""
    address: str | None = None
    request_id: str | int | float | None = None
    session_id: str = ""
    user: Any = None
    token: Any = None
    """The `Token` row, or another authentication object, or None."""
    token_lookup: str = ""
    pk: int | None = None
    """Set by the recorder once a row is stored, so that what comes after updates that row."""


class Recorder(Protocol):
    """Stores call events."""

    def submit(self, record: CallRecord) -> Receipt:
        """Hand over `record` as it stands; never raises.

        The receipt is settled when the event is committed (True), or was lost and logged (False).
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """What the handshake agreed on (`2025-11-25 basic/lifecycle`)."""

    session_id: str
    version: str
    client_name: str = ""
    client_version: str = ""
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    log_level: str = ""
    """What `logging/setLevel` asked for; empty until it did."""
    subscriptions: tuple[str, ...] = ()
    """The resources whose updates the session wants to hear of."""
    roots: tuple[Mapping[str, Any], ...] | None = None
    """What the client last said of its roots; None where it has not, or they have changed."""


class SessionStore(Protocol):
    """Keeps legacy sessions, each bound to the credential that opened it."""

    def create(
        self,
        caller: Caller,
        version: str,
        client: Mapping[str, Any],
        capabilities: Mapping[str, Any],
    ) -> SessionState:
        """Open a session; `client` is the `clientInfo` object as sent."""
        ...

    def find(self, session_id: str, caller: Caller) -> SessionState | None:
        """The live session of that name, None when it is unknown, ended, expired or another's."""
        ...

    def end(self, session_id: str, caller: Caller) -> bool:
        """End the session; False when `find` would not have found it."""
        ...

    def update(self, session_id: str, **changes: Any) -> None:
        """Remember `log_level`, `subscriptions` or `roots` of a session that was found before."""
        ...
