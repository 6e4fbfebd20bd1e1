"""What a tool may know and do while it runs: the caller, the request, progress, cancellation."""

import asyncio
import math
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from mcp_app.catalog.definition import ContextBase, Declaration, Tool
from mcp_app.catalog.encoding import encode
from mcp_app.catalog.inputs import (
    Elicit,
    Elicited,
    ElicitUrl,
    ListRoots,
    Question,
    Root,
    Sample,
    Sampled,
)
from mcp_app.dispatch.inputs import Inputs
from mcp_app.dispatch.interfaces import SessionState
from mcp_app.protocol import messages
from mcp_app.protocol.envelope import LOG_LEVELS
from mcp_app.protocol.route import Route

Said = TypeVar("Said")
Declared = TypeVar("Declared", bound=Declaration)


class Cancelled(BaseException):
    """The caller gave the request up. Not an Exception, so that a tool's own handlers let it pass.

    The transaction rolls back.
    """


class TimeLimitReached(Exception):
    """The tool ran longer than its `timeout`."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. One object a request.

    Attributes:
        user: the Django user, or AnonymousUser.
        auth: the token, or what another DRF authentication class returned; None without one.
        scopes: what the token carries; None where no token narrows the user.
        tools: the tools that the token is limited to, maybe none; None for one that is not.
        reads_only: whether the token is limited to what is declared `read_only`.
        source: how the caller was recognised: "token", "anonymous", "command", "admin", or the
            name of the authentication class.
        token_lookup: the public part of the secret that was used.
        address: the client's address as the configured number of proxies tells it.
    """

    user: Any
    auth: Any = None
    scopes: frozenset[str] | None = None
    tools: frozenset[str] | None = None
    reads_only: bool = False
    source: str = "anonymous"
    token_lookup: str = ""
    address: str = ""

    def reaches(self, declared: Declaration) -> bool:
        """Whether the token's limits and scopes admit it.

        A token that is limited to named tools reaches those, and no resources or prompts.
        """
        is_in_scope = not declared.scopes or not self.lacks(declared.scopes)
        return is_in_scope and self.is_within_limits(declared)

    def reached(self, declarations: Iterable[Declared]) -> list[Declared]:
        """Those that `reaches` admits."""
        if self.tools is None and not self.reads_only:
            return [one for one in declarations if not one.scopes or not self.lacks(one.scopes)]
        return [one for one in declarations if self.reaches(one)]

    def is_within_limits(self, declared: Declaration) -> bool:
        """Whether the token's limits admit it, whatever its scopes."""
        return not self.limits_against(declared)

    def limits_against(self, declared: Declaration) -> tuple[str, ...]:
        """Which of the token's limits do not admit it: "reading", "named tools", or both."""
        reads = ("reading",) if self.reads_only and not declared.read_only else ()
        if self.tools is None or (isinstance(declared, Tool) and declared.name in self.tools):
            return reads
        return (*reads, "named tools")

    def lacks(self, scopes: tuple[str, ...]) -> tuple[str, ...]:
        """Those of `scopes` that the token does not carry."""
        if self.scopes is None or not scopes:
            return ()
        return tuple(scope for scope in scopes if scope not in self.scopes)


class Outlet(Protocol):
    """Where a running call's notifications go. Called from any thread; never blocks."""

    def emit(self, message: Mapping[str, Any], lost: Callable[[], None] | None = None) -> None:
        """Hand over one JSON-RPC message; `lost` is called where nobody can read it any more."""
        ...

    def part(self, retry_ms: int) -> None:
        """End the connection while the call goes on, where its client can come back for it."""
        ...


class Silence:
    """An outlet for answers that cannot stream: what is emitted is dropped."""

    def emit(self, message: Mapping[str, Any], lost: Callable[[], None] | None = None) -> None:
        """Drop it."""
        if lost is not None:
            lost()

    def part(self, retry_ms: int) -> None:
        """There is no connection to end early."""


