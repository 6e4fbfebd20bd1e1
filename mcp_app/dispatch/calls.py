"""A tool call from admission to result: may it run, run it, say what came of it."""

import asyncio
import logging
import math
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_app.catalog.definition import Kind, Tool
from mcp_app.catalog.errors import ArgumentsInvalid, ToolError
from mcp_app.catalog.progress import Progress
from mcp_app.catalog.results import to_result
from mcp_app.dispatch.context import Cancelled, Context, TimeLimitReached
from mcp_app.dispatch.interfaces import Decision, Outcome
from mcp_app.dispatch.services import Inbound, Services
from mcp_app.protocol.errors import InsufficientScope, Throttled, UnknownTool

logger: Final = logging.getLogger("mcp_app.calls")


@dataclass(slots=True, eq=False)
class Call:
    """A tool call that was let in: the tool, its bound arguments, and where it came from."""

    tool: Tool
    arguments: Mapping[str, Any]
    inbound: Inbound
    refusal: str | None = None
    """Why the arguments do not fit: the call ends without running the tool."""
    time_limit: float | None = None
    """Seconds."""
    context: Context | None = None
    """What the tool was given, or what reports the progress that it yields."""
    claimed: bool = False
    """Whether the run itself has made sure that nobody else answers."""

    def claim(self) -> bool:
        """Whether the end of the run is the answer; its time limit may have answered before."""
        self.claimed = self.claimed or self.inbound.claim()
        return self.claimed


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended: with a value, or with an exception."""

    value: Any = None
    error: BaseException | None = None
    result: dict[str, Any] | None = None
    """The CallToolResult, once the value has been read."""


class NoResult(Exception):
    """A generator ended without returning or yielding a result."""


# --- admission -------------------------------------------------------------------------------


def admit(inbound: Inbound, services: Services) -> Call:
    """`server/tools` Calling, gate by gate: visible, in scope, within limits, well addressed.

    Raises:
        UnknownTool: there is no such tool for this caller.
        InsufficientScope: the user may, the token may not.
        Throttled: not so soon.
        MissingCapability: the client did not declare what the tool needs of it; older revisions
            have another error for it.
        HeaderMismatch: a mirrored argument and its header disagree.
    """
    record, params = inbound.record, inbound.params
    record.tool, record.arguments = params["name"], params.get("arguments") or {}
    tool = _visible(inbound, services)
    record.sensitive = tool.arguments.sensitive
    _check_scopes(tool, inbound, services)
    _check_throttles(tool, inbound)
    record.decision = Decision.ALLOW
    _check_capabilities(tool, inbound)
    for path, header in tool.arguments.headers.items():
        inbound.route.dialect.check_parameter(header, _at(path, record.arguments), inbound.headers)
    return _bind(tool, inbound, services)


def _visible(inbound: Inbound, services: Services) -> Tool:
    name = inbound.params["name"]
    tool = services.server.get(name)
    if tool is not None and inbound.access.permits(tool):
        return tool
    record = inbound.record
    record.outcome = Outcome.UNKNOWN if tool is None else Outcome.DENIED
    record.decision = Decision.DENY
    if tool is not None:
        # Such a caller may guess at names; what the arguments hold is only known to the tool.
        record.sensitive = tool.arguments.sensitive
        record.error_text = "permission classes refused"
    raise UnknownTool(f"Unknown tool: {_shortened(name)}")


def _check_scopes(tool: Tool, inbound: Inbound, services: Services) -> None:
    missing = inbound.caller.lacks(tool.scopes)
    if missing:
        inbound.record.outcome = Outcome.DENIED
        inbound.record.decision = Decision.DENY
        inbound.record.error_text = f"token lacks the scopes {' '.join(missing)}"
        raise InsufficientScope(tool.scopes, challenge=services.challenge(tool.scopes))


def _check_throttles(tool: Tool, inbound: Inbound) -> None:
    seconds = inbound.access.retry_after(tool)
    if seconds is not None:
        inbound.record.outcome = Outcome.THROTTLED
        inbound.record.decision = Decision.DENY
        raise Throttled(max(1, math.ceil(seconds)))


def _check_capabilities(tool: Tool, inbound: Inbound) -> None:
    declared = inbound.route.capabilities
    # The schema has an object for each capability; a null is none.
    missing = [name for name in tool.client_capabilities if declared.get(name) is None]
    if missing:
        raise inbound.route.dialect.undeclared(missing)


def _bind(tool: Tool, inbound: Inbound, services: Services) -> Call:
    limit = tool.timeout if tool.timeout is not None else services.config.TOOL_TIMEOUT
    lenient = services.config.LENIENT_ARGUMENTS
    try:
        bound = tool.arguments.bind(inbound.record.arguments or {}, lenient=lenient)
    except ArgumentsInvalid as error:
        return Call(tool, {}, inbound, refusal=str(error))
    context = _context(tool, inbound)
    if tool.arguments.context_name is not None:
        bound[tool.arguments.context_name] = context
    return Call(tool, bound, inbound, time_limit=limit, context=context)


def _context(tool: Tool, inbound: Inbound) -> Context:
    return Context(
        caller=inbound.caller,
        tool_name=tool.name,
        route=inbound.route,
        session=inbound.session,
        request=lambda: inbound.access.request_for(tool),
        outlet=inbound.outlet,
        cancellation=inbound.cancellation,
        correlation_id=inbound.record.correlation_id,
    )


def _at(path: tuple[str, ...], arguments: Any) -> Any:
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, Mapping) else None
    return arguments


def _shortened(name: str) -> str:
    return name if len(name) <= 128 else f"{name[:128]}…"


# --- running ---------------------------------------------------------------------------------


def run(call: Call, services: Services) -> Ran:
    """Run a sync tool in this thread, inside its transaction. Never raises."""
    _start_clock(call)
    try:
        call.inbound.cancellation.check()
        with services.transaction(call.tool), services.promise(call.tool):
            value = call.tool.function(**call.arguments)
            if call.tool.kind is Kind.GENERATOR:
                value = _drain(call, value)
            # A lazy result asks the database now: where it fails, the tool has failed.
            result = _read(call, value)
            # A caller who left before the end gets nothing: then nothing is kept, either.
            if call.inbound.cancellation.requested or not call.claim():
                raise Cancelled
        return Ran(value, result=result)
    except BaseException as error:
        return Ran(error=error)


async def arun(call: Call, services: Services) -> Ran:
    """Run an async tool on the event loop, in a task of its own. Never raises."""
    _start_clock(call)
    try:
        call.inbound.cancellation.check()
        with services.promise(call.tool):
            async with asyncio.timeout(call.time_limit):
                return Ran(await _result_of(call))
    except TimeoutError as error:
        overdue = call.inbound.cancellation.overdue
        return Ran(error=TimeLimitReached() if overdue else error)
    except asyncio.CancelledError as error:
        if call.inbound.cancellation.requested:
            return Ran(error=Cancelled())
        return Ran(error=error)
    except BaseException as error:
        return Ran(error=error)


async def _result_of(call: Call) -> Any:
    started = call.tool.function(**call.arguments)
    if call.tool.kind is Kind.ASYNC_GENERATOR:
        return await _adrain(call, started)
    return await started


def read(call: Call, ran: Ran) -> Ran:
    """`ran` with its result. Runs where the database may be asked. Never raises."""
    if ran.error is not None or ran.result is not None:
        return ran
    try:
        return Ran(ran.value, result=_read(call, ran.value))
    except BaseException as error:
        return Ran(error=error)


def _read(call: Call, value: Any) -> dict[str, Any]:
    return to_result(call.tool, value, call.inbound.route.version)


def _start_clock(call: Call) -> None:
    if call.time_limit is not None:
        call.inbound.cancellation.deadline = time.monotonic() + call.time_limit


def _drain(call: Call, steps: Generator[Any, None, Any]) -> Any:
    """Run a generator to its end; each yield is where a cancelled call stops."""
    last = NoResult
    try:
        while True:
            step = next(steps)
            last = _step(call, step, last)
            call.inbound.cancellation.check()
    except StopIteration as stop:
        return _outcome(last if stop.value is None else stop.value)
    finally:
        steps.close()


async def _adrain(call: Call, steps: AsyncGenerator[Any, None]) -> Any:
    last = NoResult
    try:
        async for step in steps:
            last = _step(call, step, last)
            call.inbound.cancellation.check()
        return _outcome(last)
    finally:
        await steps.aclose()


def _step(call: Call, step: Any, last: Any) -> Any:
    """What the latest result is after one yielded value."""
    if not isinstance(step, Progress):
        return step
    if call.context is not None:
        call.context.report_progress(step.progress, step.total, step.message)
    return last


def _outcome(value: Any) -> Any:
    if value is NoResult:
        raise NoResult
    return value


# --- telling ---------------------------------------------------------------------------------


def tell(call: Call, ran: Ran, services: Services) -> dict[str, Any]:
    """The CallToolResult of a run; fills the record in. Never raises."""
    record = call.inbound.record
    if call.refusal is not None:
        record.outcome, record.error_text = Outcome.INVALID, call.refusal
        return failed_result(call.refusal)
    ran = read(call, ran)
    if ran.error is not None:
        return _told(call, ran.error, services)
    result = ran.result or {}
    record.outcome = Outcome.ERROR if result.get("isError") else Outcome.OK
    return result


def failed_result(text: str) -> dict[str, Any]:
    """A result that says what went wrong, for the model to read."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _told(call: Call, error: BaseException, services: Services) -> dict[str, Any]:
    record = call.inbound.record
    record.error_class = type(error).__qualname__
    if isinstance(error, Cancelled):
        record.outcome = Outcome.CANCELLED
        return failed_result("The call was cancelled.")
    if isinstance(error, TimeLimitReached):
        record.outcome = Outcome.TIMEOUT
        record.error_text = f"ran longer than {call.time_limit:g} seconds"
        return failed_result(f"The tool did not finish within {call.time_limit:g} seconds.")
    text = _spoken(error, services)
    if text is not None:
        record.outcome, record.error_text = Outcome.ERROR, text
        return failed_result(text)
    return _unexpected(call, error)


def _spoken(error: BaseException, services: Services) -> str | None:
    """What an exception says to the model; None where it must not, or its own code fails."""
    try:
        return str(error) if isinstance(error, ToolError) else services.explain(error)
    except BaseException:
        return None


def _unexpected(call: Call, error: BaseException) -> dict[str, Any]:
    """An exception nobody meant for the model: its text goes to the log and the audit alone."""
    record = call.inbound.record
    record.outcome = Outcome.FAILED
    record.error_text = _text_of(error)
    logger.error(
        "Tool %r failed (correlation id %s)",
        call.tool.name,
        record.correlation_id,
        exc_info=(type(error), error, error.__traceback__),
    )
    return failed_result(f"The tool failed. Correlation id: {record.correlation_id}")


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:
        return ""
