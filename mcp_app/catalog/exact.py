"""Makes pydantic tell 1 from true, where it goes by equality: in literals and enums.

In JSON they are two values, and so says the schema that callers read.
"""

from collections.abc import Callable
from typing import Any, Final

from pydantic_core import PydanticKnownError, SchemaValidator, core_schema

_OPAQUE: Final = frozenset({"metadata", "config", "default", "serialization"})
_ERRORS: Final = {"literal": "literal_error", "enum": "enum"}


def exact_validator(core: Any) -> SchemaValidator:
    """What validates by a core schema, whose literals and enums take no boolean for a number."""
    guarded = _exact(core)
    if guarded == core:
        return SchemaValidator(core)
    try:
        # Else a model inside would be judged by the validator that it brings along.
        return SchemaValidator(guarded, _use_prebuilt=False)
    except TypeError:  # a pydantic that cannot be told so
        return SchemaValidator(guarded)


def _exact(schema: Any) -> Any:
    if isinstance(schema, list | tuple):
        return type(schema)(map(_exact, schema))
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if isinstance(kind, str) and kind in _ERRORS:
        return _guarded(schema, _ERRORS[kind])
    return {key: value if key in _OPAQUE else _exact(value) for key, value in schema.items()}


def _guarded(schema: Any, error: Any) -> Any:
    expected = _expected(schema)
    if not any(isinstance(value, bool | int | float) for value in expected):
        return schema
    return core_schema.no_info_before_validator_function(_check(expected, error), schema)


def _expected(schema: Any) -> list[Any]:
    if schema["type"] == "literal":
        return list(schema["expected"])
    return [member.value for member in schema["members"]]


def _check(expected: list[Any], error: Any) -> Callable[[Any], Any]:
    told = ", ".join(map(repr, expected))

    def check(value: Any) -> Any:
        if not isinstance(value, bool | int | float):
            return value
        for other in expected:
            if other == value and isinstance(other, bool) is isinstance(value, bool):
                return other
        raise PydanticKnownError(error, {"expected": told})

    return check
