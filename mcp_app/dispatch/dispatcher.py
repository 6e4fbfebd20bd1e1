"""One message in, one reply out, in synchronous parts: `prepare`, `agree`, `run`, `finish`.

A transport calls them in a row, or puts an event loop between them; this module knows neither
threads nor sockets.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Final

from mcp_app.catalog.definition import Declaration
from mcp_app.catalog.resources import Readable
from mcp_app.dispatch import calls, confirmation
from mcp_app.dispatch.admission import judge_again, target_of
from mcp_app.dispatch.calls import Call, Ran
from mcp_app.dispatch.context import Cancelled
from mcp_app.dispatch.handlers import HANDLERS, Answer, offers, server_info
from mcp_app.dispatch.interfaces import CallRecord, Decision, Outcome
from mcp_app.dispatch.listening import Listening
from mcp_app.dispatch.services import Inbound, Services
from mcp_app.protocol import messages, methods
from mcp_app.protocol.errors import (
    InternalError,
    MethodNotFound,
    ProtocolError,
    Refusal,
    SwitchedOff,
    Unauthenticated,
)
from mcp_app.protocol.messages import RequestId
from mcp_app.protocol.route import Caching, Route

logger: Final = logging.getLogger("mcp_app.dispatch")

Hop = Callable[[Callable[[], None]], Awaitable[Any]]
"""Runs sync code where it may ask the database."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One JSON-RPC response as bytes, with the HTTP status and headers it travels under."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Dispatcher:
    """Answers messages for one server."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def time_limit(self, parsed: messages.Message | messages.Batch) -> float:
        """The least time limit, in seconds, of the functions that a body may come to call."""
        if isinstance(parsed, messages.Batch):
            return min(map(self._time_limit, parsed.messages), default=self._time_limit(None))
        return self._time_limit(parsed)

    def _time_limit(self, message: messages.Message | None) -> float:
        found = self._target(message)
        own = found.timeout if found is not None else None
        limit: float = self.services.config.TOOL_TIMEOUT if own is None else own
        return limit

    def _target(self, message: messages.Message | None) -> Declaration | None:
        if not isinstance(message, messages.Request):
            return None
        return target_of(message.method, message.params or {}, self.services.server)

    def prepare(self, inbound: Inbound) -> Call | Listening | Reply:
        """May it run? What is ready to run or to stay open, or the reply. Never raises."""
        try:
            _know(inbound)
            answer = self._handle(inbound)
            if not isinstance(answer, Answer):
                # Its end may be told on an event loop, where no hook can be asked.
                inbound.access.introduction()
                return answer
            inbound.record.outcome = Outcome.OK
            return self._complete(inbound, answer)
        except ProtocolError as error:
            return self.refuse(inbound, error)
        except BaseException:
            # A product's classes and hooks may raise anything, and no call gets past one by that.
            return self.break_off(inbound)

    def agree(self, call: Call) -> Ran | None:
        """Whether a person has agreed, where that is called for. What ends the call, if it does.

        For a thread: where people are waited for, there is a loop.
        """
        return confirmation.ask(call) if call.awaits_agreement else None

    async def aagree(self, call: Call, hop: Hop) -> Ran | None:
        """`agree` on an event loop, where people are waited for; all is judged again by `hop`."""
        try:
            async with asyncio.timeout(None) as clock:
                call.inbound.cancellation.interrupt(clock)
                return await self._agreed(call, hop)
        except TimeoutError:
            return Ran(error=Cancelled())

    async def _agreed(self, call: Call, hop: Hop) -> Ran | None:
        for _ in range(confirmation.ROUNDS):
            if not call.awaits_agreement:
                return None
            ended = await confirmation.aask(call)
            if ended is not None or not call.inbound.inputs.waits:
                return ended
            await hop(partial(judge_again, call, self.services))
        return confirmation.given_up(call)

    def run(self, call: Call) -> Ran:
        """Run a sync function here and now. Never raises."""
        if not call.runs:
            return Ran()
        return calls.run(call, self.services)

    async def arun(self, call: Call) -> Ran:
        """Run an async function on this event loop. Never raises."""
        if not call.runs:
            return Ran()
        return await calls.arun(call, self.services)

    def read(self, call: Call, ran: Ran) -> Ran:
        """Read a lazy value of an async function, where the database may be asked. Never raises."""
        return calls.read(call, ran) if call.runs else ran

    def finish(self, call: Call, ran: Ran) -> Reply:
        """The reply of a call that ran; its record is complete afterwards. Never raises."""
        try:
            result = calls.tell(call, ran, self.services)
            reply = self._complete(call.inbound, Answer(result), call)
            limit = self.services.config.MAX_RESULT_BYTES
            if len(reply.body) <= limit:
                return reply
            short = calls.tell_too_large(call, len(reply.body), limit)
            return self._complete(call.inbound, Answer(short), call)
        except ProtocolError as error:
            return self.refuse(call.inbound, error)
        except BaseException:
            return self.break_off(call.inbound)

    def refuse(self, inbound: Inbound, error: ProtocolError) -> Reply:
        """The reply that says what the caller did wrong."""
        note_refusal(inbound.record, error)
        return refusal_reply(inbound.route, inbound.request.id, error)

    def withhold(self, inbound: Inbound) -> Reply:
        """The reply of a call that was not run, because it could not be recorded first."""
        record = inbound.record
        record.outcome = Outcome.FAILED
        told = "The call was not run, because it could not be recorded. Correlation id: "
        return self.refuse(inbound, InternalError(f"{told}{record.correlation_id}"))

    def break_off(self, inbound: Inbound) -> Reply:
        """The reply when this code itself failed. Called while the exception is handled."""
        error = internal_error(inbound.record)
        return refusal_reply(inbound.route, inbound.request.id, error)

    def _handle(self, inbound: Inbound) -> Answer | Call | Listening:
        request, route = inbound.request, inbound.route
        method = methods.find(request.method, route.version.era)
        if method.feature is not None and not offers(method.feature, self.services):
            raise MethodNotFound("Method not found")
        if method.feature is not None and (closed := inbound.access.in_maintenance()):
            inbound.record.decision = Decision.DENY
            raise closed
        method.check(inbound.params)
        route.dialect.check_name(request, inbound.headers)
        return HANDLERS[method.name](inbound, self.services)

    def _complete(self, inbound: Inbound, answer: Answer, call: Call | None = None) -> Reply:
        """The reply around a result."""
        result = inbound.route.dialect.complete(
            answer.result,
            server_info(self.services, inbound.access),
            self._caching(inbound, call),
        )
        body = messages.dumps(messages.result_response(inbound.request.id, result))
        if inbound.record.result_bytes is None:
            inbound.record.result_bytes = len(body)
        return Reply(body, headers=answer.headers)

    def _caching(self, inbound: Inbound, call: Call | None) -> Caching | None:
        """Hints for a cacheable method: private unless everything in it is everybody's."""
        method = methods.METHODS[inbound.request.method]
        if not method.cacheable or inbound.record.outcome == Outcome.ASKED:
            return None
        # Every result names the server.
        alike = not self.services.config.server_info_hooks
        if call is not None:
            return _caching_of(call, alike)
        server = self.services.server
        kinds = server.kinds() if method.feature is None else (method.feature,)
        if "tools" in kinds:
            alike = alike and not self.services.config.list_tools
        listed = chain.from_iterable(map(server.listed, kinds))
        shared = alike and inbound.access.are_public(listed)
        ttl = int(self.services.config.LIST_TTL_MS)
        return Caching(ttl, "public" if shared else "private")


