"""Change notices: what a caller asked to hear of, and what of it concerns them.

`2026-07-28 basic/patterns/subscriptions`; in the handshake's era `notifications/*/list_changed`
and `resources/updated` on the session's own stream.
"""

import hashlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from mcp_app.catalog.definition import Declaration
from mcp_app.catalog.registry import MCPServer
from mcp_app.dispatch.services import Inbound, Services
from mcp_app.protocol.errors import InvalidParams, MethodNotFound
from mcp_app.protocol.versions import ProtocolVersion

FILTERS: Final[Mapping[str, str]] = {
    "toolsListChanged": "tools",
    "promptsListChanged": "prompts",
    "resourcesListChanged": "resources",
}
KINDS: Final = tuple(FILTERS.values())
MOST_WATCHED: Final = 1000
"""Resources that one session, or one subscription, may watch."""
_LONGEST_URI: Final = 2048
"""Characters of the URI of a resource that is watched, since it is kept."""


@dataclass(frozen=True, slots=True)
class Interest:
    """What a stream tells of."""

    kinds: frozenset[str] = frozenset()
    """Which lists."""
    uris: frozenset[str] = frozenset()
    """Which resources."""

    def as_filter(self) -> dict[str, Any]:
        """In the words of the acknowledgement."""
        told: dict[str, Any] = {name: True for name, kind in FILTERS.items() if kind in self.kinds}
        return told | ({"resourceSubscriptions": sorted(self.uris)} if self.uris else {})


@dataclass(frozen=True, slots=True)
class Credential:
    """Whose stream it is, so that it ends with the credential.

    Attributes:
        token_lookup: the public part of the secret that opened it; empty without one of ours.
        ends_at: when that secret ends by itself, as far as it was known.
    """

    user_id: Any
    token_id: int | None
    session_id: str | None
    token_lookup: str = ""
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Listening:
    """A `subscriptions/listen` request that was let in: it stays open."""

    inbound: Inbound
    interest: Interest
    fingerprints: Mapping[str, str]
    """Its lists as the caller has them now."""


def listen(inbound: Inbound, services: Services) -> Listening:
    """Let a subscription in, with the part of its filter that can be honoured.

    Raises:
        MethodNotFound: this door does not stream.
        InvalidParams: the filter is malformed, or names too many resources.
    """
    if not inbound.streams:
        raise MethodNotFound("Method not found")
    wanted = inbound.params["notifications"]
    offered = services.server.kinds()
    kinds = {kind for name, kind in FILTERS.items() if _flag(wanted, name) and kind in offered}
    uris = wanted.get("resourceSubscriptions") or []
    if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
        raise InvalidParams("resourceSubscriptions must be a list of URIs.")
    if len(uris) > MOST_WATCHED:
        raise InvalidParams(f"A subscription may watch at most {MOST_WATCHED} resources.")
    readable = {uri for uri in uris if can_watch(uri, inbound, services)}
    interest = Interest(frozenset(kinds), frozenset(readable))
    known = {kind: fingerprint(kind, inbound, services) for kind in kinds}
    return Listening(inbound, interest, known)


def _flag(wanted: Mapping[str, Any], name: str) -> bool:
    value = wanted.get(name)
    if value is not None and not isinstance(value, bool):
        raise InvalidParams(f"{name} must be true or false.")
    return bool(value)


def can_watch(uri: str, inbound: Inbound, services: Services) -> bool:
    """Whether the caller may read the resource, and so hear of its updates."""
    if len(uri) > _LONGEST_URI:
        return False
    found = services.server.find_resource(uri)
    return found is not None and inbound.may_use(found[0])


def fingerprint(kind: str, inbound: Inbound, services: Services) -> str:
    """A digest of a list as this caller sees it: the same as long as their list is."""
    return digest_of(kind, inbound.route.version, inbound.may_use, services.server)


def digest_of(
    kind: str, version: ProtocolVersion, may_use: Callable[[Declaration], bool], server: MCPServer
) -> str:
    """A digest of the part of a list that `may_use` admits. The same text is the same object."""
    digest = hashlib.sha256()
    for declared in server.listed(kind):
        if may_use(declared):
            digest.update(declared.definition_json(version))
            digest.update(b"\0")
    # Thousands of open streams see few different lists.
    return sys.intern(digest.hexdigest())
