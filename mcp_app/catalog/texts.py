"""Arguments that arrive as text alone: a URI template's variables, and a prompt's arguments.

Knows how text becomes typed values. The rules of names, defaults and secrets are those of tools.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Json, ValidationError
from pydantic_core import SchemaValidator

from mcp_app.catalog.arguments import Arguments, core_of, field_of
from mcp_app.catalog.errors import ArgumentsInvalid
from mcp_app.catalog.sentences import problems
from mcp_app.catalog.signature import Parameter
from mcp_app.protocol.content import well_formed


class TextArguments(Arguments):
    """Reads numbers, dates, enum members … from their text, and lists and objects from JSON."""

    def __init__(
        self,
        parameters: Iterable[Parameter],
        *,
        context_name: str | None = None,
        sensitive: Iterable[str] = (),
    ) -> None:
        """Raises Refused where a parameter cannot be described or validated."""
        parameters = tuple(parameters)
        super().__init__(parameters, context_name=context_name, sensitive=sensitive)
        names = dict(zip((p.name for p in parameters), self.schema["properties"], strict=True))
        core = core_of({p.name: field_of(_written(p, names, self._containers)) for p in parameters})
        self._read = SchemaValidator(core).validate_strings

    @property
    def required(self) -> frozenset[str]:
        """The names without which nothing can be bound."""
        return frozenset(self.schema.get("required", ()))

    def bind(self, arguments: Mapping[str, Any], *, lenient: bool = True) -> dict[str, Any]:
        """What to call the function with. A null reads as absent when `lenient`.

        Raises:
            ArgumentsInvalid: naming each field that does not fit.
        """
        self._refuse_a_flood(arguments)
        if lenient:
            arguments = {name: value for name, value in arguments.items() if value is not None}
        _check_texts(arguments)
        try:
            bound: dict[str, Any] = self._read(dict(arguments), strict=True)
        except ValidationError as error:
            told = problems(error, arguments, sensitive=self.sensitive)
            raise ArgumentsInvalid(told) from None
        return bound


def _check_texts(arguments: Mapping[str, Any]) -> None:
    other = [name for name, value in arguments.items() if not isinstance(value, str)]
    if other:
        raise ArgumentsInvalid([(name, "should be a string") for name in other])
    broken = [name for name, value in arguments.items() if value != well_formed(value)]
    if broken:
        raise ArgumentsInvalid([(name, "is not valid Unicode") for name in broken])


def _written(
    parameter: Parameter, names: Mapping[str, str], containers: Mapping[str, Any]
) -> Parameter:
    if names[parameter.name] not in containers:
        return parameter
    return replace(parameter, annotation=Annotated[parameter.annotation, Json])
