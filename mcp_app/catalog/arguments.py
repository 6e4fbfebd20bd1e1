"""A tool's arguments: the JSON Schema that callers read, and the validator that agrees with it."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, NotRequired

from pydantic import ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_json

from mcp_app.catalog.disclosure import disclosure_of
from mcp_app.catalog.errors import ArgumentsInvalid
from mcp_app.catalog.exact import exact_validator
from mcp_app.catalog.mirrored import mirrored, without_null
from mcp_app.catalog.problems import Problem, Refused
from mcp_app.catalog.repairs import container_types, repaired
from mcp_app.catalog.schemas import Generator, Schema, tidied
from mcp_app.catalog.sentences import WHOLE, problems
from mcp_app.catalog.serialization import agreeing
from mcp_app.catalog.shapes import adapter, first_line
from mcp_app.catalog.signature import UNSTATED, Parameter

_CONFIG: Final = ConfigDict(
    extra="forbid", strict=True, allow_inf_nan=False, val_json_bytes="base64"
)
_UNWRITABLE: Final = "holds text that is not valid Unicode, or is nested too deeply"
_MOST_UNKNOWN: Final = 20
_ROUNDS: Final = 3
"""What was decoded from text may need another repair inside."""


class Arguments:
    """Validates what a caller sends and binds it to a function's parameters.

    Values are judged as JSON, strictly: no string becomes a number or a boolean, but dates,
    UUIDs, decimals and enum members are read from the strings that JSON has for them.
    """

    def __init__(
        self,
        parameters: Iterable[Parameter],
        *,
        context_name: str | None = None,
        sensitive: Iterable[str] = (),
    ) -> None:
        """Raises Refused where a parameter cannot be described or validated."""
        fields = {p.name: field_of(p) for p in parameters}
        core = core_of(fields)
        self.context_name = context_name
        """The parameter that takes the Context; it is no argument."""
        self.schema: Schema = _schema(core)
        """The `inputSchema`, JSON Schema 2020-12."""
        secret = _named(self.schema, fields, sensitive)
        self.disclosure = disclosure_of(self.schema, secret)
        """What a log may hold of them."""
        self.sensitive: frozenset[str] = secret | (
            frozenset(self.schema["properties"]) - self.disclosure.open
        )
        """The names of arguments that no log may hold, or not with all their parts."""
        self.unshown: frozenset[str] = frozenset(
            name
            for name, sent in zip(fields, self.schema["properties"], strict=True)
            if sent in self.sensitive
        )
        """The parameters of the function that take them."""
        self.headers: Mapping[tuple[str, ...], str] = MappingProxyType(
            mirrored(self.schema, self.sensitive)
        )
        """Path of each argument that is mirrored in a header, with the header's name."""
        self._containers = _containers(self.schema)
        self._validate = exact_validator(core).validate_json

    def bind(self, arguments: Mapping[str, Any], *, lenient: bool = True) -> dict[str, Any]:
        """What to call the function with: a value for each parameter but the context.

        `lenient` decodes an array or object that arrives as a string of JSON, once.

        Raises:
            ArgumentsInvalid: naming each field that does not fit.
        """
        self._refuse_a_flood(arguments)
        try:
            bound: dict[str, Any] = self._validate(_as_json(arguments), strict=True)
        except ValidationError as error:
            return self._bind_repaired(arguments, error, lenient)
        return bound

    def _refuse_a_flood(self, arguments: Mapping[str, Any]) -> None:
        if len(arguments) > len(self.schema["properties"]) + _MOST_UNKNOWN:
            unknown = [name for name in arguments if name not in self.schema["properties"]]
            raise ArgumentsInvalid(
                [(name[:80], "is not a known argument") for name in unknown[:_MOST_UNKNOWN]]
            )

    def _bind_repaired(
        self, arguments: Mapping[str, Any], error: ValidationError, lenient: bool
    ) -> dict[str, Any]:
        containers = self._containers if lenient else {}
        for _ in range(_ROUNDS):
            fixed = repaired(arguments, error, containers)
            if fixed is None:
                break
            arguments = fixed
            try:
                bound: dict[str, Any] = self._validate(_as_json(arguments), strict=True)
            except ValidationError as remaining:
                error = remaining
            else:
                return bound
        raise ArgumentsInvalid(problems(error, arguments, sensitive=self.sensitive)) from None


