"""What a browser is told before and after a page of another origin calls (Fetch, CORS protocol).

Whose pages may call is what the Origin gate decides: to call and to read the answer are one right.
No answer is shared with `*`, and none asks for cookies.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, TypeVar

from mcp_app.catalog.registry import MCPServer
from mcp_app.conf import settings
from mcp_app.protocol import headers as names
from mcp_app.transports import gates
from mcp_app.transports.incoming import HttpReply, HttpStream, Incoming

Answer = TypeVar("Answer", HttpReply, HttpStream)

EXPOSED: Final = "Mcp-Session-Id, WWW-Authenticate, Retry-After"
_REQUEST_HEADERS: Final = (
    "authorization",
    "content-type",
    names.PROTOCOL_VERSION,
    names.SESSION_ID,
    names.METHOD,
    names.NAME,
    names.LAST_EVENT_ID,
)
_MAX_AGE: Final = "7200"
"""Seconds that a browser may remember a preflight; the most that any of them does."""


def is_preflight(incoming: Incoming) -> bool:
    """Whether a browser asks, before it sends a page's request, what that request may hold."""
    asks = "access-control-request-method" in incoming.headers and "origin" in incoming.headers
    return settings.CORS and incoming.method == "OPTIONS" and asks


def preflight(server: MCPServer, incoming: Incoming) -> HttpReply:
    """The answer to a preflight whose origin has been let in; it asks for no credential."""
    return HttpReply(
        204,
        headers={
            "Access-Control-Allow-Methods": ", ".join(gates.methods(incoming)),
            "Access-Control-Allow-Headers": ", ".join(_allowed_headers(server)),
            "Access-Control-Max-Age": _MAX_AGE,
        },
    )


def readable(answer: Answer, incoming: Incoming) -> Answer:
    """`answer`, which the page that asked may read where its origin is let in."""
    if not (settings.enabled and settings.CORS) or not gates.has_known_origin(incoming):
        return answer
    shared = {
        "Access-Control-Allow-Origin": incoming.headers["origin"],
        "Access-Control-Expose-Headers": EXPOSED,
    }
    return replace(answer, headers={**answer.headers, **shared})


def _allowed_headers(server: MCPServer) -> Iterable[str]:
    """Ours, the product's own, and those that schemas ask a client to mirror arguments in."""
    mirrored = {
        f"mcp-param-{name.lower()}"
        for tool in server.tools.values()
        for name in tool.arguments.headers.values()
    }
    own = [settings.TOKEN_HEADER.lower()] if settings.TOKEN_HEADER else []
    return (*_REQUEST_HEADERS, *own, *sorted(mirrored))
