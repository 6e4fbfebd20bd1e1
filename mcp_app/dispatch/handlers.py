"""One function a method: what each answers. A Call leaves more to do."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import orjson

from mcp_app.catalog.definition import Declaration
from mcp_app.dispatch.admission import call_tool, get_prompt, read_resource
from mcp_app.dispatch.calls import Call
from mcp_app.dispatch.completion import NOTHING, complete
from mcp_app.dispatch.listening import KINDS, MOST_WATCHED, Listening, can_watch, listen
from mcp_app.dispatch.services import Access, Inbound, Services
from mcp_app.protocol import cursor as cursors
from mcp_app.protocol import headers as names
from mcp_app.protocol.envelope import LOG_LEVELS
from mcp_app.protocol.errors import InvalidParams, ResourceNotFound
from mcp_app.protocol.handshake import read_initialize
from mcp_app.protocol.versions import Era, ProtocolVersion, of_era


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished result, and the HTTP headers that go with it."""

    result: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[Inbound, Services], Answer | Call | Listening]


def discover(inbound: Inbound, services: Services) -> Answer:
    """`2026-07-28 server/discover`: every revision that is served, and what it offers."""
    result: dict[str, Any] = {
        "supportedVersions": [version.name for version in services.config.versions],
        "capabilities": capabilities(inbound, services, inbound.route.version),
    }
    return Answer(result | _instructions(services, inbound.access))


def initialize(inbound: Inbound, services: Services) -> Answer:
    """`2025-11-25 basic/lifecycle`: agree on a revision and open a session."""
    served = of_era(services.config.versions, Era.LEGACY)
    agreed = read_initialize(inbound.params, served)
    inbound.record.protocol_version = agreed.version.name
    result: dict[str, Any] = {
        "protocolVersion": agreed.version.name,
        "capabilities": capabilities(inbound, services, agreed.version),
        "serverInfo": _server_info(services, inbound.access, agreed.version),
    }
    result |= _instructions(services, inbound.access)
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
    return _listed("tools", services.server.tools.values(), inbound, services)


def list_resources(inbound: Inbound, services: Services) -> Answer:
    """`server/resources` Listing Resources, as `list_tools`, by URI."""
    return _listed("resources", services.server.resources.values(), inbound, services)


def list_templates(inbound: Inbound, services: Services) -> Answer:
    """`server/resources` Resource Templates, as `list_tools`, by template."""
    return _listed("resourceTemplates", services.server.templates.values(), inbound, services)


def list_prompts(inbound: Inbound, services: Services) -> Answer:
    """`server/prompts` Listing, as `list_tools`."""
    return _listed("prompts", services.server.prompts.values(), inbound, services)


def complete_argument(inbound: Inbound, services: Services) -> Answer | Call:
    """`server/utilities/completion`: nothing where an argument has no completer."""
    call = complete(inbound, services)
    return Answer(NOTHING) if call is None else call


def features(services: Services) -> frozenset[str]:
    """What the server has to offer: its methods are served, and its capabilities announced.

    Of resources, prompts and completions only what something was declared of.
    """
    offered = services.server.kinds() | {"tools"}
    return offered | {"completions"} if services.server.completes else offered


def offers(feature: str, services: Services) -> bool:
    """Whether it is one of `features`: tools always are."""
    return feature == "tools" or feature in features(services)


def capabilities(inbound: Inbound, services: Services, version: ProtocolVersion) -> dict[str, Any]:
    """The `ServerCapabilities` of `version`, the same for every caller.

    What needs a stream is announced where the door has them.
    """
    offered = features(services)
    known = offered if version.completions else offered - {"completions"}
    told: dict[str, dict[str, Any]] = {name: {} for name in sorted(known | {"logging"})}
    if inbound.streams:
        for kind in KINDS:
            if kind in told:
                told[kind]["listChanged"] = True
        if "resources" in told:
            told["resources"]["subscribe"] = True
    return told


def set_level(inbound: Inbound, services: Services) -> Answer:
    """`2025-11-25 server/utilities/logging` Setting Log Level, for the session."""
    level = inbound.params["level"]
    if level not in LOG_LEVELS:
        raise InvalidParams(f"The level must be one of {', '.join(LOG_LEVELS)}.")
    _remember(inbound, services, log_level=level)
    return Answer({})


