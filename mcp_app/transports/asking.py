"""Questions of the handshake's era: sent on the call's own stream, answered by another POST.

The answer may arrive at another process; the bus brings it to the one where the call waits
(`2025-11-25 basic/transports` Sending Messages, `client/elicitation`, `client/sampling`).
"""

import asyncio
import secrets
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from mcp_app.catalog.inputs import AnswerInvalid, ListRoots, Question
from mcp_app.conf import settings
from mcp_app.dispatch.context import Cancellation, Outlet
from mcp_app.dispatch.inputs import CannotAsk, Questions, Unanswered, WithoutState
from mcp_app.protocol.messages import DEEPEST_KEPT, is_deeper
from mcp_app.protocol.versions import ProtocolVersion
from mcp_app.transports import roots
from mcp_app.transports.bus import Subscription, bus
from mcp_app.work.waiting import lent

_LOOK: Final = 0.5
"""Seconds between looks whether a waiting call was cancelled."""


def answers_topic(session_id: str) -> str:
    """Where a session's answers are told."""
    return f"answers:{session_id}"


def post_answer(session_id: str, answer_id: Any, result: Any, error: Any) -> None:
    """Tell whoever waits for it that a client has answered; one that is nested beyond reason is no
    answer to anything.
    """
    if is_deeper([result, error], DEEPEST_KEPT):
        result = error = None
    bus.publish(answers_topic(session_id), {"id": answer_id, "result": result, "error": error})


@dataclass(slots=True)
class StreamInputs(WithoutState):
    """Asks on one call's stream."""

    waits: ClassVar[bool] = True

    session_id: str
    version: ProtocolVersion
    capabilities: Mapping[str, Any]
    outlet: Outlet
    cancellation: Cancellation
    _entered_in: int = field(default_factory=threading.get_ident)
    """The thread that the call came in by."""

    def ask(self, questions: Questions) -> dict[str, Any]:
        """Ask, and keep this thread, but not its place, until everything is answered."""
        if not settings.WORKERS and threading.get_ident() == self._entered_in:
            # There the answer would have to come in by it, too.
            raise CannotAsk(_ONLY_THREAD)
        with lent(), self._asked(questions) as waiting:
            return {key: one.wait(self.cancellation) for key, one in waiting.items()}

    async def aask(self, questions: Questions) -> dict[str, Any]:
        """Ask, and wait on the event loop."""
        with self._asked(questions) as waiting:
            return {key: await one.await_() for key, one in waiting.items()}

    @contextmanager
    def _asked(self, questions: Questions) -> Iterator[dict[str, "_Waiting"]]:
        """Send them; whichever is unanswered at the end of the block, the client may forget."""
        for question in questions.values():
            if missing := question.missing(self.capabilities):
                raise CannotAsk(f"The client does not support {', '.join(missing)}.")
        waiting: dict[str, _Waiting] = {}
        try:
            for key, question in questions.items():
                waiting[key] = self._send(question)
            with self.cancellation.paused():
                yield waiting
        finally:
            for one in waiting.values():
                self._forget(one)

    def _send(self, question: Question[Any]) -> "_Waiting":
        params = question.params(self.version)
        waiting = _Waiting(question, self.session_id)
        message = {
            "jsonrpc": "2.0",
            "id": waiting.id,
            "method": question.method,
            "params": params,
        }
        self.outlet.emit(message, waiting.lose)
        return waiting

    def _forget(self, waiting: "_Waiting") -> None:
        """Wait no more (`2025-11-25 basic/utilities/cancellation`), from whichever end it came."""
        if waiting.close():
            params = {"requestId": waiting.id, "reason": _FORGOTTEN}
            message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            self.outlet.emit(message)


class _Waiting:
    """One question that was sent."""

    def __init__(self, question: Question[Any], session_id: str) -> None:
        asks_roots = question.method == ListRoots.method
        self.id = roots.new_id() if asks_roots else f"ask-{secrets.token_urlsafe(12)}"
        self._question = question
        self._future: Future[Mapping[str, Any]] = Future()
        self._subscription: Subscription = bus.subscribe(
            answers_topic(session_id), listener=self._hear
        )

    def close(self) -> bool:
        """Hear no more; whether it was sent to somebody who has not answered it."""
        self._subscription.close()
        return self._future.cancel()

    def lose(self) -> None:
        """It reaches nobody: whoever was to be asked has left. From any thread."""
        with suppress(InvalidStateError):
            self._future.set_exception(CannotAsk(_GONE))

    def _hear(self, topic: str, message: Mapping[str, Any]) -> None:
        if message.get("id") == self.id:
            with suppress(InvalidStateError):
                self._future.set_result(message)

    def wait(self, cancellation: Cancellation) -> Any:
        left = settings.INPUT_TIMEOUT
        while left > 0:
            cancellation.check()
            try:
                return self._read(self._future.result(min(_LOOK, left)))
            except FutureTimeout:
                left -= _LOOK
        raise Unanswered(_NOBODY)

    async def await_(self) -> Any:
        try:
            async with asyncio.timeout(settings.INPUT_TIMEOUT):
                return self._read(await asyncio.wrap_future(self._future))
        except TimeoutError:
            raise Unanswered(_NOBODY) from None

    def _read(self, message: Mapping[str, Any]) -> Any:
        error = message.get("error")
        if error is not None:
            told = error.get("message") if isinstance(error, Mapping) else None
            raise CannotAsk(f"The client refused: {told or 'no reason given'}")
        try:
            return self._question.read(message.get("result"))
        except AnswerInvalid as invalid:
            raise CannotAsk(f"The client's answer cannot be used: {invalid}.") from invalid


_NOBODY: Final = "Nobody answered in time."
_ONLY_THREAD: Final = (
    "Sync code cannot wait for a client's answer where all sync code shares one thread, as within"
    " inline_workers(): let the tool be async, or give it worker threads."
)
_GONE: Final = "The client left before it could be asked."
_FORGOTTEN: Final = "Nobody waits for the answer any more."
