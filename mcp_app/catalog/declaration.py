"""From a function and its keywords to a Tool: every rule that a declaration must keep."""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, TypedDict

from mcp_app.catalog import signature
from mcp_app.catalog.arguments import Arguments
from mcp_app.catalog.definition import Kind, Tool
from mcp_app.catalog.encoding import encode
from mcp_app.catalog.errors import Unencodable
from mcp_app.catalog.output import Output
from mcp_app.catalog.problems import Problem, Refused
from mcp_app.catalog.signature import UNSTATED
from mcp_app.protocol.methods import CLIENT_CAPABILITIES

AS_ANNOTATED: Final[Any] = UNSTATED
"""Stands for an `output` that was not given: the return annotation says it."""

_NAME: Final = re.compile(r"[\w.-]{1,128}")
_ICON_FIELDS: Final = {"src", "mimeType", "sizes", "theme"}


class Options(TypedDict, total=False):
    """The keywords of `tool`."""

    name: str
    title: str | None
    description: str | None
    read_only: bool
    destructive: bool | None
    idempotent: bool | None
    open_world: bool | None
    permission_classes: Iterable[Callable[[], Any]] | None
    throttle_classes: Iterable[Callable[[], Any]] | None
    throttle_scope: str | None
    scopes: Iterable[str]
    sensitive: Iterable[str]
    client_capabilities: Iterable[str]
    timeout: float | None
    atomic: bool | None
    queryset: Any
    icons: Iterable[Mapping[str, Any]]
    meta: Mapping[str, Any] | None
    output: Any
    structured: bool


def declared(function: Callable[..., Any], options: Options) -> Tool:
    """The tool that `function` and its keywords declare.

    Raises:
        Refused: with the first rule that they break.
    """
    _check_keywords(options)
    signed = signature.read(function)
    _check_hints(options)
    output = options.get("output", AS_ANNOTATED)
    return Tool(
        name=checked_name(options.get("name", function.__name__)),
        title=_text(options.get("title")),
        description=_description(function, options),
        function=function,
        kind=signed.kind,
        arguments=Arguments(
            signed.parameters,
            context_name=signed.context_name,
            sensitive=_names(options, "sensitive", Problem.SENSITIVE),
        ),
        output=Output(
            signed.returns if output is AS_ANNOTATED else output,
            structured=options.get("structured", True),
        ),
        module=function.__module__,
        read_only=options.get("read_only", False),
        destructive=options.get("destructive"),
        idempotent=options.get("idempotent"),
        open_world=options.get("open_world"),
        permission_classes=_permissions(options.get("permission_classes")),
        throttle_classes=_classes(
            options.get("throttle_classes"), Problem.THROTTLES, "throttle_classes", "allow_request"
        ),
        throttle_scope=options.get("throttle_scope"),
        scopes=tuple(_names(options, "scopes", Problem.SCOPES)),
        client_capabilities=_capabilities(options),
        timeout=_timeout(options.get("timeout")),
        atomic=_atomic(options.get("atomic"), signed.kind),
        queryset=options.get("queryset"),
        icons=tuple(_icon(icon) for icon in options.get("icons", ())),
        meta=_meta(options.get("meta")),
    )


def _check_keywords(options: Options) -> None:
    unknown = sorted(set(options) - set(Options.__annotations__))
    if unknown:
        raise Refused(
            Problem.KEYWORD,
            f"unknown keywords: {', '.join(unknown)}",
            f"The keywords are {', '.join(sorted(Options.__annotations__))}.",
        )


def checked_name(name: object) -> str:
    """`name`, where it can be a tool's: `2026-07-28 server/tools` Tool Names.

    Letters and digits of any script pass: the specification only says SHOULD.
    """
    if isinstance(name, str) and _NAME.fullmatch(name) and name.isprintable():
        return name
    raise Refused(
        Problem.NAME,
        f"{name!r} cannot be the name of a tool",
        "Use 1 to 128 letters, digits, underscores, hyphens and dots.",
    )


