"""What dispatch needs from a deployment, as interfaces: who may do what, and what is configured."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from mcp_app.catalog.definition import Declaration
from mcp_app.catalog.registry import MCPServer
from mcp_app.dispatch.context import Caller, Cancellation, Outlet
from mcp_app.dispatch.hooks import BeforeCall
from mcp_app.dispatch.inputs import Inputs, StateSigner
from mcp_app.dispatch.interfaces import CallRecord, SessionState, SessionStore
from mcp_app.protocol.errors import SwitchedOff
from mcp_app.protocol.messages import Request
from mcp_app.protocol.route import Route
from mcp_app.protocol.versions import ProtocolVersion

Declared = TypeVar("Declared", bound=Declaration)


class Access(Protocol):
    """What one caller may do, asked in the same words for lists and for calls."""

    def permits(self, declared: Declaration) -> bool:
        """Whether its permission classes admit the caller."""
        ...

    def permitted(self, declarations: Iterable[Declared]) -> list[Declared]:
        """Those that `permits` admits; what can be found out of all at once is."""
        ...

    def hidden_by(self, declared: Declaration) -> str:
        """The hook that does not let `permits` admit it; empty where it is no hook."""
        ...

    def refused_by(self, declared: Declaration) -> str:
        """The permission class that did not let `permits` admit it; empty where it is none."""
        ...

    def switched_off(self, declared: Declaration) -> SwitchedOff | None:
        """What a call of it is told where an administrator has turned it off."""
        ...

    def switched_on(self, declarations: list[Declaration]) -> list[Declaration]:
        """Those that nobody has turned off."""
        ...

    def in_maintenance(self) -> SwitchedOff | None:
        """What every request is told while the whole server is closed."""
        ...

    def retry_after(self, declared: Declaration) -> float | None:
        """Seconds until the next call is admitted; None when this one is, which then counts."""
        ...

    def request_for(self, declared: Declaration) -> Any:
        """The DRF request that stands for a call of it."""
        ...

    def introduction(self) -> Mapping[str, Any]:
        """What is told this caller of the server in place of what all are told."""
        ...

    def are_public(self, declarations: Iterable[Declaration]) -> bool:
        """Whether everybody may use all of them, so that what holds no others may be shared."""
        ...


class Config(Protocol):
    """The settings that dispatch reads; `conf.settings` has them."""

    @property
    def versions(self) -> tuple[ProtocolVersion, ...]:
        """The revisions that are served, newest first."""
        ...

    @property
    def server_info(self) -> Mapping[str, Any]:
        """The `Implementation` object that names the server."""
        ...

    @property
    def server_info_hooks(self) -> Sequence[Any]:
        """The hooks that introduce the server to each caller."""
        ...

    @property
    def list_tools(self) -> Sequence[Any]:
        """The hooks that narrow a caller's tools."""
        ...

    @property
    def before_call(self) -> Sequence[BeforeCall]:
        """The hooks that are asked before a tool runs."""
        ...

    def __getattr__(self, name: str) -> Any: ...


@dataclass(frozen=True, slots=True)
class Services:
    """One server's collaborators, put together by the transports."""

    server: MCPServer
    sessions: SessionStore
    config: Config
    transaction: Callable[[Declaration], AbstractContextManager[Any]]
    """What a sync function runs inside: a transaction, or nothing."""
    promise: Callable[[Declaration], AbstractContextManager[Any]]
    """What every function runs inside: it holds one that only reads to its word."""
    explain: Callable[[BaseException], str | None]
    """What an exception of the product's says to the model; None for one that must not speak."""
    cursor_key: Callable[[], bytes]
    states: StateSigner
    session_changed: Callable[[str, Mapping[str, Any]], None]
    """Tells a session's open stream, wherever it is, what the session now wants."""
    challenge: Callable[[tuple[str, ...]], str]
    """The `WWW-Authenticate` value that asks for these scopes."""


Standing: TypeAlias = tuple[Caller, Access]
"""A caller, and what they may do."""


def may_use(access: Access, caller: Caller, declared: Declaration) -> bool:
    """Whether a caller's lists hold it: permitted, within the token, not switched off."""
    usable = access.permits(declared) and caller.reaches(declared)
    return usable and access.switched_off(declared) is None


def usable(
    access: Access, caller: Caller, declarations: Iterable[Declaration]
) -> list[Declaration]:
    """Those of them that `may_use` admits, asked for together."""
    return access.switched_on(caller.reached(access.permitted(declarations)))


def _nobody() -> Standing | None:
    return None


@dataclass(slots=True, eq=False)
class Inbound:
    """One message with all that is known about it. Lives as long as its answer takes."""

    request: Request
    route: Route
    headers: Mapping[str, str]
    caller: Caller
    access: Access
    session: SessionState | None
    record: CallRecord
    outlet: Outlet
    inputs: Inputs
    http_request: Callable[[], Any]
    """Makes Django's request, for another look at what the caller may do."""
    streams: bool = False
    """Whether the door can keep an answer open."""
    renew: Callable[[], Standing | None] = _nobody
    """Looks at the caller anew, where time has passed; None where they are let in no more."""
    known_until: float | None = None
    """Until when, of `time.monotonic()`, a batch's sender is known well enough for another of its
    messages to begin; None for a message that came alone."""
    cancellation: Cancellation = field(default_factory=Cancellation)
    _answered: threading.Lock = field(default_factory=threading.Lock)

    def claim(self) -> bool:
        """Whether the asker may answer: True once, for a run's end or its time limit."""
        return self._answered.acquire(blocking=False)

    def may_use(self, declared: Declaration) -> bool:
        """Whether the caller's lists hold it."""
        return may_use(self.access, self.caller, declared)

    def usable(self, declarations: Iterable[Declaration]) -> list[Declaration]:
        """Those of them that the caller's lists hold."""
        return usable(self.access, self.caller, declarations)

    @property
    def params(self) -> Mapping[str, Any]:
        """The request's params, empty where it had none."""
        return self.request.params or {}
