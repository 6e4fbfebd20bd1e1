"""A JSON Schema as people read it: a row for each property, its type in words."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_app.catalog.schemas import Schema, is_marked, referred

_LIMITS: Final[Mapping[str, Any]] = {
    "minimum": _("≥ %s"),
    "exclusiveMinimum": _("> %s"),
    "maximum": _("≤ %s"),
    "exclusiveMaximum": _("< %s"),
    "multipleOf": _("a multiple of %s"),
    "minLength": _("length ≥ %s"),
    "maxLength": _("length ≤ %s"),
    "minItems": _("items ≥ %s"),
    "maxItems": _("items ≤ %s"),
    "pattern": _("matches %s"),
}
_MOST: Final = 12
"""Values of an enumeration that are spelled out."""
_DEEPEST: Final = 6
"""Types within types that are spelled out."""


@dataclass(frozen=True, slots=True)
class Property:
    """One property of an object's schema.

    Attributes:
        type: in words, such as "array of string".
        limits: what its value must keep to, in words.
        default: as JSON; None where there is none.
        sensitive: whether no log may hold it.
    """

    name: str
    type: str
    required: bool
    description: str
    limits: tuple[str, ...]
    default: str | None
    sensitive: bool
    schema: Schema


def properties(schema: Schema, sensitive: frozenset[str] = frozenset()) -> list[Property]:
    """The properties of an object's schema, in their order."""
    required, definitions = schema.get("required", ()), schema.get("$defs", {})
    # A schema may also be `true`, which says nothing of its values.
    stated = {
        name: found if isinstance(found, dict) else {}
        for name, found in schema.get("properties", {}).items()
    }
    return [
        Property(
            name=name,
            type=type_of(found, definitions),
            required=name in required,
            description=str(found.get("description", "")),
            limits=tuple(_limits(found)),
            default=json.dumps(found["default"], ensure_ascii=False)
            if "default" in found
            else None,
            sensitive=name in sensitive or is_marked(found),
            schema=plain(found, definitions),
        )
        for name, found in stated.items()
    ]


def type_of(schema: Any, definitions: Schema, depth: int = 0) -> str:
    """A schema's type in words."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return "any"
    name = referred(schema)
    if name is not None:
        return name
    if "const" in schema:
        return json.dumps(schema["const"], ensure_ascii=False)
    if "enum" in schema:
        return _choices(schema["enum"])
    several = schema.get("anyOf") or schema.get("oneOf")
    if several:
        words = (type_of(each, definitions, depth + 1) for each in several)
        return gettext(" or ").join(dict.fromkeys(words))
    return _named(schema, definitions, depth)


def plain(schema: Schema, definitions: Schema) -> Schema:
    """A schema behind its reference, without the null that it may also be."""
    name = referred(schema)
    if name is not None:
        schema = definitions.get(name, {}) | {k: v for k, v in schema.items() if k != "$ref"}
    several = schema.get("anyOf") or schema.get("oneOf") or []
    values = [each for each in several if isinstance(each, dict) and each.get("type") != "null"]
    if len(values) == 1 and len(values) < len(several):
        return plain(values[0], definitions) | {
            key: schema[key] for key in ("description", "default") if key in schema
        }
    return schema


def _named(schema: Schema, definitions: Schema, depth: int) -> str:
    kind = schema.get("type", "any")
    words = kind if isinstance(kind, str) else gettext(" or ").join(map(str, kind))
    if words == "array" and "items" in schema:
        return gettext("array of %s") % type_of(schema["items"], definitions, depth + 1)
    return f"{words} ({schema['format']})" if "format" in schema else words


def _choices(values: list[Any]) -> str:
    shown = [json.dumps(value, ensure_ascii=False) for value in values[:_MOST]]
    return " | ".join([*shown, "…"] if len(values) > _MOST else shown)


def _limits(schema: Schema) -> Iterator[str]:
    several = schema.get("anyOf") or [schema]
    for part in (each for each in several if isinstance(each, dict)):
        for keyword, words in _LIMITS.items():
            if keyword in part:
                yield str(words) % part[keyword]
