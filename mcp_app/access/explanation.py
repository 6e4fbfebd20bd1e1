"""Why a caller may or may not use something: each gate that a call meets, in its order.

It asks what the gates ask, and spends nothing: no throttle counts, and nobody is asked to agree.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import Any, Final

from django.utils.translation import gettext as _
from rest_framework.exceptions import APIException

from mcp_app.access.checks import CallerAccess
from mcp_app.access.lacking import in_words, lacking
from mcp_app.access.permissions import class_text
from mcp_app.access.throttling import budget
from mcp_app.access.view import DeclaredView, method_of
from mcp_app.catalog.definition import Declaration, Tool
from mcp_app.conf import settings
from mcp_app.dispatch.context import Caller
from mcp_app.models import Token
from mcp_app.models.limits import names
from mcp_app.protocol.errors import SwitchedOff, SwitchesUnavailable
from mcp_app.scopes import way

MOST_NAMES: Final = 20
"""Tools of a token that are named."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate.

    Attributes:
        name: what is asked.
        passed: whether it lets the call through; None where that is only known at the call, or
            depends on the token.
        why: one sentence, or nothing.
        by_token: whether a token decides it, and none was chosen.
        lacks: Django's permissions that the user was asked for in vain.
    """

    name: str
    passed: bool | None
    why: str = ""
    by_token: bool = False
    lacks: Sequence[str] = field(default=(), compare=False)


def explain(declared: Declaration, caller: Caller, access: CallerAccess) -> list[Gate]:
    """The gates of a call in their order, all of them, also behind one that is shut."""
    return [
        _maintenance(access),
        *_permissions(declared, caller, access),
        *_hidden(declared, access),
        _switches(declared, access),
        _limits(declared, caller),
        _scopes(declared, caller),
        *_throttles(declared, access),
        *_at_the_call(declared),
    ]


def permission_classes(declared: Declaration) -> tuple[Any, ...]:
    """Those that guard it: its own, or the project's default."""
    own = declared.permission_classes
    return settings.permission_classes if own is None else own


def throttle_classes(declared: Declaration) -> tuple[Any, ...]:
    """Those that limit it: its own, or the project's default."""
    own = declared.throttle_classes
    return settings.throttle_classes if own is None else own


def _maintenance(access: CallerAccess) -> Gate:
    return _asked(_("maintenance"), access.in_maintenance, _("not closed"))


def _permissions(declared: Declaration, caller: Caller, access: CallerAccess) -> Iterator[Gate]:
    method = _("asked as an HTTP %s") % method_of(declared)
    for cls in permission_classes(declared):
        with lacking(caller.user) as missed:
            passed, why = _permits(cls, declared, access)
        missing = [] if passed else in_words(missed)
        name = _("permission %s") % class_text(cls)
        told = "; ".join(filter(None, (method, why, *missing)))
        yield Gate(name, passed, told, lacks=() if passed else tuple(missed))


def _permits(cls: Any, declared: Declaration, access: CallerAccess) -> tuple[bool, str]:
    try:
        request = access.request_for(declared)
        permission = cls()
        view: Any = DeclaredView(declared, request)
        passed = bool(permission.has_permission(request, view))
        return passed, "" if passed else str(getattr(permission, "message", "") or "")
    except APIException as error:
        return False, str(error.detail)
    except BaseException as error:
        return False, _("it failed with %s") % type(error).__name__


def _hidden(declared: Declaration, access: CallerAccess) -> Iterator[Gate]:
    if settings.list_tools and isinstance(declared, Tool):
        shown, hook = access.permits(declared), access.hidden_by(declared)
        why = _("hidden by %s") % hook if hook else _("not permitted above")
        yield Gate(_("hooks LIST_TOOLS"), shown, "" if shown else why)


def _switches(declared: Declaration, access: CallerAccess) -> Gate:
    return _asked(_("switches"), partial(access.switched_off, declared), _("none is set"))


