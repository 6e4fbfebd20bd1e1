"""What a new secret may be tried with: a tool that its holder may call as it is."""

from mcp_app.catalog.definition import Tool
from mcp_app.catalog.registry import default_server
from mcp_app.dispatch.services import usable
from mcp_app.models import Token, TokenSecret
from mcp_app.protocol.errors import SwitchesUnavailable
from mcp_app.transports.subjects import access_of, caller_of


def first_call(token: Token, *, source: str) -> str:
    """The name of a tool that a token opens and that needs nothing more; empty where there is none.

    Such a tool reads, takes no argument that must be given, and asks nobody for anything. Empty as
    well where that cannot be found out: no page that shows a secret breaks for that.
    """
    caller = caller_of(token.user, TokenSecret(token=token), source=source)
    plain = [tool for tool in default_server.tools.values() if _is_plain(tool)]
    try:
        found = usable(access_of(caller), caller, plain)
    except SwitchesUnavailable:
        return ""
    return found[0].name if found else ""


def _is_plain(tool: Tool) -> bool:
    asks = tool.confirm is not None or tool.client_capabilities
    return tool.read_only and not asks and not tool.arguments.schema.get("required")
