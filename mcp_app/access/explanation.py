"""Why a caller may or may not call a tool: each gate that a call meets, in its order.

It asks what the gates ask, and spends nothing: no throttle counts, and nobody is asked to agree.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rest_framework.exceptions import APIException
from rest_framework.permissions import AND, OperandHolder, SingleOperandHolder

from mcp_app.access.checks import CallerAccess
from mcp_app.access.view import DeclaredView, method_of
from mcp_app.catalog.definition import Declaration, Tool
from mcp_app.conf import settings
from mcp_app.dispatch.context import Caller
from mcp_app.models import Token
from mcp_app.models.limits import names
from mcp_app.scopes import way


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate.

    Attributes:
        name: what is asked.
        passed: whether it lets the call through; None where that is only known at the call.
        why: one sentence, or nothing.
    """

    name: str
    passed: bool | None
    why: str = ""


def explain(tool: Tool, caller: Caller, access: CallerAccess) -> list[Gate]:
    """The gates of a call, all of them, also behind one that is shut."""
    return [
        *_permissions(tool, access),
        *_hooks(tool, access),
        _switches(tool, access),
        _limits(tool, caller),
        _scopes(tool, caller),
        *_at_the_call(tool),
    ]


def class_text(cls: Any) -> str:
    """A class by its name, and what `&`, `|` and `~` made of classes as it was written."""
    if isinstance(cls, SingleOperandHolder):
        return f"~{class_text(cls.op1_class)}"
    if isinstance(cls, OperandHolder):
        kind: object = cls.operator_class
        sign = "&" if kind is AND else "|"
        return f"({class_text(cls.op1_class)} {sign} {class_text(cls.op2_class)})"
    return str(getattr(cls, "__name__", cls))


def _permissions(tool: Tool, access: CallerAccess) -> Iterator[Gate]:
    own = tool.permission_classes
    method = f"asked as {method_of(tool)}"
    for cls in settings.permission_classes if own is None else own:
        passed, why = _permits(cls, tool, access)
        yield Gate(f"permission {class_text(cls)}", passed, f"{method}; {why}" if why else method)


def _permits(cls: Any, declared: Declaration, access: CallerAccess) -> tuple[bool, str]:
    try:
        request = access.request_for(declared)
        permission = cls()
        view: Any = DeclaredView(declared, request)
        passed = bool(permission.has_permission(request, view))
        return passed, "" if passed else str(getattr(permission, "message", "") or "")
    except APIException as error:
        return False, str(error.detail)
    except Exception as error:
        return False, f"it failed with {type(error).__name__}"


def _hooks(tool: Tool, access: CallerAccess) -> Iterator[Gate]:
    if settings.list_tools:
        shown = access.permits(tool)
        hook = access.hidden_by(tool)
        why = f"hidden by {hook}" if hook else "not permitted above"
        yield Gate("hooks LIST_TOOLS", shown, "" if shown else why)


def _switches(tool: Tool, access: CallerAccess) -> Gate:
    off = access.switched_off(tool)
    return Gate("switches", off is None, off.message if off else "none is set")


def _limits(tool: Tool, caller: Caller) -> Gate:
    tools = [] if caller.tools is None else sorted(caller.tools) or ["no tool"]
    limits = [*(["reading"] if caller.reads_only else []), *tools]
    why = f"the token is limited to {', '.join(limits)}" if limits else "the token has none"
    return Gate("limits of the token", caller.is_within_limits(tool), why)


def _scopes(tool: Tool, caller: Caller) -> Gate:
    missing = caller.lacks(tool.scopes)
    if missing:
        return Gate("scopes", False, f"the token lacks {', '.join(missing)}")
    return Gate(
        "scopes",
        True,
        f"needs {', '.join(_told(scope, caller) for scope in tool.scopes) or 'none'}",
    )


def _told(scope: str, caller: Caller) -> str:
    """A needed scope, and through which of the token's own it is implied."""
    held = names(caller.auth.scopes) if isinstance(caller.auth, Token) else frozenset()
    through = way(held, scope)[:-1]
    return f"{scope} (through {' → '.join(through)})" if through else scope


def _at_the_call(tool: Tool) -> Iterator[Gate]:
    own = tool.throttle_classes
    for cls in settings.throttle_classes if own is None else own:
        yield Gate(f"throttle {class_text(cls)}", None)
    if tool.client_capabilities:
        needed = ", ".join(tool.client_capabilities)
        yield Gate("capabilities of the client", None, f"needs {needed}")
    for hook in settings.before_call:
        yield Gate(f"hook {class_text(hook)}", None, "asked with the arguments")
    if tool.confirm is not None:
        yield Gate("confirmation", None, f"a person is asked: {tool.confirm}")