def subscribe(inbound: Inbound, services: Services) -> Answer:
    """`2025-11-25 server/resources` Subscriptions, for the session."""
    uri = inbound.params["uri"]
    if not can_watch(uri, inbound, services):
        raise ResourceNotFound(uri)
    known = inbound.session.subscriptions if inbound.session is not None else ()
    if len(known) >= MOST_WATCHED:
        raise InvalidParams(f"A session may watch at most {MOST_WATCHED} resources.")
    _remember(inbound, services, subscriptions=sorted({*known, uri}))
    return Answer({})


def unsubscribe(inbound: Inbound, services: Services) -> Answer:
    """The opposite; of what is not watched, too."""
    known = inbound.session.subscriptions if inbound.session is not None else ()
    _remember(inbound, services, subscriptions=sorted({*known} - {inbound.params["uri"]}))
    return Answer({})


def _remember(inbound: Inbound, services: Services, **changes: Any) -> None:
    """Without sessions there is nothing to remember it by, and nothing to stream it on."""
    if inbound.session is not None:
        services.sessions.update(inbound.session.session_id, **changes)
        services.session_changed(inbound.session.session_id, changes)


def _listed(
    member: str, everything: Collection[Declaration], inbound: Inbound, services: Services
) -> Answer:
    page, following = _page(inbound.usable(everything), inbound, services)
    version = inbound.route.version
    result: dict[str, Any] = {member: orjson.Fragment(_written(tuple(page), version))}
    if following is not None:
        result["nextCursor"] = following
    return Answer(result)


@lru_cache(maxsize=8)
def _written(page: tuple[Declaration, ...], version: ProtocolVersion) -> bytes:
    """A page as JSON. Few callers' pages differ, and what is on one depends on code alone."""
    return b"[" + b",".join([declared.definition_json(version) for declared in page]) + b"]"


def _page(
    usable: list[Declaration], inbound: Inbound, services: Services
) -> tuple[list[Declaration], str | None]:
    """Those after the request's cursor, and the cursor of the page after them."""
    start = 0
    cursor = inbound.params.get("cursor")
    key = services.cursor_key()
    if cursor is not None:
        try:
            after = cursors.read(cursor, purpose=inbound.request.method, key=key)
        except cursors.BadCursor as error:
            raise InvalidParams("The cursor is not valid; list again from the start.") from error
        start = bisect_right(usable, after, key=lambda declared: declared.key)
    size = services.config.PAGE_SIZE
    page = usable[start : start + size]
    if start + size >= len(usable):
        return page, None
    return page, cursors.make(page[-1].key, purpose=inbound.request.method, key=key)


def _instructions(services: Services, access: Access) -> dict[str, Any]:
    usual = services.server.instructions or services.config.INSTRUCTIONS
    text = access.introduction().get("instructions", usual)
    return {"instructions": str(text)} if text else {}


def _server_info(services: Services, access: Access, version: ProtocolVersion) -> Mapping[str, Any]:
    info = server_info(services, access)
    return info if version.titles else {key: info[key] for key in ("name", "version")}


def server_info(services: Services, access: Access) -> Mapping[str, Any]:
    """The `Implementation` object of this endpoint: the server's own words, else the settings'.

    What the product's hooks have for the caller comes before both.
    """
    info = dict(services.config.server_info)
    server = services.server
    if server.name != "default":
        info["name"] = server.name
    if server.title:
        info["title"] = server.title
    if server.version:
        info["version"] = server.version
    told = access.introduction()
    return info | {name: told[name] for name in _OF_A_CALLER if name in told}


_OF_A_CALLER: Final = ("name", "title", "version")

HANDLERS: Final[Mapping[str, Handler]] = {
    "server/discover": discover,
    "initialize": initialize,
    "ping": ping,
    "logging/setLevel": set_level,
    "resources/subscribe": subscribe,
    "resources/unsubscribe": unsubscribe,
    "subscriptions/listen": listen,
    "tools/list": list_tools,
    "tools/call": call_tool,
    "resources/list": list_resources,
    "resources/templates/list": list_templates,
    "resources/read": read_resource,
    "prompts/list": list_prompts,
    "prompts/get": get_prompt,
    "completion/complete": complete_argument,
}
