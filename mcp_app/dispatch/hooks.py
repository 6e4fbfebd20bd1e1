"""What a product may say to a call of a tool before it runs, and who is shown which tools."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from mcp_app.catalog.definition import Tool
from mcp_app.dispatch.context import Context

logger: Final = logging.getLogger("mcp_app.hooks")


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run, as far as this hook is concerned; the next one is asked."""


@dataclass(frozen=True, slots=True)
class Deny:
    """The call does not run.

    Args:
        message: what the model is told.
        result: what the tool seems to have returned instead of failing; None for a failure.
    """

    message: str
    result: Any = None


@dataclass(frozen=True, slots=True)
class Confirm:
    """The call runs once a person has agreed to it.

    Args:
        message: what the person is asked.
        fallback: what the tool seems to have returned where nobody can be asked, or nobody
            agreed; None for a failure in words.
    """

    message: str
    fallback: Any = None


Verdict: TypeAlias = Allow | Deny | Confirm
BeforeCall: TypeAlias = Callable[[Context, Tool, Mapping[str, Any]], Verdict | None]
ListTools: TypeAlias = Callable[[Context, Sequence[Tool]], Iterable[Tool]]

ServerInfo: TypeAlias = Callable[[Context], Mapping[str, Any]]
"""Any of `name`, `title`, `version` and `instructions`."""

ALLOWED: Final = Allow()
_LONGEST: Final = 200
"""Characters of an argument that a question shows."""
_BROKEN: Final = Deny("The call was refused.")
_NEEDS_CONFIRMATION: Final = "This call needs a person's confirmation, and none was given"


class NotConfirmed(Exception):
    """Nobody has agreed to the call. Its text is for the model."""

    def __init__(self, confirm: Confirm, why: str) -> None:
        self.fallback = confirm.fallback
        super().__init__(f"{_NEEDS_CONFIRMATION}: {why}")


def judged(
    hooks: Sequence[BeforeCall], context: Context, tool: Tool, arguments: Mapping[str, Any]
) -> Verdict:
    """What all hooks, and the tool's own `confirm`, come to. A hook that breaks denies."""
    asked: list[Confirm] = []
    if tool.confirm is not None:
        told = {name: _readable(value) for name, value in arguments.items()}
        asked.append(Confirm(tool.confirm.format_map(told)))
    for hook in hooks:
        verdict = _asked(hook, context, tool, arguments)
        if isinstance(verdict, Deny):
            return verdict
        if isinstance(verdict, Confirm):
            asked.append(verdict)
    return _together(asked)


def _readable(value: Any) -> str:
    """An argument within a question: a model must not write the rest of it."""
    text = "".join(c if c.isprintable() else " " for c in str(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _asked(hook: BeforeCall, context: Context, tool: Tool, arguments: Mapping[str, Any]) -> Verdict:
    try:
        verdict = hook(context, tool, dict(arguments))
        if verdict is None or isinstance(verdict, Verdict):
            return verdict or ALLOWED
        raise TypeError(f"a hook before a call returned a {type(verdict).__name__}")
    except Exception:
        # A gate that breaks stays shut.
        logger.exception("A hook before the call of %r failed: it is refused", tool.name)
        return _BROKEN


def _together(asked: Sequence[Confirm]) -> Verdict:
    if not asked:
        return ALLOWED
    fallback = next((one.fallback for one in asked if one.fallback is not None), None)
    return Confirm("\n".join(one.message for one in asked), fallback)


def shown(hooks: Sequence[ListTools], context: Context, tools: Sequence[Tool]) -> frozenset[Tool]:
    """Those of `tools` that every hook leaves. A hook that breaks leaves none."""
    left = list(tools)
    for hook in hooks:
        try:
            kept = set(hook(context, tuple(left)))
        except Exception:
            logger.exception("A hook that lists tools failed: none is shown")
            return frozenset()
        left = [tool for tool in left if tool in kept]
    return frozenset(left)


def introduced(hooks: Sequence[ServerInfo], context: Context) -> Mapping[str, Any]:
    """What the hooks say of the server to one caller, the last word each; one that breaks, none."""
    told: dict[str, Any] = {}
    for hook in hooks:
        try:
            told |= hook(context)
        except Exception:
            logger.exception("A hook that introduces the server failed")
    return told
