"""From a function and its keywords to a Tool: the rules that only tools have."""

from collections.abc import Callable, Iterable
from string import Formatter
from typing import Any, Final

from mcp_app.catalog import keywords, signature
from mcp_app.catalog.arguments import Arguments
from mcp_app.catalog.definition import Tool
from mcp_app.catalog.keywords import CommonOptions
from mcp_app.catalog.output import Output
from mcp_app.catalog.problems import Problem, Refused
from mcp_app.catalog.signature import UNSTATED

AS_ANNOTATED: Final[Any] = UNSTATED
"""Stands for an `output` that was not given: the return annotation says it."""


class Options(CommonOptions, total=False):
    """The keywords of `tool`."""

    read_only: bool
    destructive: bool | None
    idempotent: bool | None
    open_world: bool | None
    confirm: str | None
    output: Any
    structured: bool


def declared(function: Callable[..., Any], options: Options) -> Tool:
    """The tool that `function` and its keywords declare.

    Raises:
        Refused: with the first rule that they break.
    """
    keywords.check_keywords(options, Options.__annotations__)
    signed = signature.read(function)
    _check_hints(options)
    confirm = keywords.text(options.get("confirm"))
    asked = _check_confirm(confirm, [parameter.name for parameter in signed.parameters])
    arguments = Arguments(
        signed.parameters,
        context_name=signed.context_name,
        sensitive=keywords.names(options, "sensitive", Problem.SENSITIVE),
    )
    _check_question(asked & arguments.unshown)
    output = options.get("output", AS_ANNOTATED)
    return Tool(
        name=keywords.checked_name(options.get("name", function.__name__), Tool.noun),
        description=keywords.described(function, options, Tool.noun),
        function=function,
        kind=signed.kind,
        arguments=arguments,
        output=Output(
            signed.returns if output is AS_ANNOTATED else output,
            structured=options.get("structured", True),
        ),
        read_only=options.get("read_only", False),
        destructive=options.get("destructive"),
        idempotent=options.get("idempotent"),
        open_world=options.get("open_world"),
        confirm=confirm,
        **keywords.common(function, signed, options),
    )


def _check_confirm(text: str | None, parameters: list[str]) -> set[str | None]:
    """The arguments that stand in the question: no attribute of one, and no format."""
    if text is None:
        return set()
    whole: set[tuple[str | None, ...]] = {(name, "", None) for name in parameters}
    try:
        fields = {field[1:] for field in Formatter().parse(text) if field[1] is not None}
    except ValueError:
        fields = {("", "", None)}
    if not text or not fields <= whole:
        raise Refused(
            Problem.CONFIRM,
            f"confirm cannot be {text!r}",
            "Write a question; in braces, it may have the names of arguments and nothing else.",
        )
    return {name for name, *_ in fields}


def _check_question(secret: Iterable[Any]) -> None:
    """A question goes to the client, through its log and past its model."""
    if named := ", ".join(sorted(secret)):
        raise Refused(
            Problem.CONFIRM,
            f"confirm would show what is sensitive: {named}",
            "Ask without that argument, or without the part of it that is marked.",
        )


def _check_hints(options: Options) -> None:
    if options.get("read_only") and options.get("destructive"):
        raise Refused(
            Problem.HINTS,
            "a tool cannot be both read_only and destructive",
            "Remove the one that is wrong.",
        )
