"""What a tool may ask its client for while it runs: questions, and their answers read back.

Elicitation, sampling and roots (`2026-07-28 basic/patterns/mrtr`, `2025-11-25 client`). A question
knows its method, its parameters for one revision and the capability it needs; how it reaches the
client is not its matter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, Literal, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from mcp_app.catalog.schemas import Schema
from mcp_app.protocol.versions import ProtocolVersion

Answer_co = TypeVar("Answer_co", covariant=True)
Form = TypeVar("Form")
Action = Literal["accept", "decline", "cancel"]

_PRIMITIVES: Final = ("string", "number", "integer", "boolean")


class AnswerInvalid(ValueError):
    """The client's answer does not fit the question: it is asked again, or refused."""


class Question(Protocol[Answer_co]):
    """Something to ask of the client."""

    method: ClassVar[str]

    def params(self, version: ProtocolVersion) -> dict[str, Any]:
        """The request's `params` in the words of one revision."""
        ...

    def missing(self, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        """The capability that the client would have to declare; empty where it does."""
        ...

    def shown(self) -> Any:
        """What a person sees of it, as JSON: an answer is good for these words and no others."""
        ...

    def read(self, value: Any) -> Answer_co:
        """The answer in a result object.

        Raises:
            AnswerInvalid: it is none.
        """
        ...


@dataclass(frozen=True, slots=True)
class Elicited(Generic[Form]):
    """What the user did with a question, and what they entered where they accepted it."""

    action: Action
    content: Form | None = None

    @property
    def accepted(self) -> bool:
        """Whether the user agreed."""
        return self.action == "accept"


@dataclass(frozen=True)
class Elicit(Generic[Form]):
    """Ask the user to fill in a form (`client/elicitation`).

    Args:
        message: why it is asked.
        form: a pydantic model, a dataclass or another annotation with flat, primitive fields; or
            the `requestedSchema` itself, whose answer is then a plain dict.
    """

    method: ClassVar[str] = "elicitation/create"
    message: str
    form: Any
    _reader: Any = field(init=False, repr=False, compare=False)
    _schema: Schema = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise TypeError for a form that clients could not show."""
        is_schema = isinstance(self.form, Mapping)
        reader = None if is_schema else TypeAdapter(self.form)
        schema = dict(self.form) if is_schema else _form_schema(TypeAdapter(self.form))
        _check_form(schema)
        object.__setattr__(self, "_reader", reader)
        object.__setattr__(self, "_schema", schema)

    def params(self, version: ProtocolVersion) -> dict[str, Any]:
        """The form, with its mode where the revision has more than one."""
        mode = {"mode": "form"} if version.url_elicitation else {}
        return {**mode, "message": self.message, "requestedSchema": self._schema}

    def missing(self, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        """`elicitation: {}` means forms; so does `form` beside `url`."""
        return _forms_missing(capabilities)

    def shown(self) -> Any:
        """The message and the form."""
        return [str(self.message), self._schema]

    def read(self, value: Any) -> Elicited[Form]:
        """The action and, where accepted, the validated form."""
        action, content = _action(value)
        if action != "accept":
            return Elicited(action)
        if not isinstance(content, Mapping):
            raise AnswerInvalid("an accepted form has its content")
        return Elicited(action, self._validated(dict(content)))

    def _validated(self, content: dict[str, Any]) -> Any:
        if self._reader is None:
            _check_against(self._schema, content)
            return content
        try:
            return self._reader.validate_python(content)
        except ValidationError as error:
            raise AnswerInvalid("the form's content does not fit") from error


CONFIRMATION: Final = "mcp_app.confirmation"
"""The key of the question whether a call may run."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Ask the user to agree to a call: an elicitation without fields."""

    method: ClassVar[str] = "elicitation/create"
    message: str

    def params(self, version: ProtocolVersion) -> dict[str, Any]:
        """A form that only can be accepted, declined or cancelled."""
        mode = {"mode": "form"} if version.url_elicitation else {}
        schema = {"type": "object", "properties": {}}
        return {**mode, "message": self.message, "requestedSchema": schema}

    def missing(self, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        """As a form."""
        return _forms_missing(capabilities)

    def shown(self) -> Any:
        """The message."""
        return str(self.message)

    def read(self, value: Any) -> str:
        """What the user did: "accept", "decline", or "cancel" for a question that was closed."""
        return _action(value)[0]


@dataclass(frozen=True, slots=True)
class ElicitUrl:
    """Ask the user to open an address, for what must not pass through the client."""

    method: ClassVar[str] = "elicitation/create"
    message: str
    url: str
    elicitation_id: str = ""

    def params(self, version: ProtocolVersion) -> dict[str, Any]:
        """The address; 2025-11-25 alone names each elicitation."""
        named = {"elicitationId": self.elicitation_id} if version.elicitation_ids else {}
        return {"mode": "url", "message": self.message, "url": self.url, **named}

    def missing(self, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        """`elicitation.url` must be declared by name."""
        declared = capabilities.get("elicitation")
        shown = isinstance(declared, Mapping) and "url" in declared
        return {} if shown else {"elicitation": {"url": {}}}

    def shown(self) -> Any:
        """The message alone: an address may be made anew for each attempt."""
        return str(self.message)

    def read(self, value: Any) -> Elicited[None]:
        """Whether the user agreed to open it; what they did there is not told."""
        action, _ = _action(value)
        return Elicited(action)


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the client's model said."""

    role: str
    content: Any
    """One content block, or a list of them."""
    model: str
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        """The text of its blocks."""
        blocks = self.content if isinstance(self.content, list) else [self.content]
        texts = [block.get("text") for block in blocks if isinstance(block, Mapping)]
        return "".join(text for text in texts if isinstance(text, str))


@dataclass(frozen=True, slots=True)
class Sample:
    """Ask the client's model (`client/sampling`).

    Args:
        messages: a prompt, or `{"role": …, "content": …}` objects.
        max_tokens: at most that many in the answer.
        system_prompt: what the model is told first.
        options: further members of the request, such as `temperature` or `modelPreferences`.
    """

    method: ClassVar[str] = "sampling/createMessage"
    messages: str | Sequence[Mapping[str, Any]]
    max_tokens: int
    system_prompt: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def params(self, version: ProtocolVersion) -> dict[str, Any]:
        """The request."""
        messages = self.messages
        if isinstance(messages, str):
            messages = [{"role": "user", "content": {"type": "text", "text": messages}}]
        told = {} if self.system_prompt is None else {"systemPrompt": self.system_prompt}
        return {
            "messages": [dict(message) for message in messages],
            "maxTokens": self.max_tokens,
            **told,
            **self.options,
        }

    def missing(self, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        """`sampling`."""
        return {} if "sampling" in capabilities else {"sampling": {}}

    def shown(self) -> Any:
        """Nothing that binds: it is a model that answers, and a prompt may tell the time."""
        return None

    def read(self, value: Any) -> Sampled:
        """The message."""
        if not isinstance(value, Mapping) or "content" not in value or "role" not in value:
            raise AnswerInvalid("a sampled message has a role and content")
        return Sampled(
            role=str(value["role"]),
            content=value["content"],
            model=str(value.get("model", "")),
            stop_reason=value.get("stopReason"),
        )


@dataclass(frozen=True, slots=True)
class Root:
    """A directory or file that the client works in."""

    uri: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ListRoots:
    """Ask which directories the client works in (`client/roots`)."""

    method: ClassVar[str] = "roots/list"

    def params(self, version: ProtocolVersion) -> dict[str, Any]:
        """None."""
        return {}

    def missing(self, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        """`roots`."""
        return {} if "roots" in capabilities else {"roots": {}}

    def shown(self) -> Any:
        """Nothing."""
        return None

    def read(self, value: Any) -> tuple[Root, ...]:
        """The roots."""
        roots = value.get("roots") if isinstance(value, Mapping) else None
        if not isinstance(roots, list) or not all(_is_root(root) for root in roots):
            raise AnswerInvalid("the roots are a list of objects with a uri")
        return tuple(Root(root["uri"], root.get("name")) for root in roots)


def _forms_missing(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    declared = capabilities.get("elicitation")
    shown = isinstance(declared, Mapping) and (not declared or "form" in declared)
    return {} if shown else {"elicitation": {}}


def _is_root(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("uri"), str)


def _action(value: Any) -> tuple[Action, Any]:
    action = value.get("action") if isinstance(value, Mapping) else None
    if action not in ("accept", "decline", "cancel"):
        raise AnswerInvalid("an elicitation is accepted, declined or cancelled")
    return action, value.get("content")


def _form_schema(adapter: TypeAdapter[Any]) -> Schema:
    schema = adapter.json_schema()
    schema.pop("title", None)
    properties = {
        name: {k: v for k, v in prop.items() if not _is_auto_title(name, k, v)}
        for name, prop in schema.get("properties", {}).items()
    }
    return {**schema, "properties": properties}


def _is_auto_title(name: str, keyword: str, value: Any) -> bool:
    return keyword == "title" and value == name.replace("_", " ").title()


def _check_form(schema: Schema) -> None:
    """Forms are flat (`client/elicitation` Requested Schema)."""
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), Mapping):
        raise TypeError("a form is an object with properties")
    for name, prop in schema["properties"].items():
        is_choice = prop.get("type") == "array" and "items" in prop
        if prop.get("type") not in _PRIMITIVES and not is_choice:
            raise TypeError(f"the form field {name!r} is not a primitive")


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
}


def _check_against(schema: Schema, content: Mapping[str, Any]) -> None:
    """Required fields and primitive types; a project that wants more gives a model."""
    missing = [name for name in schema.get("required", ()) if name not in content]
    if missing:
        raise AnswerInvalid(f"the form lacks {', '.join(missing)}")
    for name, prop in schema["properties"].items():
        value = content.get(name)
        kinds = _TYPES[prop["type"]]
        is_wrong_bool = isinstance(value, bool) and prop["type"] != "boolean"
        if name in content and (is_wrong_bool or not isinstance(value, kinds)):
            raise AnswerInvalid(f"the form field {name!r} is not a {prop['type']}")
