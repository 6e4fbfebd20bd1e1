"""Small deviations of real clients that are put right once validation has failed.

An integer sent as 5.0, which JSON Schema calls an integer, and (when lenient) an array or object
sent as a string that holds its JSON. Nothing else is converted.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from mcp_app.catalog.schemas import Schema, referred
from mcp_app.catalog.sentences import path_in
from mcp_app.protocol.messages import MOST_VALUES, holds_more

_EXACT: Final = 2**53
"""Beyond it a float no longer says which integer was meant."""
_CONTAINERS: Final = {"array": list, "object": dict}

Containers = Mapping[str, tuple[type, ...]]
"""The parameters that may arrive as JSON text, with the types that it may hold."""


def repaired(
    arguments: Mapping[str, Any], error: ValidationError, containers: Containers
) -> dict[str, Any] | None:
    """`arguments` with what can be put right, None where nothing can."""
    fixed: dict[str, Any] = {}
    for detail in error.errors(include_url=False):
        path = path_in(arguments, detail)
        name = str(path[0]) if path else ""
        if name not in arguments:
            continue
        if detail["type"] == "int_type" and is_integral(detail["input"]):
            fixed[name] = _with_integers(arguments[name])
        elif len(path) == 1 and name in containers:
            decoded = _decoded(arguments[name])
            if isinstance(decoded, containers[name]):
                fixed[name] = decoded
    return {**arguments, **fixed} if fixed else None


def container_types(schema: Schema, definitions: Schema) -> tuple[type, ...]:
    """The Python types of a schema that admits arrays or objects only, null aside; else none."""
    name = referred(schema)
    if name is not None:
        return container_types(definitions.get(name, {}), {})
    options = schema.get("anyOf") or schema.get("oneOf")
    if options is None:
        kind = _CONTAINERS.get(schema.get("type", ""))
        return (kind,) if kind else ()
    nested = [container_types(o, definitions) for o in options if o.get("type") != "null"]
    return tuple(kind for kinds in nested for kind in kinds) if all(nested) else ()


def is_integral(value: Any) -> bool:
    """Whether `value` is a float that stands for exactly one integer."""
    return isinstance(value, float) and abs(value) <= _EXACT and value.is_integer()


def _with_integers(value: Any) -> Any:
    """A JSON value with each integral float as an integer: the same value to JSON."""
    if is_integral(value):
        return int(value)
    if isinstance(value, Mapping):
        return {key: _with_integers(item) for key, item in value.items()}
    return [_with_integers(item) for item in value] if isinstance(value, list) else value


def _decoded(value: Any) -> Any:
    if not isinstance(value, str) or holds_more(value.encode(errors="replace"), MOST_VALUES):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None