def _asked(name: str, ask: Callable[[], SwitchedOff | None], nothing: str) -> Gate:
    try:
        off = ask()
    except SwitchesUnavailable as error:
        return Gate(name, False, error.message)
    return Gate(name, off is None, off.message if off else nothing)


def _limits(declared: Declaration, caller: Caller) -> Gate:
    name = _("limits of the token")
    if not isinstance(caller.auth, Token):
        tools = _("a token may be limited to named tools")
        both = _("a token may be limited to reading, or to named tools")
        return Gate(name, None, tools if declared.read_only else both, by_token=True)
    against = caller.limits_against(declared)
    if against:
        return Gate(name, False, "; ".join(_limit(limit, declared, caller) for limit in against))
    named = [] if caller.tools is None else [_listed(caller.tools)]
    limits = [*([_("reading")] if caller.reads_only else []), *named]
    within = _("the token is limited to %s") % ", ".join(limits)
    return Gate(name, True, within if limits else _("the token has none"))


def _limit(limit: str, declared: Declaration, caller: Caller) -> str:
    """In what way one of the token's limits does not admit it."""
    if limit == "reading":
        return _("the token may only read, and this is not read-only")
    if not isinstance(declared, Tool):
        return _("the token is limited to tools, and this is none")
    if not caller.tools:
        return _("the token may call no tool at all")
    return _("the token may call %s alone") % _listed(caller.tools)


def _listed(tools: Collection[str]) -> str:
    first, more = ", ".join(sorted(tools)[:MOST_NAMES]), len(tools) - MOST_NAMES
    return _("%(first)s and %(n)d more") % {"first": first, "n": more} if more > 0 else first


def _scopes(declared: Declaration, caller: Caller) -> Gate:
    if declared.scopes and not isinstance(caller.auth, Token):
        needs = _("the token needs %s") % ", ".join(declared.scopes)
        return Gate(_("scopes"), None, needs, by_token=True)
    missing = caller.lacks(declared.scopes)
    if missing:
        return Gate(_("scopes"), False, _("the token lacks %s") % ", ".join(missing))
    needed = ", ".join(_told(scope, caller) for scope in declared.scopes)
    return Gate(_("scopes"), True, _("needs %s") % (needed or _("none")))


def _told(scope: str, caller: Caller) -> str:
    """A needed scope, and through which of the token's own it is implied."""
    held = names(caller.auth.scopes) if isinstance(caller.auth, Token) else frozenset()
    through = way(held, scope)[:-1]
    told = {"scope": scope, "others": " → ".join(through)}
    return _("%(scope)s (through %(others)s)") % told if through else scope


def _throttles(declared: Declaration, access: CallerAccess) -> Iterator[Gate]:
    for cls in throttle_classes(declared):
        yield Gate(_("throttle %s") % class_text(cls), *_throttled(cls, declared, access))


def _throttled(cls: Any, declared: Declaration, access: CallerAccess) -> tuple[bool | None, str]:
    request = access.request_for(declared)
    try:
        found = budget(cls(), request, DeclaredView(declared, request))
    except NotImplementedError:
        return None, _("it can only be asked by counting a call")
    except BaseException as error:
        return None, _("it failed with %s") % type(error).__name__
    if found is None:
        return True, _("it limits nothing here")
    used = _("%(used)d of %(rate)s are used") % {"used": found.used, "rate": found.rate}
    if not found.wait:
        return True, used
    next_one = _("the next fits in %d s") % max(1, ceil(found.wait))
    return False, f"{used}; {next_one}"


def _at_the_call(declared: Declaration) -> Iterator[Gate]:
    if declared.client_capabilities:
        needed = ", ".join(declared.client_capabilities)
        yield Gate(_("capabilities of the client"), None, _("needs %s") % needed)
    if not isinstance(declared, Tool):
        return
    for hook in settings.before_call:
        why = _("not asked here: it is given the arguments, and may have effects")
        yield Gate(_("hook %s") % class_text(hook), None, why)
    if declared.confirm is not None:
        why = _("a person is asked: %s") % declared.confirm
        yield Gate(_("confirmation"), None, why)
