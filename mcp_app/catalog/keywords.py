"""The keywords that tools, resources and prompts share: every rule that they must keep."""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, TypedDict

from mcp_app.catalog.encoding import encode
from mcp_app.catalog.errors import Unencodable
from mcp_app.catalog.problems import Problem, Refused
from mcp_app.catalog.signature import Kind, Signature
from mcp_app.protocol.methods import CLIENT_CAPABILITIES

_NAME: Final = re.compile(r"[\w.-]{1,128}")
AUDIT_LEVELS: Final = ("none", "names", "redacted", "digest")
"""How much the call log may keep of a call's arguments."""
_ICON_FIELDS: Final = {"src", "mimeType", "sizes", "theme"}


class CommonOptions(TypedDict, total=False):
    """The keywords that every declaration has."""

    name: str
    title: str | None
    description: str | None
    permission_classes: Iterable[Callable[[], Any]] | None
    throttle_classes: Iterable[Callable[[], Any]] | None
    throttle_scope: str | None
    scopes: Iterable[str]
    sensitive: Iterable[str]
    client_capabilities: Iterable[str]
    timeout: float | None
    atomic: bool | None
    audit: str | None
    queryset: Any
    icons: Iterable[Mapping[str, Any]]
    meta: Mapping[str, Any] | None


def common(function: Callable[..., Any], signed: Signature, options: Any) -> dict[str, Any]:
    """The fields of a `Declaration` that follow from keywords alone, but for its name.

    Raises:
        Refused: with the first rule that they break.
    """
    return {
        "title": text(options.get("title")),
        "module": function.__module__,
        "permission_classes": _permissions(options.get("permission_classes")),
        "throttle_classes": _classes(
            options.get("throttle_classes"), Problem.THROTTLES, "throttle_classes", "allow_request"
        ),
        "throttle_scope": options.get("throttle_scope"),
        "scopes": tuple(names(options, "scopes", Problem.SCOPES)),
        "client_capabilities": _capabilities(options),
        "timeout": _timeout(options.get("timeout")),
        "atomic": _atomic(options.get("atomic"), signed.kind),
        "audit": _audit(options.get("audit")),
        "queryset": options.get("queryset"),
        "icons": tuple(_icon(icon) for icon in options.get("icons", ())),
        "meta": _meta(options.get("meta")),
    }


def check_keywords(options: Any, known: Iterable[str]) -> None:
    """Refuse a keyword that means nothing."""
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise Refused(
            Problem.KEYWORD,
            f"unknown keywords: {', '.join(unknown)}",
            f"The keywords are {', '.join(sorted(known))}.",
        )


def checked_name(name: object, noun: str) -> str:
    """`name`, where it can be a tool's or a prompt's: `2026-07-28 server/tools` Tool Names.

    Letters and digits of any script pass: the specification only says SHOULD.
    """
    if isinstance(name, str) and _NAME.fullmatch(name) and name.isprintable():
        return name
    raise Refused(
        Problem.NAME,
        f"{name!r} cannot be the name of a {noun}",
        "Use 1 to 128 letters, digits, underscores, hyphens and dots.",
    )


def described(function: Callable[..., Any], options: Any, noun: str) -> str:
    """The description, from the keyword or the docstring; there must be one."""
    told = docstring(function, options)
    if told:
        return told
    raise Refused(
        Problem.DESCRIPTION,
        f"the {noun} has no description",
        f"Write a docstring: it is what the {noun} is chosen by.",
    )


def docstring(function: Callable[..., Any], options: Any) -> str:
    """The description, empty where there is none."""
    stated = options.get("description")
    told = text(stated) if stated is not None else inspect.getdoc(function)
    return inspect.cleandoc(told).strip() if told else ""


def text(value: Any) -> str | None:
    """A str, also of lazily translated text."""
    return None if value is None else str(value)


def names(
    options: Any,
    keyword: Literal["scopes", "sensitive", "client_capabilities"],
    problem: Problem,
) -> list[str]:
    """A keyword that is a list of strings."""
    given: Any = options.get(keyword, ())
    if not isinstance(given, str) and isinstance(given, Iterable):
        listed = list(given)
        if all(isinstance(name, str) and name for name in listed):
            return listed
    raise Refused(problem, f"{keyword} is not a list of strings", f'Write {keyword}=["…"].')


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


def _capabilities(options: Any) -> tuple[str, ...]:
    needed = names(options, "client_capabilities", Problem.CAPABILITIES)
    unknown = sorted(set(needed) - CLIENT_CAPABILITIES)
    if unknown:
        raise Refused(
            Problem.CAPABILITIES,
            f"no client can declare the capabilities {', '.join(unknown)}",
            f"The names are {', '.join(sorted(CLIENT_CAPABILITIES))}.",
        )
    return tuple(needed)


def _atomic(atomic: bool | None, kind: Kind) -> bool | None:
    if atomic and kind in (Kind.ASYNC, Kind.ASYNC_GENERATOR):
        raise Refused(
            Problem.ATOMIC,
            "an async function cannot run in a transaction",
            "Leave atomic out, or write a sync function.",
        )
    return atomic


def _audit(level: Any) -> str | None:
    if level is None or level in AUDIT_LEVELS:
        return level  # type: ignore[no-any-return]
    raise Refused(
        Problem.AUDIT,
        f"audit cannot be {level!r}",
        f"Write one of {', '.join(AUDIT_LEVELS)}, or leave it out for the project's default.",
    )


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