def _description(function: Callable[..., Any], options: Options) -> str:
    stated = options.get("description")
    text = _text(stated) if stated is not None else inspect.getdoc(function)
    if text and text.strip():
        return inspect.cleandoc(text)
    raise Refused(
        Problem.DESCRIPTION,
        "the tool has no description",
        "Write a docstring: it is what a model chooses the tool by.",
    )


def _text(value: Any) -> str | None:
    """A str, also of lazily translated text."""
    return None if value is None else str(value)


def _check_hints(options: Options) -> None:
    if options.get("read_only") and options.get("destructive"):
        raise Refused(
            Problem.HINTS,
            "a tool cannot be both read_only and destructive",
            "Remove the one that is wrong.",
        )


def _permissions(classes: Iterable[Any] | None) -> tuple[Callable[[], Any], ...] | None:
    stated = _classes(classes, Problem.PERMISSIONS, "permission_classes", "has_permission")
    if stated == ():
        raise Refused(
            Problem.PERMISSIONS_EMPTY,
            "permission_classes is empty",
            "Leave it out for the project's default, or say [AllowAny].",
        )
    return stated


def _classes(
    classes: Any, problem: Problem, keyword: str, method: str
) -> tuple[Callable[[], Any], ...] | None:
    if classes is None:
        return None
    stated = tuple(classes) if isinstance(classes, Iterable) else (classes,)
    for item in stated:
        # `A & B` of DRF is not a class, but an object that makes the permission when called.
        composed = callable(item) and not inspect.isroutine(item)
        if not (hasattr(item, method) if isinstance(item, type) else composed):
            raise Refused(
                problem,
                f"{keyword} holds {_told(item)}, which is not a class with {method}()",
                "Give the classes themselves, without calling them.",
            )
    return stated


def _told(item: Any) -> str:
    return item.__qualname__ if isinstance(item, type) else f"a {type(item).__name__}"


def _names(
    options: Options,
    keyword: Literal["scopes", "sensitive", "client_capabilities"],
    problem: Problem,
) -> list[str]:
    names: Any = options.get(keyword, ())
    if not isinstance(names, str) and isinstance(names, Iterable):
        listed = list(names)
        if all(isinstance(name, str) and name for name in listed):
            return listed
    raise Refused(problem, f"{keyword} is not a list of strings", f'Write {keyword}=["…"].')


def _capabilities(options: Options) -> tuple[str, ...]:
    names = _names(options, "client_capabilities", Problem.CAPABILITIES)
    unknown = sorted(set(names) - CLIENT_CAPABILITIES)
    if unknown:
        raise Refused(
            Problem.CAPABILITIES,
            f"no client can declare the capabilities {', '.join(unknown)}",
            f"The names are {', '.join(sorted(CLIENT_CAPABILITIES))}.",
        )
    return tuple(names)


def _atomic(atomic: bool | None, kind: Kind) -> bool | None:
    if atomic and kind in (Kind.ASYNC, Kind.ASYNC_GENERATOR):
        raise Refused(
            Problem.ATOMIC,
            "an async tool cannot run in a transaction",
            "Leave atomic out, or write the tool as a sync function.",
        )
    return atomic


def _timeout(seconds: Any) -> float | None:
    if seconds is None:
        return None
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if number and math.isfinite(seconds) and seconds > 0:
        return float(seconds)
    raise Refused(
        Problem.TIMEOUT,
        f"timeout must be a number of seconds above 0, not {seconds!r}",
        "Leave it out for the project's default.",
    )


def _icon(icon: Any) -> Mapping[str, Any]:
    source = icon.get("src") if isinstance(icon, Mapping) else None
    known = isinstance(icon, Mapping) and set(icon) <= _ICON_FIELDS
    if known and isinstance(source, str) and source.startswith(("https:", "data:")):
        return dict(icon)
    raise Refused(
        Problem.ICONS,
        "an icon needs a src that starts with https: or data:",
        "Write {'src': …}, with mimeType, sizes and theme as far as they are known.",
    )


def _meta(meta: Any) -> Mapping[str, Any] | None:
    if meta is None:
        return None
    try:
        encoded: Any = encode(meta)
        if isinstance(encoded, dict):
            return encoded
    except Unencodable:
        pass
    raise Refused(Problem.META, "meta is not an object of JSON values", "Give a dict.")
