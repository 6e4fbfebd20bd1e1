"""One message in, one reply out, in three synchronous parts: `prepare`, `run`, `finish`.

A transport calls them in a row, or puts an event loop between them; this module knows neither
threads nor sockets.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mcp_app.catalog.definition import Tool
from mcp_app.dispatch import calls
from mcp_app.dispatch.calls import Call, Ran
from mcp_app.dispatch.handlers import HANDLERS, Answer, server_info
from mcp_app.dispatch.interfaces import CallRecord, Outcome
from mcp_app.dispatch.services import Inbound, Services
from mcp_app.protocol import messages, methods
from mcp_app.protocol.errors import (
    InternalError,
    MethodNotFound,
    ProtocolError,
    Refusal,
    Unauthenticated,
)
from mcp_app.protocol.messages import RequestId
from mcp_app.protocol.route import Caching, Route

logger: Final = logging.getLogger("mcp_app.dispatch")


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
        """The least time limit, in seconds, of the tools that a body may come to call."""
        members = parsed.messages if isinstance(parsed, messages.Batch) else (parsed,)
        default: float = self.services.config.TOOL_TIMEOUT
        limits = (tool.timeout for m in members if (tool := self._tool_of(m)) is not None)
        return min((limit for limit in limits if limit is not None), default=default)

    def _tool_of(self, message: messages.Message) -> Tool | None:
        if not isinstance(message, messages.Request) or message.method != "tools/call":
            return None
        name = (message.params or {}).get("name")
        return self.services.server.get(name) if isinstance(name, str) else None

    def prepare(self, inbound: Inbound) -> Call | Reply:
        """May it run? A call that is ready to, or the reply of what needs no tool. Never raises."""
        try:
            answer = self._handle(inbound)
            if isinstance(answer, Call):
                return answer
            inbound.record.outcome = Outcome.OK
            return self._complete(inbound, answer)
        except ProtocolError as error:
            return self.refuse(inbound, error)
        except Exception:
            return self.break_off(inbound)

    def run(self, call: Call) -> Ran:
        """Run a sync tool here and now. Never raises."""
        if call.refusal is not None:
            return Ran()
        return calls.run(call, self.services)

    async def arun(self, call: Call) -> Ran:
        """Run an async tool on this event loop. Never raises."""
        if call.refusal is not None:
            return Ran()
        return await calls.arun(call, self.services)

    def read(self, call: Call, ran: Ran) -> Ran:
        """Read a lazy value of an async tool, where the database may be asked. Never raises."""
        return ran if call.refusal is not None else calls.read(call, ran)

    def finish(self, call: Call, ran: Ran) -> Reply:
        """The reply of a call that ran; its record is complete afterwards. Never raises."""
        try:
            result = calls.tell(call, ran, self.services)
            return self._complete(call.inbound, Answer(result))
        except Exception:
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

    def _handle(self, inbound: Inbound) -> Answer | Call:
        request, route = inbound.request, inbound.route
        method = methods.find(request.method, route.version.era)
        method.check(inbound.params)
        route.dialect.check_name(request, inbound.headers)
        return HANDLERS[method.name](inbound, self.services)

    def _complete(self, inbound: Inbound, answer: Answer) -> Reply:
        """The reply around a result, unless that would be larger than allowed."""
        route = inbound.route
        result = route.dialect.complete(
            answer.result, server_info(self.services), self._caching(inbound)
        )
        body = messages.dumps(messages.result_response(inbound.request.id, result))
        limit = self.services.config.MAX_RESULT_BYTES
        if len(body) > limit and inbound.request.method == "tools/call":
            return self._too_large(inbound, len(body), limit)
        inbound.record.result_bytes = len(body)
        return Reply(body, headers=answer.headers)

    def _too_large(self, inbound: Inbound, size: int, limit: int) -> Reply:
        record = inbound.record
        record.result_bytes, record.outcome = size, Outcome.ERROR
        record.error_text = f"the result has {size} bytes, more than {limit}"
        text = f"The result is too large: {size} bytes of at most {limit}. Ask for less at a time."
        result = inbound.route.dialect.complete(
            calls.failed_result(text), server_info(self.services), None
        )
        return Reply(messages.dumps(messages.result_response(inbound.request.id, result)))

    def _caching(self, inbound: Inbound) -> Caching | None:
        """Hints for a cacheable method: private unless every tool is everybody's."""
        method = methods.METHODS[inbound.request.method]
        if not method.cacheable:
            return None
        tools = self.services.server.tools.values()
        shared = all(inbound.access.is_public(tool) for tool in tools)
        ttl = int(self.services.config.LIST_TTL_MS)
        return Caching(ttl, "public" if shared else "private")


def internal_error(record: CallRecord) -> InternalError:
    """What to say of the exception that is being handled: to the log all, to the caller an id."""
    logger.exception("Request failed (correlation id %s)", record.correlation_id)
    record.outcome, record.error_class = Outcome.FAILED, "InternalError"
    return InternalError(f"Internal error. Correlation id: {record.correlation_id}")


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
        case Refusal():
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
