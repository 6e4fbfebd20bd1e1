"""Where the era of a message is decided, once (`2026-07-28 basic/versioning`).

A message is modern when its body carries the modern version field, when it asks for a method that
only the modern era has, or when its header names a modern revision and it is no handshake. The
`Mcp-Method` and `Mcp-Name` headers decide nothing: older clients behind newer gateways have them.
"""

from collections.abc import Mapping
from typing import Any

from mcp_app.protocol import headers as names
from mcp_app.protocol.envelope import VERSION_KEY
from mcp_app.protocol.messages import Message, Notification, Request
from mcp_app.protocol.methods import METHODS
from mcp_app.protocol.versions import BY_NAME, Era


def era_of(message: Message, headers: Mapping[str, str]) -> Era:
    """The era that `message` belongs to."""
    if isinstance(message, Request | Notification) and _names_modern_version(message.params):
        return Era.MODERN
    method = message.method if isinstance(message, Request) else None
    if method == "initialize":
        return Era.LEGACY
    known = METHODS.get(method or "")
    if known is not None and Era.LEGACY not in known.eras:
        return Era.MODERN
    return era_of_header(headers)


def era_of_header(headers: Mapping[str, str]) -> Era:
    """The era that the version header alone points to; legacy where it says nothing known."""
    version = BY_NAME.get(headers.get(names.PROTOCOL_VERSION, "").strip())
    return version.era if version is not None else Era.LEGACY


def _names_modern_version(params: Mapping[str, Any] | None) -> bool:
    meta = (params or {}).get("_meta")
    return isinstance(meta, dict) and VERSION_KEY in meta
