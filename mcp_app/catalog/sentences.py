"""pydantic's validation errors as sentences for a model: which field, and what it should be.

No sentence echoes an input value: pydantic's own messages sometimes do, and those are rewritten.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mcp_app.catalog.errors import ArgumentsInvalid

Path = tuple[str | int, ...]

WHOLE: Final = "arguments"
"""The path of what is wrong with no field in particular."""

_LONGEST_PART: Final = 80
_MOST: Final = 1000
"""Each problem costs microseconds to tell, and nobody reads more."""
_AUTHORED: Final = frozenset({"value_error", "assertion_error"})
_OPENINGS: Final = (
    ("Input should ", "should "),
    ("Value error, ", ""),
    ("Assertion failed, ", ""),
)
_SENTENCES: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "missing": lambda ctx: "is required",
    "extra_forbidden": lambda ctx: "is not a known argument",
    "uuid_parsing": lambda ctx: "should be a valid UUID",
    "bytes_invalid_encoding": lambda ctx: "should be valid base64",
    "json_invalid": lambda ctx: "is not valid JSON, or is nested too deeply",
    "union_tag_invalid": lambda ctx: (
        f"{ctx['discriminator']} should be one of {ctx['expected_tags']}"
    ),
    "union_tag_not_found": lambda ctx: f"{ctx['discriminator']} is required",
}
"""Where pydantic's message would quote the input, or can be said in fewer words."""

_LENGTHS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "too_long": lambda ctx: f"should have at most {_characters(ctx['max_length'])}",
    "too_short": lambda ctx: f"should have at least {_characters(ctx['min_length'])}",
}
"""Of a text whose type does not tell pydantic that it is one, such as `str | int` or a secret."""


def problems(
    error: ValidationError, data: Any, *, sensitive: frozenset[str] = frozenset()
) -> list[tuple[str, str]]:
    """A (field path, sentence) pair for each field in `error`, in the order of the fields.

    `data` is what was validated: it tells the parts of pydantic's location that are fields from
    those that name a member of a union.
    """
    told: dict[str, list[str]] = {}
    if error.error_count() > _MOST:
        return [(WHOLE, f"have {error.error_count()} problems")]
    for detail in error.errors():
        path = path_in(data, detail)
        sentences = told.setdefault(_written(path), [])
        secret = bool(path) and path[0] in sensitive
        sentence = _sentence(detail, secret)
        if sentence not in sentences:
            sentences.append(sentence)
    return [(path, ", or ".join(sentences)) for path, sentences in told.items()]


def without_inputs(error: ValidationError) -> str:
    """What the product's own code found invalid, for a log: pydantic's text would quote it."""
    details = error.errors()[:_MOST] if error.error_count() <= _MOST else []
    told = (f"{_written(each['loc'])} {_sentence(each, False)}" for each in details)
    return f"{error.title}: {'; '.join(told) or f'{error.error_count()} problems'}"


def discreet(
    error: ArgumentsInvalid, arguments: Mapping[str, Any], sensitive: frozenset[str]
) -> ArgumentsInvalid:
    """The same problems, but for the words of a sentence that quotes a sensitive argument."""
    hidden = {text for name in sensitive for text in _texts(arguments.get(name)) if text}
    return ArgumentsInvalid(
        [
            (path, "is not valid" if any(text in told for text in hidden) else told)
            for path, told in error.problems
        ]
    )


def _texts(value: Any) -> Iterator[str]:
    """Each text and number in a JSON value."""
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def path_in(data: Any, detail: ErrorDetails) -> Path:
    """The part of a location that exists in `data`, and the key that is missing from it."""
    path: list[str | int] = []
    for part in detail["loc"]:
        if _holds(data, part):
            data = data[part]
            path.append(part)
    if detail["type"] == "missing":
        path.append(detail["loc"][-1])
    return tuple(path)


def _holds(data: Any, part: str | int) -> bool:
    if isinstance(data, Mapping):
        return part in data
    return isinstance(data, list) and isinstance(part, int) and part < len(data)


def _written(path: Iterable[str | int]) -> str:
    return ".".join(str(part)[:_LONGEST_PART] for part in path) or WHOLE


def _sentence(detail: ErrorDetails, secret: bool) -> str:
    kind, message = detail["type"], detail["msg"]
    # An author's own message may quote the value; only pydantic's kinds have an address.
    if secret and (kind in _AUTHORED or "url" not in detail):
        return "is not valid"
    if kind in _LENGTHS and _is_text(detail):
        return _LENGTHS[kind](detail["ctx"])
    if kind in _SENTENCES:
        return _SENTENCES[kind](detail.get("ctx", {}))
    for opening, said in _OPENINGS:
        if message.startswith(opening):
            return said + message.removeprefix(opening)
    return message[:1].lower() + message[1:]


def _is_text(detail: ErrorDetails) -> bool:
    """A text that was read as a list is as long as the list, and has items."""
    sent = detail["input"]
    return isinstance(sent, str) and len(sent) == detail["ctx"]["actual_length"]


def _characters(number: int) -> str:
    return f"{number} character" if number == 1 else f"{number} characters"
