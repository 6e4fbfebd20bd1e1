"""What completes an argument while a user types it (`2026-07-28 server/utilities/completion`)."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Any, ClassVar, Final

from mcp_app.catalog import signature
from mcp_app.catalog.definition import Declaration
from mcp_app.catalog.encoding import encode, json_text
from mcp_app.catalog.errors import Unencodable
from mcp_app.catalog.problems import Problem, Refused
from mcp_app.catalog.signature import Kind
from mcp_app.catalog.texts import TextArguments
from mcp_app.protocol.content import well_formed
from mcp_app.protocol.versions import ProtocolVersion

MOST: Final = 100
"""Values in one answer."""

_LISTS: Final = (list, tuple, set, frozenset)
_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_HINT: Final = "Give a list, an Enum or a function of the text: complete={'region': regions}."


@dataclass(frozen=True, slots=True)
class Completion:
    """Suggestions spelled out: best first, how many there are in all, whether there are more."""

    values: Iterable[Any]
    total: int | None = None
    has_more: bool | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Completer(Declaration):
    """Completes one argument of a prompt or a template, whose guards are its own, too.

    Its function takes the text so far and, if it likes, what the other arguments are.
    """

    noun: ClassVar[str] = "completer"

    read_only: bool = True
    argument: str
    takes: tuple[str, ...]
    """The parameter for the text so far, and perhaps one for the other arguments."""

    def bound(self, value: str, others: Mapping[str, str]) -> dict[str, Any]:
        """What to call the function with, beside a Context."""
        return dict(zip(self.takes, (value, others), strict=False))

    def _defined(self, version: ProtocolVersion) -> dict[str, Any]:
        return {}


def completers(
    given: Any, arguments: TextArguments, guards: Mapping[str, Any]
) -> dict[str, Completer]:
    """The completers of a declaration, by argument: those given, and those its types imply.

    Args:
        given: the `complete` keyword.
        arguments: of the declaration.
        guards: its name and the fields that its keywords gave.

    Raises:
        Refused: a completer is for no argument, or cannot be called.
    """
    properties = arguments.schema["properties"]
    if not isinstance(given, Mapping) or set(given) - set(properties):
        raise Refused(Problem.COMPLETERS, "complete does not map arguments to completers", _HINT)
    implied = {name: _implied(schema) for name, schema in properties.items()}
    sources = {name: values for name, values in implied.items() if values} | dict(given)
    return {name: _completer(name, source, guards) for name, source in sources.items()}


def to_completion(value: Any) -> dict[str, Any]:
    """The CompleteResult for what a completer returned: any iterable of values, or a Completion.

    Raises:
        Unencodable: it is neither.
    """
    if isinstance(value, Completion):
        given = value
    elif isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable | None):
        raise Unencodable(type(value).__name__, "is no list of suggestions")
    else:
        given = Completion(value or ())
    known = len(given.values) if isinstance(given.values, _LISTS) else None
    values = _first(given.values)
    more = len(values) > MOST if given.has_more is None else given.has_more
    total = known if given.total is None else given.total
    completion: dict[str, Any] = {"values": [_text(v) for v in values[:MOST]]}
    if total is not None:
        completion["total"] = total
    return {"completion": completion | {"hasMore": more or len(values) > MOST}}


def _first(values: Iterable[Any]) -> list[Any]:
    """As many as show whether there are too many; of a query, no more rows than that."""
    sliceable = hasattr(values, "__getitem__")
    return list(values[: MOST + 1] if sliceable else islice(values, MOST + 1))  # type: ignore[index]


def _text(value: Any) -> str:
    encoded = encode(value)
    return well_formed(encoded) if isinstance(encoded, str) else json_text(encoded)


def _completer(name: str, source: Any, guards: Mapping[str, Any]) -> Completer:
    function = source if _is_function(source) else _choose_from(name, source)
    context_name, takes = _read(name, function)
    return Completer(
        **guards,
        function=function,
        kind=_kind(name, function),
        arguments=TextArguments((), context_name=context_name),
        argument=name,
        takes=takes,
    )


def _is_function(source: Any) -> bool:
    return inspect.isfunction(source) or inspect.ismethod(source)


def _choose_from(name: str, source: Any) -> Callable[[str], list[str]]:
    """What completes from a list: values that begin with the text, then those that hold it."""
    listed = isinstance(source, _LISTS) or (isinstance(source, type) and issubclass(source, Enum))
    if not listed:
        raise Refused(Problem.COMPLETERS, f"the completer of {name!r} cannot be called", _HINT)
    texts = [_text(value) for value in source]
    folded = [text.casefold() for text in texts]

    def choose(value: str) -> list[str]:
        typed = value.casefold()
        begins = [t for t, f in zip(texts, folded, strict=True) if f.startswith(typed)]
        holds = [t for t, f in zip(texts, folded, strict=True) if f.find(typed) > 0]
        return begins + holds

    return choose


def _read(name: str, function: Callable[..., Any]) -> tuple[str | None, tuple[str, ...]]:
    """The parameter that takes the Context, and those that take what was typed."""
    hints = signature.hints(function)
    parameters = inspect.signature(function).parameters.values()
    contexts = [p.name for p in parameters if signature.is_context(hints.get(p.name))]
    taken = tuple(p.name for p in parameters if p.name not in contexts and p.kind in _BY_NAME)
    fits = len(contexts) < 2 and len(taken) in (1, 2)
    if not fits or len(parameters) != len(contexts) + len(taken):
        raise Refused(
            Problem.COMPLETERS,
            f"the completer of {name!r} takes the wrong parameters",
            "It takes the text so far, then (if it wants them) the other arguments; and a Context"
            " by its annotation.",
        )
    return (contexts[0] if contexts else None), taken


def _kind(name: str, function: Callable[..., Any]) -> Kind:
    """A generator function is called like any other: what it yields are suggestions."""
    if inspect.isasyncgenfunction(function):
        raise Refused(
            Problem.COMPLETERS,
            f"the completer of {name!r} is an async generator",
            "Return a list.",
        )
    return Kind.ASYNC if inspect.iscoroutinefunction(function) else Kind.SYNC


def _implied(schema: Mapping[str, Any]) -> list[Any]:
    """The values of a closed choice: an Enum, a Literal, a boolean."""
    for option in schema.get("anyOf", (schema,)):
        if option.get("type") == "boolean":
            return ["true", "false"]
        if "enum" in option or "const" in option:
            return list(option.get("enum", [option.get("const")]))
    return []