def _caching_of(call: Call, alike: bool) -> Caching:
    """What a resource says of its contents; what depends on answers is for this once.

    `alike` is whether what comes with them is the same for all callers.
    """
    resource, inbound = call.target, call.inbound
    answered = {"inputResponses", "requestState"} & inbound.params.keys()
    if answered or not isinstance(resource, Readable):
        return Caching(0, "private")
    stated = alike and resource.cache_scope == "public"
    shared = stated and inbound.access.are_public([resource])
    return Caching(resource.ttl_ms, "public" if shared else "private")


def internal_error(record: CallRecord) -> InternalError:
    """What to say of the exception that is being handled: to the log all, to the caller an id."""
    logger.exception("Request failed (correlation id %s)", record.correlation_id)
    record.outcome, record.error_class = Outcome.FAILED, "InternalError"
    return InternalError(f"Internal error. Correlation id: {record.correlation_id}")


def _know(inbound: Inbound) -> None:
    """Look at the sender anew where messages of the same batch have taken their time.

    Raises:
        Unauthenticated: they are let in no more.
    """
    if inbound.known_until is None or time.monotonic() < inbound.known_until:
        return
    standing = inbound.renew()
    if standing is None:
        reason = "ended while other messages of the batch ran"
        raise Unauthenticated("Invalid or expired token.", challenge="Bearer", reason=reason)
    inbound.caller, inbound.access = standing


def note_refusal(record: CallRecord, error: ProtocolError) -> None:
    """Write into the record why a message was refused, where nobody has done so yet."""
    if record.outcome == Outcome.STARTED:
        record.outcome = _outcome_of(error)
    record.error_class = record.error_class or type(error).__name__
    record.error_text = record.error_text or getattr(error, "reason", "") or error.message


def _outcome_of(error: ProtocolError) -> Outcome:
    match error:
        case MethodNotFound():
            return Outcome.UNKNOWN
        case Unauthenticated():
            return Outcome.UNAUTHENTICATED
        case Refusal() | SwitchedOff():
            return Outcome.DENIED
    return Outcome.REFUSED


def refusal_reply(route: Route, request_id: RequestId | None, error: ProtocolError) -> Reply:
    """An error response in the route's dialect."""
    body = messages.dumps(route.dialect.failure(request_id, error))
    return Reply(body, route.dialect.status(error), dict(error.headers))


def new_record(*, method: str = "", transport: str = "", correlation_id: str) -> CallRecord:
    """A record that begins now."""
    return CallRecord(
        started_at=time.time(), method=method, transport=transport, correlation_id=correlation_id
    )
