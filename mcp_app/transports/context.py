"""What a caller's lists hold, as they are sent, and what they cost the context of a model.

The lists are made by the handlers that answer at the endpoint; nothing is recorded.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from mcp_app.access.checks import CallerAccess
from mcp_app.catalog.definition import Declaration
from mcp_app.catalog.registry import MCPServer
from mcp_app.conf import settings
from mcp_app.dispatch.context import Caller
from mcp_app.dispatch.dispatcher import Reply
from mcp_app.transports.endpoint import endpoint_for
from mcp_app.transports.inside import message

BYTES_A_TOKEN: Final = 4
"""A rule of thumb: how a model counts, only its own maker knows."""

_LISTS: Final = {
    "tools": ("tools/list", "name"),
    "resources": ("resources/list", "uri"),
    "resourceTemplates": ("resources/templates/list", "uriTemplate"),
    "prompts": ("prompts/list", "name"),
}


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a caller is shown, as it is sent, and its bytes."""

    key: str
    sent: dict[str, Any]
    size: int

    @property
    def tokens(self) -> int:
        """The estimate."""
        return tokens_of(self.size)


@dataclass(frozen=True, slots=True)
class Listed:
    """One list of a caller's: what it holds, or why it is refused."""

    member: str
    items: list[Item]
    size: int = 0
    """Bytes of all its pages together."""
    refusal: str = ""

    @property
    def sent(self) -> list[dict[str, Any]]:
        """The items as they are sent."""
        return [item.sent for item in self.items]


def tokens_of(size: int) -> int:
    """About how many tokens so many bytes of JSON are."""
    return -(-size // BYTES_A_TOKEN)


def lists_of(caller: Caller, access: CallerAccess, server: MCPServer) -> list[Listed]:
    """Each list that the server has for `caller`, read to its end."""
    kinds = {"tools", *server.kinds()}
    served = {
        "tools": "tools" in kinds,
        "resources": bool(server.resources),
        "resourceTemplates": bool(server.templates),
        "prompts": "prompts" in kinds,
    }
    return [_listed(member, caller, access, server) for member in _LISTS if served[member]]


def _listed(member: str, caller: Caller, access: CallerAccess, server: MCPServer) -> Listed:
    method, key = _LISTS[member]
    shelves: Any = {
        "tools": server.tools,
        "resources": server.resources,
        "resourceTemplates": server.templates,
        "prompts": server.prompts,
    }
    items: list[Item] = []
    size = 0
    for reply in _pages(method, caller, access, server):
        answer = json.loads(reply.body)
        if "error" in answer:
            return Listed(member, [], refusal=answer["error"]["message"])
        size += len(reply.body)
        items += [
            Item(sent[key], sent, _size(shelves[member].get(sent[key])))
            for sent in answer["result"][member]
        ]
    return Listed(member, items, size)


def _pages(method: str, caller: Caller, access: CallerAccess, server: MCPServer) -> Iterator[Reply]:
    dispatcher = endpoint_for(server).dispatcher
    params: dict[str, Any] = {}
    while True:
        reply = dispatcher.prepare(message(method, params, caller, access, client="Django admin"))
        assert isinstance(reply, Reply), "a list is answered at once"
        yield reply
        following = json.loads(reply.body).get("result", {}).get("nextCursor")
        if following is None:
            return
        params = {"cursor": following}


def _size(declared: Declaration | None) -> int:
    """Of the very bytes that stand for it in a list."""
    return 0 if declared is None else len(declared.definition_json(settings.versions[0]))
