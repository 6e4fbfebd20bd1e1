"""How a running call asks its client for input: the author's call is one, the ways are two.

In the modern era the call ends with what it needs and is made again with the answers
(`2026-07-28 basic/patterns/mrtr`); in the handshake's era the question travels on the call's own
stream while the call waits. Which of the two an inbound message has is decided with its route.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import orjson

from mcp_app.catalog.inputs import CONFIRMATION, AnswerInvalid, Question
from mcp_app.protocol.errors import InvalidParams, MissingCapability
from mcp_app.protocol.messages import DEEPEST_KEPT, is_deeper
from mcp_app.protocol.versions import ProtocolVersion

Questions = Mapping[str, Question[Any]]


class Inputs(Protocol):
    """Asks questions on behalf of one call."""

    waits: ClassVar[bool]
    """Whether `ask` waits for people, so that what was asked about may be another matter then."""

    def prepare(self, binding: "Binding") -> None:
        """Read what the request brought along; once, before the call runs.

        Raises:
            InvalidParams: it was not made here for this very request.
        """
        ...

    def ask(self, questions: Questions) -> dict[str, Any]:
        """The answers, by key. Blocks, or ends the call with InputRequired."""
        ...

    async def aask(self, questions: Questions) -> dict[str, Any]:
        """The same from async code."""
        ...

    def sealed(self, required: "InputRequired") -> dict[str, Any]:
        """The result of a call that ended with InputRequired."""
        ...


class InputRequired(BaseException):
    """Ends a call that needs answers first. Not an Exception: a tool's own handlers let it pass."""

    def __init__(
        self,
        requests: dict[str, dict[str, Any]],
        carried: dict[str, Any],
        digests: dict[str, str],
    ) -> None:
        super().__init__(", ".join(requests))
        self.requests = requests
        """What to ask, by key."""
        self.carried = carried
        """Answers of this and earlier rounds, as they came."""
        self.digests = digests
        """Of what was shown, by the key of each request and each carried answer."""


class CannotAsk(Exception):
    """There is no way to reach this client's user from here. Its text may be shown."""


class Unanswered(CannotAsk):
    """The user was asked, and did not answer in time."""


class StateInvalid(Exception):
    """A `requestState` that was not made here, for this request, just now; for the log, why."""


class StateSigner(Protocol):
    """Seals what travels through the client (`mrtr` Server Requirements)."""

    def seal(self, payload: Mapping[str, Any]) -> str:
        """`payload` as text that nobody can change. It expires."""
        ...

    def open(self, text: str, belonging: Mapping[str, Any]) -> Mapping[str, Any]:
        """The payload of a sealed text, for the first time it is opened.

        To try one whose payload has not all that is in `belonging` is not to open it.

        Raises:
            StateInvalid: changed, expired, another's, or opened before.
        """
        ...


@dataclass(frozen=True, slots=True)
class Binding:
    """What a state belongs to: nobody else's request, and no other one."""

    principal: str
    method: str
    digest: str

    @classmethod
    def of(cls, principal: str, method: str, target: str, arguments: Any) -> "Binding":
        """For a request's salient parameters."""
        return cls(principal, method, hashlib.sha256(_sorted([target, arguments])).hexdigest())

    def as_dict(self) -> dict[str, str]:
        """For sealing."""
        return {"p": self.principal, "m": self.method, "d": self.digest}


