"""What a product may say to a call of a tool before it runs, and who is shown which tools."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

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
        result: what the tool seems to have returned instead of failing; None for a failure. Where
            it is a text that the tool's output schema has no place for, the model reads it as one.
    """

    message: str
    result: Any = None


@dataclass(frozen=True, slots=True)
class Confirm:
    """The call runs once a person has agreed to it.

    Args:
        message: what the person is asked. Their agreement is to these words: where a hook has
            others by the time the call runs, they are asked again.
        fallback: what the tool seems to have returned where nobody can be asked, as `Deny` has its
            result; None for a failure in words. Who declines, or does not answer, gets words.
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
CANNOT_ASK: Final = "A hook cannot ask its client; one before a call may return confirm(…)."


class NotConfirmed(Exception):
    """Nobody has agreed to the call. Its text is for the model, unless there is a fallback.

    The call log has the name of the class: what came instead of a yes.
    """

    def __init__(self, why: str, fallback: Any = None) -> None:
        self.fallback = fallback
        super().__init__(f"{_NEEDS_CONFIRMATION}: {why}")


class Declined(NotConfirmed):
    """The user said no."""

    def __init__(self) -> None:
        super().__init__("the user declined.")


class Dismissed(NotConfirmed):
    """The user closed the question."""

    def __init__(self) -> None:
        super().__init__("the user closed the question without an answer.")


class NotAnswered(NotConfirmed):
    """The user was asked, and did not answer in time."""


class QuestionChanged(NotConfirmed):
    """The user agreed to other words than those that hold, each time they were asked."""

    def __init__(self) -> None:
        super().__init__("the question changed each time it was answered.")


class Judgement(NamedTuple):
    """What was decided before a call."""

    verdict: Verdict
    denied_by: str = ""
    """The hook that denied, by its dotted name."""


def judged(
    hooks: Sequence[BeforeCall], context: Context, tool: Tool, arguments: Mapping[str, Any]
) -> Judgement:
    """What all hooks, and the tool's own `confirm`, come to. A hook that breaks denies."""
    asked: list[Confirm] = []
    for hook in (declared, *hooks):
        verdict = _asked(hook, context, tool, arguments)
        if isinstance(verdict, Deny):
            return Judgement(verdict, name_of(hook))
        if isinstance(verdict, Confirm):
            asked.append(verdict)
    return Judgement(_together(asked))


def declared(context: Context, tool: Tool, arguments: Mapping[str, Any]) -> Verdict | None:
    """The hook that every tool has: its own `confirm`."""
    if tool.confirm is None:
        return None
    return Confirm(tool.confirm.format_map({k: _readable(v) for k, v in arguments.items()}))


def name_of(hook: Any) -> str:
    """A hook as a setting would name it; of an object, its class."""
    named = hook if hasattr(hook, "__qualname__") else type(hook)
    return f"{named.__module__}.{named.__qualname__}"


def _readable(value: Any) -> str:
    """An argument within a question: a model must not write the rest of it."""
    text = "".join(c if c.isprintable() else " " for c in str(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _asked(hook: BeforeCall, context: Context, tool: Tool, arguments: Mapping[str, Any]) -> Verdict:
    try:
        verdict = hook(context, tool, dict(arguments))
        if verdict is None or isinstance(verdict, Allow):
            return ALLOWED
        if isinstance(verdict, Deny | Confirm):
            # It may be lazily translated; what is agreed to are the words in one language.
            return replace(verdict, message=str(verdict.message))
        raise TypeError(f"a hook before a call returned a {type(verdict).__name__}")
    except BaseException:
        # A gate that breaks stays shut, whatever breaks it.
        logger.exception(
            "The hook %s failed before the call of %r: it is refused", name_of(hook), tool.name
        )
        return _BROKEN


def _together(asked: Sequence[Confirm]) -> Verdict:
    if not asked:
        return ALLOWED
    fallback = next((one.fallback for one in asked if one.fallback is not None), None)
    return Confirm("\n".join(one.message for one in asked), fallback)


def hidden(
    hooks: Sequence[ListTools], context: Context, tools: Sequence[Tool]
) -> Mapping[Tool, str]:
    """Those of `tools` that a hook leaves out, with its name. A hook that breaks leaves none in."""
    found: dict[Tool, str] = {}
    left = list(tools)
    for hook in hooks:
        try:
            kept = set(hook(context, tuple(left)))
        except BaseException:
            logger.exception("The hook %s, which lists tools, failed: none is shown", name_of(hook))
            kept = set()
        found |= {tool: name_of(hook) for tool in left if tool not in kept}
        left = [tool for tool in left if tool in kept]
    return found


def introduced(hooks: Sequence[ServerInfo], context: Context) -> Mapping[str, Any]:
    """What the hooks say of the server to one caller, the last word each; one that breaks, none."""
    told: dict[str, Any] = {}
    for hook in hooks:
        try:
            told |= hook(context)
        except BaseException:
            logger.exception("The hook %s, which introduces the server, failed", name_of(hook))
    return told
