"""What a tool may know and do while it runs: the caller, the request, progress, cancellation."""

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mcp_app.catalog.definition import ContextBase
from mcp_app.catalog.encoding import encode
from mcp_app.dispatch.interfaces import SessionState
from mcp_app.protocol import messages
from mcp_app.protocol.envelope import LOG_LEVELS
from mcp_app.protocol.route import Route


class Cancelled(Exception):
    """The caller gave the request up. Let it pass: the transaction rolls back."""


class TimeLimitReached(Exception):
    """The tool ran longer than its `timeout`."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. One object a request.

    Attributes:
        user: the Django user, or AnonymousUser.
        auth: the token, or what another DRF authentication class returned; None without one.
        scopes: what the token carries; None where no token narrows the user.
        source: how the caller was recognised: "token", "anonymous", "command", or the name of
            the authentication class.
        token_lookup: the public part of the secret that was used.
        address: the client's address as the configured number of proxies tells it.
    """

    user: Any
    auth: Any = None
    scopes: frozenset[str] | None = None
    source: str = "anonymous"
    token_lookup: str = ""
    address: str = ""

    def lacks(self, scopes: tuple[str, ...]) -> tuple[str, ...]:
        """Those of `scopes` that the token does not carry."""
        if self.scopes is None:
            return ()
        return tuple(scope for scope in scopes if scope not in self.scopes)


class Outlet(Protocol):
    """Where a running call's notifications go. Called from any thread; never blocks."""

    def emit(self, message: Mapping[str, Any]) -> None:
        """Hand over one JSON-RPC notification."""
        ...


class Silence:
    """An outlet for answers that cannot stream: what is emitted is dropped."""

    def emit(self, message: Mapping[str, Any]) -> None:
        """Drop it."""


class Cancellation:
    """A flag that the transport raises and the tool's thread reads."""

    __slots__ = ("_event", "deadline")

    def __init__(self) -> None:
        self._event = threading.Event()
        self.deadline: float | None = None
        """On the monotonic clock, in seconds."""

    def cancel(self) -> None:
        """Ask the call to stop."""
        self._event.set()

    @property
    def requested(self) -> bool:
        """Whether the caller gave up."""
        return self._event.is_set()

    @property
    def overdue(self) -> bool:
        """Whether the time limit has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def check(self) -> None:
        """Raise Cancelled or TimeLimitReached where the call should stop."""
        if self.requested:
            raise Cancelled
        if self.overdue:
            raise TimeLimitReached


class Context(ContextBase):
    """Given to a tool that annotates a parameter with it; absent from the tool's schema.

    The same object serves sync and async tools: no method here blocks or is awaited.
    """

    def __init__(
        self,
        *,
        caller: Caller,
        tool_name: str,
        route: Route,
        session: SessionState | None,
        request: Callable[[], Any],
        outlet: Outlet,
        cancellation: Cancellation,
        correlation_id: str,
    ) -> None:
        self.caller = caller
        self.tool_name = tool_name
        self.session = session
        self.correlation_id = correlation_id
        self._route = route
        self._request = request
        self._outlet = outlet
        self._cancellation = cancellation
        self._progress: float | None = None

    @property
    def user(self) -> Any:
        """The Django user that the call acts as."""
        return self.caller.user

    @property
    def token(self) -> Any:
        """The token of the call, or None."""
        return self.caller.auth

    @property
    def scopes(self) -> frozenset[str] | None:
        """What the token carries; None where no token narrows the user."""
        return self.caller.scopes

    @property
    def request(self) -> Any:
        """The DRF request that the permission classes saw; its `_request` is Django's."""
        return self._request()

    @property
    def protocol_version(self) -> str:
        """The revision in use, such as `2026-07-28`."""
        return self._route.version.name

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        """What the client declared that it can do."""
        return self._route.capabilities

    def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the client how far the call is (`2026-07-28 basic/patterns/progress`).

        Sent only where the client asked for it, and only while `progress` increases: a value that
        is not above the last one, or not finite, is dropped, as the specification wants.
        """
        token = self._route.progress_token
        if token is None or not self._advances(progress):
            return
        self._progress = progress
        params: dict[str, Any] = {"progressToken": token, "progress": progress}
        if total is not None and math.isfinite(total):
            params["total"] = total
        if message is not None and self._route.version.progress_messages:
            params["message"] = message
        self._outlet.emit(messages.notification("notifications/progress", params))

    def _advances(self, progress: float) -> bool:
        known = self._progress
        return math.isfinite(progress) and (known is None or progress > known)

    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send the client a log message, if it asked for that level.

        Args:
            level: one of RFC 5424's severities, from "debug" to "emergency".
            data: anything that a tool's result may hold.
            logger: a name for where it comes from.

        Raises:
            ValueError: no such level.
            Unencodable: something in `data` has no JSON form.
        """
        data = encode(data)
        severity = LOG_LEVELS.index(level)
        threshold = self._route.log_level
        if threshold is None or severity < LOG_LEVELS.index(threshold):
            return
        params: dict[str, Any] = {"level": level, "data": data}
        if logger is not None:
            params["logger"] = logger
        self._outlet.emit(messages.notification("notifications/message", params))

    @property
    def cancelled(self) -> bool:
        """Whether the caller gave up, or the time limit passed."""
        return self._cancellation.requested or self._cancellation.overdue

    def check_cancelled(self) -> None:
        """Stop here if nobody waits any more.

        Raises:
            Cancelled: let it pass, so that the transaction rolls back.
            TimeLimitReached: likewise.
        """
        self._cancellation.check()