@dataclass(slots=True)
class RetriedInputs:
    """The modern way: answers come with the next attempt, and earlier ones in the state.

    The state names what was asked, by a digest of the words that were shown: an answer is good for
    those alone. A client may answer before it is asked, but for whether the call may run.
    """

    waits: ClassVar[bool] = False

    signer: StateSigner
    version: ProtocolVersion
    capabilities: Mapping[str, Any]
    responses: Mapping[str, Any]
    """`params.inputResponses`, as sent."""
    state: str | None
    _binding: Binding | None = None
    _answers: dict[str, Any] = field(default_factory=dict)
    _asked: dict[str, str] = field(default_factory=dict)
    """Of each question of the attempts before, the digest of what was shown."""
    _shown: dict[str, str] = field(default_factory=dict)
    """The same of this attempt's."""

    @classmethod
    def of(
        cls,
        signer: StateSigner,
        version: ProtocolVersion,
        capabilities: Mapping[str, Any],
        params: Mapping[str, Any],
    ) -> "RetriedInputs":
        """From a request's params.

        Raises:
            InvalidParams: they are of the wrong type, or nested beyond reason.
        """
        responses, state = params.get("inputResponses"), params.get("requestState")
        if responses is not None and not isinstance(responses, dict):
            raise InvalidParams("The parameter 'inputResponses' must be an object.")
        if is_deeper(responses, DEEPEST_KEPT):
            raise InvalidParams("The parameter 'inputResponses' is nested beyond reason.")
        if state is not None and not isinstance(state, str):
            raise InvalidParams("The parameter 'requestState' must be a string.")
        return cls(signer, version, capabilities, responses or {}, state)

    def prepare(self, binding: Binding) -> None:
        """Open the state, if there is one; its answers count as those of this attempt."""
        self._binding = binding
        if self.state is None:
            return
        try:
            payload = self.signer.open(self.state, binding.as_dict())
        except StateInvalid as error:
            told = "The requestState is not valid; begin the request again."
            raise InvalidParams(told) from error
        self._answers = dict(payload.get("a", {}))
        self._asked = dict(payload.get("q", {}))

    def ask(self, questions: Questions) -> dict[str, Any]:
        """Every answer, or none: what is missing is asked for together.

        Raises:
            ValueError: a key stands for two different questions.
        """
        self._check_capabilities(questions)
        read: dict[str, Any] = {}
        wanted: dict[str, dict[str, Any]] = {}
        for key, question in questions.items():
            self._note(key, question)
            try:
                read[key] = self._read(key, question)
            except (KeyError, AnswerInvalid):
                wanted[key] = {"method": question.method, "params": question.params(self.version)}
        if wanted:
            raise self._required(wanted)
        return read

    async def aask(self, questions: Questions) -> dict[str, Any]:
        """Nothing to wait for."""
        return self.ask(questions)

    def sealed(self, required: InputRequired) -> dict[str, Any]:
        """The InputRequiredResult."""
        assert self._binding is not None, "prepared before anything runs"
        payload = {**self._binding.as_dict(), "a": required.carried, "q": required.digests}
        return {
            "resultType": "input_required",
            "inputRequests": required.requests,
            "requestState": self.signer.seal(payload),
        }

    def _note(self, key: str, question: Question[Any]) -> None:
        digest = _digest(question)
        if self._shown.setdefault(key, digest) != digest:
            raise ValueError(f"two different questions have the key {key!r}")

    def _read(self, key: str, question: Question[Any]) -> Any:
        unasked = None if key == CONFIRMATION else self._shown[key]
        if self._asked.get(key, unasked) != self._shown[key]:
            raise KeyError(key)
        # What was answered before is not answered anew.
        raw = self._answers[key] if key in self._answers else self.responses[key]
        answer = question.read(raw)
        self._answers[key] = raw
        return answer

    def _required(self, wanted: dict[str, dict[str, Any]]) -> InputRequired:
        carried = {key: raw for key, raw in self._answers.items() if key not in wanted}
        known = self._asked | self._shown
        return InputRequired(wanted, carried, {key: known[key] for key in [*wanted, *carried]})

    def _check_capabilities(self, questions: Questions) -> None:
        required: dict[str, Any] = {}
        for question in questions.values():
            for name, detail in question.missing(self.capabilities).items():
                required[name] = {**required.get(name, {}), **detail}
        if required:
            raise MissingCapability(required)


def _sorted(value: Any) -> bytes:
    """One text for all that read the same but for the order of their keys."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # The standard library writes what orjson does not: long integers and lone surrogates.
        return json.dumps(value, sort_keys=True).encode("ascii")


def _digest(question: Question[Any]) -> str:
    shown = json.dumps([question.method, question.shown()], sort_keys=True, default=str)
    return hashlib.sha256(shown.encode("ascii")).hexdigest()


class WithoutState:
    """What is the same for `Inputs` wherever a call does not end to ask."""

    __slots__ = ()
    waits: ClassVar[bool] = False

    def prepare(self, binding: Binding) -> None:
        """Nothing comes along with the request."""

    def sealed(self, required: InputRequired) -> dict[str, Any]:
        """Never needed."""
        raise required


class InputUnavailable(WithoutState):
    """Where a client cannot be asked: a door that does not stream, or a call without a session."""

    def __init__(self, why: str = "This connection cannot ask the user for input.") -> None:
        self._why = why

    def ask(self, questions: Questions) -> dict[str, Any]:
        """Raise CannotAsk."""
        raise CannotAsk(self._why)

    async def aask(self, questions: Questions) -> dict[str, Any]:
        """Raise CannotAsk."""
        return self.ask(questions)
