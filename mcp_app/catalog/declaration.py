"""From a function and its keywords to a Tool: the rules that only tools have."""

from collections.abc import Callable, Iterable
from string import Formatter
from typing import Any, Final

from mcp_app.catalog import foreign, keywords, signature
from mcp_app.catalog.arguments import Arguments
from mcp_app.catalog.definition import Tool
from mcp_app.catalog.keywords import CommonOptions
from mcp_app.catalog.output import Output
from mcp_app.catalog.problems import Problem, Refused
from mcp_app.catalog.signature import UNSTATED, Parameter, Signature

AS_ANNOTATED: Final[Any] = UNSTATED
"""Stands for an `output` that was not given: the return annotation says it."""


class Options(CommonOptions, total=False):
    """The keywords of `tool`."""

    read_only: bool
    destructive: bool | None
    idempotent: bool | None
    open_world: bool | None
    confirm: str | None
    input: Any
    output: Any
    structured: bool


def declared(function: Callable[..., Any], options: Options) -> Tool:
    """The tool that `function`, or a class that is one, and its keywords declare.

    Raises:
        Refused: with the first rule that they break.
    """
    keywords.check_keywords(options, Options.__annotations__)
    by_class = foreign.tool_class(function)
    if by_class is None:
        return _declared(function, options, start=None)
    stated: Any = {**by_class.options, **options}
    tool = _declared(by_class.method, stated, start=by_class.start)
    by_class.settle(tool)
    return tool


def _declared(function: Callable[..., Any], options: Options, start: Any) -> Tool:
    """`start` gives what a call runs, where that is not `function` itself."""
    taken = foreign.input_shape(options["input"]) if options.get("input") is not None else None
    signed = signature.read(function, data=None if taken is None else foreign.DATA)
    output = options.get("output", AS_ANNOTATED)
    given = foreign.output_shape(output)
    bridged = taken is not None or given is not None or start is not None
    start = start or (lambda context: function)
    if given is not None:
        output = given.annotation
    return made(
        function,
        options,
        signed,
        run=foreign.joined(start, signed, taken, given) if bridged else function,
        parameters=foreign.arguments_of(signed, taken),
        context_name=foreign.CONTEXT if bridged else signed.context_name,
        output=signed.returns if output is AS_ANNOTATED else output,
    )


def made(
    function: Callable[..., Any],
    options: Options,
    signed: Signature,
    *,
    run: Callable[..., Any],
    parameters: tuple[Parameter, ...],
    context_name: str | None,
    output: Any,
    method: str | None = None,
) -> Tool:
    """The tool that calls `run`, and is described by `function` and its keywords.

    Raises:
        Refused: with the first rule that they break.
    """
    _check_hints(options)
    confirm = keywords.text(options.get("confirm"))
    asked = _check_confirm(confirm, [parameter.name for parameter in parameters])
    arguments = Arguments(
        parameters,
        context_name=context_name,
        sensitive=keywords.names(options, "sensitive", Problem.SENSITIVE),
    )
    _check_question(asked & arguments.unshown)
    return Tool(
        name=keywords.checked_name(options.get("name", function.__name__), Tool.noun),
        description=keywords.described(function, options, Tool.noun),
        function=run,
        kind=signed.kind,
        arguments=arguments,
        output=Output(output, structured=options.get("structured", True)),
        read_only=options.get("read_only", False),
        destructive=options.get("destructive"),
        idempotent=options.get("idempotent"),
        open_world=options.get("open_world"),
        confirm=confirm,
        method=method,
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
