"""What a token opens, asked of what answers `tools/list`; and why, where that is nothing."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from mcp_app.access.checks import CallerAccess
from mcp_app.catalog.definition import Tool
from mcp_app.catalog.registry import MCPServer, servers
from mcp_app.dispatch.context import Caller
from mcp_app.dispatch.services import may_use
from mcp_app.models import Token, TokenSecret
from mcp_app.protocol.errors import SwitchesUnavailable
from mcp_app.transports.subjects import access_of, caller_of

Found = tuple[MCPServer, Tool]


@dataclass(frozen=True, slots=True)
class Reach:
    """What a token opens now.

    Attributes:
        tools: the names of those that a client would be shown.
        total: how many the servers have.
        why: where there are none, why, in a sentence.
        nearest: of what it does not open, the tool that the fewest gates keep from it.
    """

    tools: list[str]
    total: int
    why: str = ""
    nearest: Found | None = None


def reach_of(token: Token, *, source: str) -> Reach | None:
    """What it opens, saved or not, as though it were good; None where that cannot be found out.

    So no page that shows a secret breaks for it.
    """
    every = [(server, tool) for server in servers() for tool in server.tools.values()]
    caller = caller_of(token.user, TokenSecret(token=token), source=source)
    permitted = list(_permitted(caller))
    try:
        usable = [tool for _server, tool, access in permitted if may_use(access, caller, tool)]
    except SwitchesUnavailable:
        return None
    if usable or not every:
        return Reach(sorted({tool.name for tool in usable}), len(every))
    may = [(server, tool) for server, tool, _access in permitted]
    within = [(server, tool) for server, tool in may if caller.is_within_limits(tool)]
    why = _reason(caller, may, within)
    return Reach([], len(every), why, nearest=(within or may or every)[0])


def _permitted(caller: Caller) -> Iterator[tuple[MCPServer, Tool, CallerAccess]]:
    """What the user may call, whatever the token says."""
    for server in servers():
        access = access_of(caller, server)
        for tool in access.permitted(server.tools.values()):
            yield server, tool, access


def _reason(caller: Caller, permitted: list[Found], within: list[Found]) -> str:
    if caller.tools is not None and not caller.tools:
        return _("It is limited to no tool at all.")
    if not permitted:
        return _("Its user has no permission for any tool.")
    if not within:
        return _("None of the tools that its user may call is within its limits.")
    lacking = [caller.lacks(tool.scopes) for _server, tool in within]
    if all(lacking):
        scopes = ", ".join(sorted({scope for each in lacking for scope in each}))
        return _("Each tool that it might call needs a scope: %(scopes)s.") % {"scopes": scopes}
    return _("All that it might call is switched off at present.")
