"""What a new secret opens, asked of what answers `tools/list`; and why, where that is nothing."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from mcp_app.access.checks import CallerAccess
from mcp_app.catalog.definition import Tool
from mcp_app.catalog.registry import servers
from mcp_app.dispatch.context import Caller
from mcp_app.dispatch.services import may_use
from mcp_app.models import Token, TokenSecret
from mcp_app.protocol.errors import SwitchesUnavailable
from mcp_app.transports.subjects import access_of, caller_of


def why_nothing(token: Token, *, source: str) -> str:
    """Why its newest secret opens no tool now, in a sentence; empty where it opens some.

    Empty as well where it cannot be found out: no page that shows a secret breaks for that.
    """
    secret: TokenSecret | None = token.secrets.order_by("-id").first()
    if secret is None or not any(server.tools for server in servers()):
        return ""
    caller = caller_of(token.user, secret, source=source)
    permitted = list(_permitted(caller))
    try:
        if any(may_use(access, caller, tool) for tool, access in permitted):
            return ""
    except SwitchesUnavailable:
        return ""
    return _reason(caller, [tool for tool, _access in permitted])


def _permitted(caller: Caller) -> Iterator[tuple[Tool, CallerAccess]]:
    """What the user may call, whatever the token says."""
    for server in servers():
        access = access_of(caller, server)
        yield from ((tool, access) for tool in access.permitted(server.tools.values()))


def _reason(caller: Caller, permitted: list[Tool]) -> str:
    if caller.tools is not None and not caller.tools:
        return _("It is limited to no tool at all.")
    if not permitted:
        return _("Its user has no permission for any tool.")
    within = [tool for tool in permitted if caller.is_within_limits(tool)]
    if not within:
        return _("None of the tools that its user may call is within its limits.")
    lacking = [caller.lacks(tool.scopes) for tool in within]
    if all(lacking):
        scopes = ", ".join(sorted({scope for each in lacking for scope in each}))
        return _("Each tool that it might call needs a scope: %(scopes)s.") % {"scopes": scopes}
    return _("All that it might call is switched off at present.")