def _as_json(arguments: Mapping[str, Any]) -> bytes:
    # NaN stays NaN, so that it is refused as a number and not taken for a null.
    try:
        return to_json(arguments, inf_nan_mode="constants")
    except (ValueError, RecursionError):
        pass
    raise ArgumentsInvalid([(name, _UNWRITABLE) for name in _unwritable(arguments)])


def _unwritable(arguments: Mapping[str, Any]) -> list[str]:
    """The arguments that hold text which UTF-8 cannot carry, or are nested without end."""
    names = []
    for name, value in arguments.items():
        try:
            to_json({name: value}, inf_nan_mode="constants")
        except (ValueError, RecursionError):
            names.append(name.encode("ascii", "replace").decode())
    return names or [WHOLE]


def field_of(parameter: Parameter) -> Any:
    """The parameter as the annotation of a typed dict's key."""
    annotation, default = parameter.annotation, parameter.default
    if isinstance(default, FieldInfo):
        annotation, default = Annotated[annotation, default], UNSTATED
    if default is not UNSTATED:
        return NotRequired[Annotated[annotation, Field(default=default)]]
    return NotRequired[annotation] if _has_default(annotation) else annotation


def _has_default(annotation: Any) -> bool:
    stated = [m for m in getattr(annotation, "__metadata__", ()) if isinstance(m, FieldInfo)]
    return any(m.default is not PydanticUndefined or m.default_factory for m in stated)


def core_of(fields: dict[str, Any]) -> Any:
    """What validates such a typed dict. Raises Refused."""
    try:
        return agreeing(adapter("Arguments", fields, _CONFIG).core_schema)
    except Exception as error:
        raise _unsupported(fields, error) from None


def _unsupported(fields: dict[str, Any], error: Exception) -> Refused:
    for name, annotation in fields.items():
        try:
            adapter("Arguments", {name: annotation}, _CONFIG)
        except Exception as cause:
            return _refused(f"the annotation of {name!r} cannot be validated", cause)
    return _refused("the parameters cannot be validated", error)


def _schema(core: Any) -> Schema:
    try:
        raw = Generator().generate(core, mode="validation")
    except Exception as error:
        raise _refused("a parameter has no JSON Schema", error) from None
    schema = tidied(raw)
    properties = {n: without_null(p) for n, p in schema.get("properties", {}).items()}
    written: Schema = {"type": "object", "properties": properties}
    for keyword in ("required", "$defs"):
        if schema.get(keyword):
            written[keyword] = schema[keyword]
    return written | {"additionalProperties": False}


def _refused(told: str, error: Exception) -> Refused:
    return Refused(Problem.ANNOTATION, told, f"pydantic says: {first_line(error)}")


def _named(schema: Schema, fields: Mapping[str, Any], named: Iterable[str]) -> frozenset[str]:
    properties = schema["properties"]
    named = set(named)
    unknown = sorted(named - set(fields) - set(properties))
    if unknown:
        raise Refused(
            Problem.SENSITIVE,
            f"sensitive names no parameter: {', '.join(unknown)}",
            "Name parameters of the function.",
        )
    # An alias is what callers send, so it is what logs would show; order follows the fields.
    aliases = dict(zip(fields, properties, strict=True))
    return frozenset(named | {aliases[name] for name in named & set(aliases)})


def _containers(schema: Schema) -> dict[str, tuple[type, ...]]:
    definitions = schema.get("$defs", {})
    kinds = {n: container_types(p, definitions) for n, p in schema["properties"].items()}
    return {name: found for name, found in kinds.items() if found}
