"""A tool's structured result: the schema from its return annotation, and values that fit it."""

import collections.abc
import json
import math
from collections.abc import Iterator
from enum import Enum
from types import NoneType
from typing import Any, Final, Never, NoReturn, Union, get_args, get_origin

from pydantic import ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError, SchemaSerializer, SchemaValidator

from mcp_app.catalog.encoding import converter, encode, json_text
from mcp_app.catalog.errors import OutputInvalid, Unencodable
from mcp_app.catalog.problems import Problem, Refused
from mcp_app.catalog.results import ToolResult
from mcp_app.catalog.schemas import Generator, Schema, tidied
from mcp_app.catalog.serialization import agreeing, has_models
from mcp_app.catalog.shapes import adapter, first_line
from mcp_app.catalog.signature import UNSTATED, union_members, without_metadata
from mcp_app.protocol.content import ContentBlock

_CONFIG: Final = ConfigDict(
    allow_inf_nan=False,
    revalidate_instances="always",
    ser_json_bytes="base64",
    ser_json_timedelta="iso8601",
    val_json_bytes="base64",
)
_FREE: Final = (UNSTATED, Any, object, None, NoneType, Never, NoReturn)
"""Annotations that say nothing a schema could say."""
_LISTS: Final = (list, tuple, collections.abc.Sequence, collections.abc.Iterable)
_KEY: Final = "result"


class Output:
    """Fits a tool's value to its return annotation. Without a schema, any value that encodes."""

    def __init__(self, annotation: Any = UNSTATED, *, structured: bool = True) -> None:
        """`structured=False` keeps results to their text. Raises Refused for what has no schema."""
        self.offered = structured
        """Whether a result may carry `structuredContent`."""
        self.content = _is_content(annotation)
        """Whether the annotation promises content blocks."""
        self.schema: Schema | None = None
        """The `outputSchema`; None where there is nothing to promise."""
        self.wrapped = False
        """Whether the schema holds the value as `{"result": value}`: it is not an object."""
        described = _described(annotation)
        if structured and described is not UNSTATED:
            self._describe(described)

    def structured(self, value: Any) -> Any:
        """The `structuredContent` that stands for `value`.

        Raises:
            OutputInvalid: it does not fit the schema.
            Unencodable: something in it has no JSON form.
        """
        return self.wrap(self.encode(value))

    def encode(self, value: Any) -> Any:
        """`value` as JSON that fits the schema, not wrapped. Raises as `structured` does."""
        value = list(value) if isinstance(value, Iterator) else value
        return encode(value) if self.schema is None else self._fitted(_converted(value))

    def wrap(self, encoded: Any) -> Any:
        """An encoded value as the object that every revision takes."""
        bare = not self.wrapped if self.schema is not None else isinstance(encoded, dict)
        return encoded if bare else {_KEY: encoded}

    def _describe(self, annotation: Any) -> None:
        core, self.schema, self.wrapped = _built(annotation)
        self._validator = SchemaValidator(core)
        self._serializer = SchemaSerializer(core)
        # Elsewhere the validator refuses NaN; a model was validated by its own rules.
        self._may_hold_nan = '"number"' in json.dumps(self.schema) and has_models(core)

    def _fitted(self, value: Any) -> Any:
        try:
            return self._dumped(
                self._validator.validate_python({_KEY: value}, from_attributes=True)
            )
        except _MISFITS as error:
            return self._fitted_encoded(value, error)

    def _fitted_encoded(self, value: Any, error: Exception) -> Any:
        """Once more from its JSON form, which reads values that only the encoder knows."""
        try:
            text = json_text({_KEY: encode(value)})
            return self._dumped(self._validator.validate_json(text))
        except (Unencodable, *_MISFITS):
            raise OutputInvalid(_told(error)) from None

    def _dumped(self, checked: Any) -> Any:
        dumped = self._serializer.to_python(checked, mode="json", by_alias=True, warnings="error")
        if self._may_hold_nan and not _finite(dumped):
            raise _NotFinite("a number is not finite, which JSON cannot say")
        return dumped[_KEY]


class _NotFinite(ValueError):
    """A NaN or an infinity where the schema promises a number."""


_MISFITS: Final = (ValidationError, PydanticSerializationError, UnicodeDecodeError, _NotFinite)


def _built(annotation: Any) -> tuple[Any, Schema, bool]:
    """The core schema of the wrapped value, the `outputSchema`, and whether that is wrapped."""
    try:
        core = agreeing(adapter("Result", {_KEY: annotation}, _CONFIG).core_schema)
        schema = tidied(Generator().generate(core, mode="serialization"))
    except Exception as error:
        raise Refused(
            Problem.RETURN_ANNOTATION,
            "the return annotation has no JSON Schema",
            f"Give a type with output=, or turn it off with output=None: {first_line(error)}",
        ) from None
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    inner = tidied(schema["properties"][_KEY] | definitions)
    if inner.get("type") == "object":
        return core, inner, False
    wrapper = {"type": "object", "properties": {_KEY: schema["properties"][_KEY]}}
    return core, wrapper | {"required": [_KEY]} | definitions, True


def _converted(value: Any) -> Any:
    """What a registered type stands for, not encoded yet: the annotation may read attributes.

    A type whose registered encoder refuses it may still have the attributes that are asked for.
    """
    convert = converter(type(value))
    try:
        return value if convert is None else convert(value)
    except Unencodable:
        return value


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    return not isinstance(value, list) or all(map(_finite, value))


def _told(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    lines = []
    for detail in error.errors(include_url=False, include_input=False):
        path = ".".join(str(part) for part in detail["loc"][1:])
        lines.append(f"{path or 'the result'}: {detail['msg']}")
    return "; ".join(lines[:20])


# --- what an annotation promises ---------------------------------------------------------------


def _described(annotation: Any) -> Any:
    """The part of a return annotation that a schema describes, UNSTATED where none is left."""
    members = union_members(without_metadata(annotation))
    if not members:
        return UNSTATED if _is_plain(annotation) else annotation
    left = tuple(member for member in members if member is not ToolResult)
    if any(_is_content(member) or _bare(member) in (Any, object) for member in left):
        return UNSTATED  # one of its forms has no structure at all
    if all(map(_is_plain, left)):
        return UNSTATED
    return annotation if left == members else Union[left]  # noqa: UP007 - built at run time


def _bare(annotation: Any) -> Any:
    return without_metadata(annotation)


def _is_plain(annotation: Any) -> bool:
    """Text, content, or nothing: no schema."""
    bare = _bare(annotation)
    if bare is ToolResult or any(bare is free for free in _FREE) or _is_content(bare):
        return True
    return isinstance(bare, type) and issubclass(bare, str) and not issubclass(bare, Enum)


def _is_content(annotation: Any) -> bool:
    """Whether every form of `annotation` is a content block or a list of them."""
    bare = _bare(annotation)
    members = union_members(bare)
    if members:
        return all(map(_is_content, members))
    if get_origin(bare) in _LISTS:
        parts = [part for part in get_args(bare) if part is not Ellipsis]
        return bool(parts) and all(map(_is_content, parts))
    return isinstance(bare, type) and issubclass(bare, ContentBlock)
