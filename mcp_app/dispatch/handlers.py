"""One function a method: what each answers. `tools/call` alone leaves more to do."""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from mcp_app.catalog.definition import Tool
from mcp_app.dispatch.calls import Call, admit
from mcp_app.dispatch.services import Inbound, Services
from mcp_app.protocol import cursor as cursors
from mcp_app.protocol import headers as names
from mcp_app.protocol.errors import InvalidParams
from mcp_app.protocol.handshake import read_initialize
from mcp_app.protocol.versions import Era, ProtocolVersion, of_era


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished result, and the HTTP headers that go with it."""

    result: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[Inbound, Services], Answer | Call]


def discover(inbound: Inbound, services: Services) -> Answer:
    """`2026-07-28 server/discover`: every revision that is served, and what it offers."""
    result: dict[str, Any] = {
        "supportedVersions": [version.name for version in services.config.versions],
        "capabilities": {"tools": {}, "logging": {}},
    }
    return Answer(result | _instructions(services))


def initialize(inbound: Inbound, services: Services) -> Answer:
    """`2025-11-25 basic/lifecycle`: agree on a revision and open a session."""
    served = of_era(services.config.versions, Era.LEGACY)
    agreed = read_initialize(inbound.params, served)
    inbound.record.protocol_version = agreed.version.name
    result: dict[str, Any] = {
        "protocolVersion": agreed.version.name,
        "capabilities": {"tools": {}},
        "serverInfo": _server_info(services, agreed.version),
    }
    result |= _instructions(services)
    if not services.config.LEGACY_SESSIONS:
        return Answer(result)
    session = services.sessions.create(
        inbound.caller,
        agreed.version.name,
        {"name": agreed.client.name, "version": agreed.client.version},
        agreed.capabilities,
    )
    inbound.record.session_id = session.session_id
    return Answer(result, {names.SESSION_ID: session.session_id})


def ping(inbound: Inbound, services: Services) -> Answer:
    """`2025-11-25 basic/utilities/ping`: an empty result."""
    return Answer({})


def list_tools(inbound: Inbound, services: Services) -> Answer:
    """`server/tools` Listing: what this caller may call, by name, a page at a time."""
    tools = [tool for tool in services.server.tools.values() if may_use(tool, inbound)]
    page, following = _page(tools, inbound, services)
    version = inbound.route.version
    result: dict[str, Any] = {
        "tools": [orjson.Fragment(tool.definition_json(version)) for tool in page]
    }
    if following is not None:
        result["nextCursor"] = following
    return Answer(result)


def may_use(tool: Tool, inbound: Inbound) -> bool:
    """Whether the caller's list holds the tool: permitted to the user and within the token."""
    return inbound.access.permits(tool) and not inbound.caller.lacks(tool.scopes)


def _page(tools: list[Tool], inbound: Inbound, services: Services) -> tuple[list[Tool], str | None]:
    """The tools after the request's cursor, and the cursor of the page after them."""
    start = 0
    cursor = inbound.params.get("cursor")
    key = services.cursor_key()
    if cursor is not None:
        try:
            after = cursors.read(cursor, purpose=inbound.request.method, key=key)
        except cursors.BadCursor as error:
            raise InvalidParams("The cursor is not valid; list again from the start.") from error
        start = bisect_right(tools, after, key=lambda tool: tool.name)
    size = services.config.PAGE_SIZE
    page = tools[start : start + size]
    if start + size >= len(tools):
        return page, None
    return page, cursors.make(page[-1].name, purpose=inbound.request.method, key=key)


def _instructions(services: Services) -> dict[str, Any]:
    text = services.server.instructions or services.config.INSTRUCTIONS
    return {"instructions": str(text)} if text else {}


def _server_info(services: Services, version: ProtocolVersion) -> Mapping[str, Any]:
    info = server_info(services)
    return info if version.titles else {key: info[key] for key in ("name", "version")}


def server_info(services: Services) -> Mapping[str, Any]:
    """The `Implementation` object of this endpoint: the server's own words, else the settings'."""
    info = dict(services.config.server_info)
    server = services.server
    if server.name != "default":
        info["name"] = server.name
    if server.title:
        info["title"] = server.title
    if server.version:
        info["version"] = server.version
    return info


HANDLERS: Final[Mapping[str, Handler]] = {
    "server/discover": discover,
    "initialize": initialize,
    "ping": ping,
    "tools/list": list_tools,
    "tools/call": admit,
}
