"""A call that was let in, from running its function to what is told of it.

Knows how functions of every colour run, and how they end. What a value or a failure becomes on the
wire is the matter of the call's `Manner`.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from mcp_app.catalog.definition import Declaration, Kind
from mcp_app.catalog.errors import ArgumentsInvalid, OutputInvalid, ToolError, Unencodable
from mcp_app.catalog.progress import Progress
from mcp_app.catalog.sentences import discreet, without_inputs
from mcp_app.dispatch.context import Cancelled, Context, TimeLimitReached
from mcp_app.dispatch.hooks import ALLOWED, Confirm, Deny, NotConfirmed, Verdict
from mcp_app.dispatch.inputs import CannotAsk, InputRequired
from mcp_app.dispatch.interfaces import WHILE_ASKED, Outcome
from mcp_app.dispatch.services import Inbound, Services
from mcp_app.protocol.errors import MissingCapability

logger: Final = logging.getLogger("mcp_app.calls")


@dataclass(frozen=True, slots=True)
class Manner:
    """How calls of one method are told."""

    noun: str
    """What the function is called in a sentence."""
    read: "Callable[[Call, Any], dict[str, Any]]"
    """The result that stands for what the function returned. May ask the database."""
    fail: "Callable[[Call, str, BaseException | None], dict[str, Any]]"
    """The result that says this text of a failure, or raises ProtocolError with it."""


@dataclass(slots=True, eq=False)
class Call:
    """A call that was let in: what to run, its bound arguments, and where it came from."""

    target: Declaration
    arguments: Mapping[str, Any]
    inbound: Inbound
    manner: Manner
    refusal: str | None = None
    """Why the arguments do not fit: the call ends without running the function."""
    verdict: Verdict = ALLOWED
    """What the product's hooks said."""
    agreed_to: str | None = None
    """The question that a person has agreed to."""
    time_limit: float | None = None
    """Seconds."""
    context: Context | None = None
    """What the function was given, or what reports the progress that it yields."""
    claimed: bool = False
    """Whether the run itself has made sure that nobody else answers."""

    @property
    def runs(self) -> bool:
        """Whether the function is to run; otherwise the call only has to be told."""
        return self.refusal is None and not isinstance(self.verdict, Deny)

    @property
    def writes(self) -> bool:
        """Whether the function is to run, and may change something."""
        return self.runs and not self.target.read_only

    @property
    def awaits_agreement(self) -> bool:
        """Whether a person is to be asked, in words that they have not agreed to yet."""
        verdict = self.verdict
        return isinstance(verdict, Confirm) and verdict.message != self.agreed_to

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
    """What the call's manner made of the value, once it has been read."""


class NoResult(Exception):
    """A generator ended without returning or yielding a result."""


# --- running ---------------------------------------------------------------------------------


def run(call: Call, services: Services) -> Ran:
    """Run a sync function in this thread, inside its transaction. Never raises."""
    _start_clock(call)
    try:
        call.inbound.cancellation.check()
        with services.promise(call.target), services.transaction(call.target):
            value = call.target.function(**call.arguments)
            if call.target.kind is Kind.GENERATOR:
                value = _drain(call, value)
            # A lazy result asks the database now: where it fails, the function has failed.
            result = call.manner.read(call, value)
            # A caller who left before the end gets nothing: then nothing is kept, either.
            if call.inbound.cancellation.requested or not call.claim():
                raise Cancelled
        return Ran(value, result=result)
    except BaseException as error:
        return Ran(error=error)


async def arun(call: Call, services: Services) -> Ran:
    """Run an async function on the event loop, in a task of its own. Never raises."""
    _start_clock(call)
    try:
        call.inbound.cancellation.check()
        with services.promise(call.target):
            async with asyncio.timeout(call.time_limit) as clock:
                call.inbound.cancellation.interrupt(clock)
                return Ran(await _result_of(call))
    except TimeoutError as error:
        if call.inbound.cancellation.stopped_by:
            return Ran(error=Cancelled())
        overdue = call.inbound.cancellation.overdue
        return Ran(error=TimeLimitReached() if overdue else error)
    except asyncio.CancelledError as error:
        if call.inbound.cancellation.requested:
            return Ran(error=Cancelled())
        return Ran(error=error)
    except BaseException as error:
        return Ran(error=error)


async def _result_of(call: Call) -> Any:
    started = call.target.function(**call.arguments)
    if call.target.kind is Kind.ASYNC_GENERATOR:
        return await _adrain(call, started)
    return await started


