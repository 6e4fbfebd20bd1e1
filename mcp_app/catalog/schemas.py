"""JSON Schema 2020-12 in the shape that strict clients take (pydantic's, tidied).

No generated titles, no `$ref` except to what is recursive, no look-ahead patterns, no OpenAPI
words. Knows nothing of tools.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from pydantic import Secret, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonRef, JsonSchemaValue
from pydantic_core import PydanticSerializationError, core_schema

from mcp_app.catalog.encoding import encode
from mcp_app.catalog.errors import Unencodable
from mcp_app.catalog.serialization import is_base64

Schema = dict[str, Any]

_ONE: Final = frozenset(
    {
        "items",
        "contains",
        "additionalProperties",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
        "not",
        "if",
        "then",
        "else",
        "contentSchema",
    }
)
_MANY: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NAMED: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})

_REF: Final = "#/$defs/"
_MARKS: Final = ("writeOnly", "write_only", "sensitive")


class Generator(GenerateJsonSchema):
    """pydantic's generator without the titles that it makes of names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never: a title is an author's."""
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """An object, titled only where its config says so."""
        return _untitled(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """As `model_schema`."""
        return _untitled(super().dataclass_schema(schema), schema["cls"])

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        """As `model_schema`."""
        return _untitled(super().typed_dict_schema(schema), schema.get("cls"))

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        """Any schema; an enum's title is set after `enum_schema` has written it."""
        written = super().generate_inner(schema)
        if schema["type"] == "enum":
            ref = written.get("$ref")
            found = self.get_schema_from_definitions(JsonRef(ref)) if ref else written
            _untitled(found or {}, schema["cls"])
        return written

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        """A string, or a number where one is taken; pydantic's pattern needs look-ahead."""
        written = super().decimal_schema(schema)
        for branch in written.get("anyOf", [written]):
            branch.pop("pattern", None)
        return written

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonSchemaValue:
        """Base64, whose length is not that of the bytes; in a model, what its config says."""
        if is_base64(schema):
            return {"type": "string", "contentEncoding": "base64"}
        written = super().bytes_schema(schema)
        if written.get("format") == "binary":  # OpenAPI's word for text
            del written["format"]
        return written

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """With the default, unless it is a secret's."""
        written = super().default_schema(schema)
        if is_marked(written):
            written.pop("default", None)
        return written

    def json_or_python_schema(self, schema: core_schema.JsonOrPythonSchema) -> JsonSchemaValue:
        """With the mark that pydantic gives `SecretStr` alone on every other `Secret` too."""
        written = super().json_or_python_schema(schema)
        function = dict(schema.get("serialization", {})).get("function")
        secret = function is not None and function is _hide()
        return written | {"writeOnly": True} if secret else written

    def encode_default(self, dft: Any) -> Any:
        """A default as the encoder writes it; what has no JSON form is not shown."""
        try:
            return encode(dft)
        except Unencodable as error:
            raise PydanticSerializationError(str(error)) from None

    def emit_warning(self, kind: Any, detail: str) -> None:
        """Say nothing: a default that is not shown still applies."""


@cache
def _hide() -> Any:
    """What pydantic serializes every `Secret[…]` with."""
    return TypeAdapter(Secret[int]).core_schema["serialization"]["function"]


def _untitled(schema: JsonSchemaValue, cls: type | None) -> JsonSchemaValue:
    config: Mapping[str, Any] = (
        getattr(cls, "model_config", None) or getattr(cls, "__pydantic_config__", None) or {}
    )
    if cls is not None and not config.get("title") and schema.get("title") == cls.__name__:
        del schema["title"]
    return schema


def tidied(schema: Schema) -> Schema:
    """`schema` with every reference inlined that does not lead back to itself.

    What is recursive stays in `$defs` of the root; a root that is itself a reference becomes what
    it refers to, so that it states its `type`.
    """
    definitions: Schema = schema.get("$defs", {})
    recursive = {name for name in definitions if name in _reachable(definitions[name], definitions)}
    root = {key: value for key, value in schema.items() if key != "$defs"}
    written = _inlined(root, definitions, recursive)
    while (name := referred(written)) is not None:
        rest = {key: value for key, value in written.items() if key != "$ref"}
        written = _inlined(definitions[name], definitions, recursive) | rest
    kept = sorted(_reachable(written, definitions) & recursive)
    if kept:
        written["$defs"] = {n: _inlined(definitions[n], definitions, recursive) for n in kept}
    return written


def is_marked(schema: Schema) -> bool:
    """Whether a schema says of itself that its value is never to be shown."""
    return schema.get("format") == "password" or any(schema.get(m) is True for m in _MARKS)


def referred(schema: Schema) -> str | None:
    """The name of the local definition that `schema` refers to."""
    ref = schema.get("$ref")
    return ref.removeprefix(_REF) if isinstance(ref, str) and ref.startswith(_REF) else None


def children(schema: Schema) -> list[tuple[str, str | None, Schema]]:
    """Each subschema with the keyword that holds it and its name among `properties`."""
    found: list[tuple[str, str | None, Schema]] = []
    for key, value in schema.items():
        if key in _ONE and isinstance(value, dict):
            found.append((key, None, value))
        elif key in _MANY and isinstance(value, list):
            found += [(key, None, item) for item in value if isinstance(item, dict)]
        elif key in _NAMED and isinstance(value, dict):
            found += [(key, name, item) for name, item in value.items() if isinstance(item, dict)]
    return found


def _mapped(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    written: Schema = {}
    for key, value in schema.items():
        if key in _ONE and isinstance(value, dict):
            written[key] = change(value)
        elif key in _MANY and isinstance(value, list):
            written[key] = [change(item) if isinstance(item, dict) else item for item in value]
        elif key in _NAMED and isinstance(value, dict):
            written[key] = {
                n: change(item) if isinstance(item, dict) else item for n, item in value.items()
            }
        else:
            written[key] = value
    return written


def _inlined(schema: Schema, definitions: Schema, recursive: set[str]) -> Schema:
    name = referred(schema)
    if name is not None and name not in recursive and name in definitions:
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return _inlined(definitions[name] | beside, definitions, recursive)
    # OpenAPI's word; its mapping would point at definitions that are gone.
    plain = {key: value for key, value in schema.items() if key != "discriminator"}
    return _mapped(plain, lambda child: _inlined(child, definitions, recursive))


def _reachable(schema: Schema, definitions: Schema) -> set[str]:
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        current = waiting.pop()
        name = referred(current)
        if name is not None and name in definitions and name not in found:
            found.add(name)
            waiting.append(definitions[name])
        waiting += [child for _, _, child in children(current)]
    return found