class Cancellation:
    """A flag that the transport raises and the tool's thread reads."""

    __slots__ = ("_clock", "_loop", "deadline", "requested", "stopped_by")

    def __init__(self) -> None:
        self.requested = False
        """Whether the caller gave up. It is only ever set, and nobody waits for it."""
        self.deadline: float | None = None
        """On the monotonic clock, in seconds."""
        self.stopped_by = ""
        """Who stopped the call in its caller's stead; the caller then waits for an answer."""
        self._clock: asyncio.Timeout | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def cancel(self) -> None:
        """Ask the call to stop."""
        self.requested = True

    def stop(self, by: str) -> None:
        """Ask the call to stop, and interrupt what waits on a loop; `by` is not the caller."""
        self.stopped_by = by
        self.requested = True
        self._reschedule(0.0)

    @property
    def overdue(self) -> bool:
        """Whether the time limit has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def interrupt(self, clock: asyncio.Timeout) -> None:
        """Keep what interrupts an async tool, or the wait for an agreement; on the loop."""
        self._clock, self._loop = clock, asyncio.get_running_loop()
        if self.stopped_by:
            self._set_clock(0.0)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock: a person's thinking time is not the tool's. In any thread."""
        left = None if self.deadline is None else self.deadline - time.monotonic()
        self.deadline = None
        self._reschedule(None)
        try:
            yield
        finally:
            if left is not None:
                self.deadline = time.monotonic() + left
                self._reschedule(left)

    def _reschedule(self, left: float | None) -> None:
        if self._loop is not None:
            # Sync code of an async tool asks in a thread; the loop comes by before it waits long.
            self._loop.call_soon_threadsafe(self._set_clock, left)

    def _set_clock(self, left: float | None) -> None:
        if self.stopped_by:
            # Whatever is asked or answered at the same moment: that starts no clock again.
            left = 0.0
        if self._clock is not None and self._loop is not None:
            with suppress(RuntimeError):  # the tool has ended
                self._clock.reschedule(None if left is None else self._loop.time() + left)

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
        inputs: Inputs,
    ) -> None:
        self.caller = caller
        self.tool_name = tool_name
        self.session = session
        self.correlation_id = correlation_id
        self._route = route
        self._request = request
        self._outlet = outlet
        self._cancellation = cancellation
        self._inputs = inputs
        self._asked = 0
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

    @property
    def known_roots(self) -> tuple[Root, ...] | None:
        """What a handshake session's client last reported of its roots, when this call began.

        None where it has not, where they have changed since, and without a session: `roots` asks.
        """
        roots = self.session.roots if self.session is not None else None
        if roots is None:
            return None
        return tuple(Root(root["uri"], root.get("name")) for root in roots)

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

    def close_stream(self, retry_ms: int = 1000) -> None:
        """Let the client go; it comes back for the result after `retry_ms` milliseconds.

        For long calls of a handshake session (`2025-11-25 basic/transports` Sending Messages 6);
        elsewhere nothing happens.
        """
        self._outlet.part(retry_ms)

    # --- asking ------------------------------------------------------------------------------

    def ask(self, questions: Mapping[str, Question[Any]]) -> dict[str, Any]:
        """Ask several things at once, each under a key of its own.

        In the modern era the tool is run again from its start once the answers are there, and
        finds them here: do what cannot be done twice after the last question. An answer is for the
        message and the form that were shown; where the next attempt has others, it asks again.

        Raises:
            CannotAsk: this client cannot be asked, refused, or did not answer in time; or too many
                sync tools wait for an answer here already.
            ValueError: in the modern era, a key stands for two different questions.
        """
        return self._inputs.ask(questions)

    async def aask(self, questions: Mapping[str, Question[Any]]) -> dict[str, Any]:
        """`ask` from an async tool."""
        return await self._inputs.aask(questions)

    def elicit(self, message: str, form: Any, *, key: str | None = None) -> Elicited[Any]:
        """Ask the user to fill in a form: a pydantic model, a dataclass or a schema.

        Args:
            key: names the question between attempts; without one, its place in the order does.
        """
        return self._one(Elicit(message, form), key)

    async def aelicit(self, message: str, form: Any, *, key: str | None = None) -> Elicited[Any]:
        """`elicit` from an async tool."""
        return await self._aone(Elicit(message, form), key)

    def elicit_url(self, message: str, url: str, *, key: str | None = None) -> Elicited[None]:
        """Ask the user to open an address, for what must not pass through the client."""
        return self._one(ElicitUrl(message, url, uuid.uuid4().hex), key)

    async def aelicit_url(
        self, message: str, url: str, *, key: str | None = None
    ) -> Elicited[None]:
        """`elicit_url` from an async tool."""
        return await self._aone(ElicitUrl(message, url, uuid.uuid4().hex), key)

    def sample(
        self,
        messages: str | Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        key: str | None = None,
        **options: Any,
    ) -> Sampled:
        """Ask the client's model."""
        return self._one(Sample(messages, max_tokens, system_prompt, options), key)

    async def asample(
        self,
        messages: str | Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        key: str | None = None,
        **options: Any,
    ) -> Sampled:
        """`sample` from an async tool."""
        return await self._aone(Sample(messages, max_tokens, system_prompt, options), key)

    def roots(self, *, key: str | None = None) -> tuple[Root, ...]:
        """Ask which directories the client works in."""
        return self._one(ListRoots(), key)

    async def aroots(self, *, key: str | None = None) -> tuple[Root, ...]:
        """`roots` from an async tool."""
        return await self._aone(ListRoots(), key)

    def _one(self, question: Question[Said], key: str | None) -> Said:
        key = self._key(key)
        said: Said = self._inputs.ask({key: question})[key]
        return said

    async def _aone(self, question: Question[Said], key: str | None) -> Said:
        key = self._key(key)
        said: Said = (await self._inputs.aask({key: question}))[key]
        return said

    def _key(self, key: str | None) -> str:
        self._asked += 1
        return f"input-{self._asked}" if key is None else key

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