def read(call: Call, ran: Ran) -> Ran:
    """`ran` with its result. Runs where the database may be asked. Never raises."""
    if ran.error is not None or ran.result is not None:
        return ran
    try:
        return Ran(ran.value, result=call.manner.read(call, ran.value))
    except BaseException as error:
        return Ran(error=error)


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
    """The result of a run; fills the record in.

    Raises:
        ProtocolError: the run failed, and its manner tells that by an error.
    """
    record = call.inbound.record
    if call.refusal is not None:
        record.outcome, record.error_text = Outcome.INVALID, call.refusal
        return call.manner.fail(call, call.refusal, None)
    if isinstance(call.verdict, Deny):
        return _denied(call, call.verdict.message, call.verdict.result)
    ran = read(call, ran)
    if ran.error is not None:
        return _told(call, ran.error, services)
    result = ran.result or {}
    record.outcome = Outcome.ERROR if result.get("isError") else Outcome.OK
    return result


def _denied(call: Call, message: str, instead: Any) -> dict[str, Any]:
    """What is told of a call that a hook, or a person, did not let run."""
    record = call.inbound.record
    record.outcome, record.error_text = Outcome.DENIED, message
    if instead is None:
        return call.manner.fail(call, message, None)
    try:
        return call.manner.read(call, instead)
    except (OutputInvalid, Unencodable):
        # What the output schema promises is not promised of an error.
        if not isinstance(instead, str):
            logger.exception("What was to be told instead of %r does not fit it", call.target.key)
        return call.manner.fail(call, instead if isinstance(instead, str) else message, None)


def tell_too_large(call: Call, size: int, limit: int) -> dict[str, Any]:
    """The result in place of one that has too many bytes. Raises as `tell` does."""
    record = call.inbound.record
    record.result_bytes, record.outcome = size, Outcome.ERROR
    record.error_text = f"the result has {size} bytes, more than {limit}"
    text = f"The result is too large: {size} bytes of at most {limit}. Ask for less at a time."
    return call.manner.fail(call, text, None)


def _told(call: Call, error: BaseException, services: Services) -> dict[str, Any]:
    record = call.inbound.record
    record.error_class = type(error).__qualname__
    if isinstance(error, NotConfirmed):
        return _denied(call, str(error), error.fallback)
    if isinstance(error, Cancelled):
        return _cancelled(call, error)
    if isinstance(error, InputRequired):
        record.outcome, record.error_class = Outcome.ASKED, ""
        return call.inbound.inputs.sealed(error)
    if isinstance(error, MissingCapability):
        raise error
    if isinstance(error, ArgumentsInvalid):
        told = str(discreet(error, record.arguments or {}, call.target.sensitive))
        record.outcome, record.error_class, record.error_text = Outcome.INVALID, "", told
        return call.manner.fail(call, told, None)
    if isinstance(error, TimeLimitReached):
        record.outcome = Outcome.TIMEOUT
        record.error_text = f"ran longer than {call.time_limit:g} seconds"
        told = f"The {call.manner.noun} did not finish within {call.time_limit:g} seconds."
        return call.manner.fail(call, told, error)
    text = _spoken(error, services)
    if text is not None:
        record.outcome, record.error_text = Outcome.ERROR, text
        return call.manner.fail(call, text, error)
    return _unexpected(call, error)


def _cancelled(call: Call, error: Cancelled) -> dict[str, Any]:
    record, stopped_by = call.inbound.record, call.inbound.cancellation.stopped_by
    record.outcome = Outcome.CANCELLED
    if not stopped_by:
        if call.awaits_agreement:
            record.error_text = WHILE_ASKED
        return call.manner.fail(call, "The call was cancelled.", error)
    record.error_text = f"stopped by {stopped_by}"
    return call.manner.fail(call, f"An administrator stopped the {call.manner.noun}.", error)


def _spoken(error: BaseException, services: Services) -> str | None:
    """What an exception says to the caller; None where it must not, or its own code fails."""
    try:
        return str(error) if isinstance(error, ToolError | CannotAsk) else services.explain(error)
    except BaseException:
        return None


def _unexpected(call: Call, error: BaseException) -> dict[str, Any]:
    """An exception nobody meant for callers: its text goes to the log and the audit alone."""
    record = call.inbound.record
    record.outcome = Outcome.FAILED
    record.error_text = _text_of(error)
    noun, correlation_id = call.manner.noun, record.correlation_id
    logger.error(
        "%s %r failed (correlation id %s)",
        noun.capitalize(),
        call.target.key,
        correlation_id,
        exc_info=(type(error), error, error.__traceback__),
    )
    return call.manner.fail(call, f"The {noun} failed. Correlation id: {correlation_id}", error)


def _text_of(error: BaseException) -> str:
    try:
        return without_inputs(error) if isinstance(error, ValidationError) else str(error)
    except BaseException:
        return ""
