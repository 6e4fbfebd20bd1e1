"""Makes pydantic write values as the one encoder writes them, where no model says otherwise.

Bytes become standard base64, sets are sorted, and what is annotated with Any goes through the
encoder, so that a result reads the same with and without an annotation. What a pydantic model
holds is the model's own affair: its config and serializers decide.
"""

from collections.abc import Callable
from typing import Any, Final

from pydantic_core import core_schema

from mcp_app.catalog.encoding import base64_text, encode, in_order

_OPAQUE: Final = frozenset({"metadata", "config", "default", "serialization"})
_ANY: Final = core_schema.any_schema()
_COLLECTIONS: Final = frozenset({"dict", "list", "set", "frozenset", "tuple"})
_PARTS: Final = {
    "dict": ("values_schema",),
    "list": ("items_schema",),
    "set": ("items_schema",),
    "frozenset": ("items_schema",),
}


def agreeing(schema: Any) -> Any:
    """A copy of a core schema whose leaves serialize as the encoder does.

    Its collections report their first misfit only: each costs 200 bytes, and a body may hold
    millions.
    """
    if isinstance(schema, list):
        return [agreeing(item) for item in schema]
    if not isinstance(schema, dict) or _decides_itself(schema):
        return schema
    kind = schema.get("type")
    stated = _with_parts(schema, kind) if isinstance(kind, str) else schema
    copied = {k: v if k in _OPAQUE else agreeing(v) for k, v in stated.items()}
    if isinstance(kind, str) and kind in _SERIALIZED and "serialization" not in copied:
        copied["serialization"] = _SERIALIZED[kind]
    if isinstance(kind, str) and kind in _COLLECTIONS:
        copied["fail_fast"] = True
    return copied


def is_base64(schema: Any) -> bool:
    """Whether a core schema of bytes was made to serialize as base64."""
    return bool(schema.get("serialization") == _SERIALIZED["bytes"])


def has_models(schema: Any) -> bool:
    """Whether some part of a core schema is a pydantic model, or a dataclass of pydantic's."""
    if isinstance(schema, list):
        return any(map(has_models, schema))
    if not isinstance(schema, dict):
        return False
    return _decides_itself(schema) or any(map(has_models, schema.values()))


def _decides_itself(schema: dict[str, Any]) -> bool:
    cls = schema.get("cls")
    return schema.get("type") == "model" or (
        schema.get("type") == "dataclass" and "__pydantic_serializer__" in vars(cls)
    )


def _with_parts(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    return {**{part: _ANY for part in _PARTS.get(kind, ())}, **schema}


def _sorted(value: Any, handler: Callable[[Any], Any]) -> list[Any]:
    return in_order(handler(value))


_SORTED: Final = core_schema.wrap_serializer_function_ser_schema(_sorted, when_used="json")
_SERIALIZED: Final[dict[str, Any]] = {
    "any": core_schema.plain_serializer_function_ser_schema(encode, when_used="json"),
    "bytes": core_schema.plain_serializer_function_ser_schema(base64_text, when_used="json"),
    "set": _SORTED,
    "frozenset": _SORTED,
}
