"""What a new secret opens, asked of what answers `tools/list`; why, where that is nothing; and
what it may be tried with."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from mcp_app.access.checks import CallerAccess
from mcp_app.catalog.definition import Tool
from mcp_app.catalog.registry import default_server, servers
from mcp_app.dispatch.context import Caller
from mcp_app.dispatch.services import may_use, usable
from mcp_app.models import Token, TokenSecret
from mcp_app.protocol.errors import SwitchesUnavailable
from mcp_app.transports.subjects import access_of, caller_of


def why_nothing(token: Token, *, source: str) -> str:
    """Why its newest secret opens no tool now, in a sentence; empty where it opens some.

    Empty as well where it cannot be found out: no page that shows a secret breaks for that.
    """
    secret = _newest(token)
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


def first_call(token: Token, *, source: str) -> str:
    """The name of a tool that its newest secret may call as it is; empty where there is none.

    Such a tool reads, takes no argument that must be given, and asks nobody for anything. Empty as
    well where that cannot be found out.
    """
    secret = _newest(token)
    plain = [tool for tool in default_server.tools.values() if _is_plain(tool)]
    if secret is None or not plain:
        return ""
    caller = caller_of(token.user, secret, source=source)
    try:
        found = usable(access_of(caller), caller, plain)
    except SwitchesUnavailable:
        return ""
    return found[0].name if found else ""


def _is_plain(tool: Tool) -> bool:
    asks = tool.confirm is not None or tool.client_capabilities
    return tool.read_only and not asks and not tool.arguments.schema.get("required")


def _newest(token: Token) -> TokenSecret | None:
    return token.secrets.order_by("-id").first()


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
