"""The legacy era: `initialize` agrees on a revision, and a session remembers it.

`2025-11-25 basic/lifecycle` and `basic/transports`, and the same pages of the three before it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_app.protocol import headers as names
from mcp_app.protocol.errors import (
    CapabilityNotNegotiated,
    InvalidParams,
    InvalidRequest,
    ProtocolError,
)
from mcp_app.protocol.messages import (
    DEEPEST_KEPT,
    Request,
    RequestId,
    dumps,
    is_deeper,
    is_request_id,
)
from mcp_app.protocol.route import Caching, Client, Route
from mcp_app.protocol.versions import BY_NAME, WITHOUT_HEADER, Era, ProtocolVersion


class LegacyDialect:
    """Answers without a field that a strict client of 2024 or 2025 would not know."""

    cancels_on_disconnect: Final = False

    def complete(
        self, result: Mapping[str, Any], server_info: Mapping[str, Any], caching: Caching | None
    ) -> dict[str, Any]:
        """The bare result."""
        return dict(result)

    def failure(self, request_id: RequestId | None, error: ProtocolError) -> dict[str, Any]:
        """An error response; `id` is null where none could be read (JSON-RPC 2.0 section 5)."""
        return {"jsonrpc": "2.0", "id": request_id, "error": error.to_error(error.legacy_code)}

    def status(self, error: ProtocolError) -> int:
        """The error's own: 200 for what JSON-RPC alone reports."""
        return error.status

    def undeclared(self, capabilities: Mapping[str, Any]) -> ProtocolError:
        """An ordinary JSON-RPC error: the client declares its capabilities once, at the start."""
        return CapabilityNotNegotiated(capabilities)

    def check_name(self, request: Request, headers: Mapping[str, str]) -> None:
        """Nothing to mirror in this era."""

    def check_parameter(self, header_name: str, value: Any, headers: Mapping[str, str]) -> None:
        """Nothing to mirror in this era."""


DIALECT: Final = LegacyDialect()

MOST_CAPABILITIES: Final = 16 * 1024
"""Bytes: a session remembers them."""


@dataclass(frozen=True, slots=True)
class Initialization:
    """What `initialize` asked for and what was agreed."""

    version: ProtocolVersion
    client: Client
    capabilities: Mapping[str, Any]


def read_initialize(
    params: Mapping[str, Any], served: tuple[ProtocolVersion, ...]
) -> Initialization:
    """Negotiate: the revision asked for where it is served, else the newest that is.

    Raises:
        InvalidParams: the capabilities are not an object, or larger or deeper than is kept.
    """
    capabilities = params.get("capabilities")
    if capabilities is not None and not isinstance(capabilities, dict):
        raise InvalidParams("The parameter 'capabilities' must be an object.")
    if is_deeper(capabilities, DEEPEST_KEPT):
        raise InvalidParams("The capabilities are nested beyond reason.")
    if len(dumps(capabilities)) > MOST_CAPABILITIES:
        raise InvalidParams(f"The capabilities are larger than {MOST_CAPABILITIES} bytes.")
    asked = params.get("protocolVersion")
    version = next((v for v in served if v.name == asked), served[0])
    return Initialization(version, Client.from_value(params.get("clientInfo")), capabilities or {})


def opening_route(served: tuple[ProtocolVersion, ...]) -> Route:
    """The route of `initialize` itself, which speaks no agreed revision yet."""
    return Route(version=served[0], dialect=DIALECT)


def check_version_header(
    headers: Mapping[str, str], served: tuple[ProtocolVersion, ...]
) -> ProtocolVersion | None:
    """The revision that a later request's header names, if it has one.

    Raises:
        InvalidRequest: it names a revision that is not served.
    """
    name = headers.get(names.PROTOCOL_VERSION)
    if name is None:
        return None
    version = BY_NAME.get(name.strip())
    if version is None or version not in served:
        known = ", ".join(v.name for v in served)
        raise InvalidRequest(f"Unsupported MCP-Protocol-Version header. Served: {known}.")
    return version


def assumed_version(served: tuple[ProtocolVersion, ...]) -> ProtocolVersion:
    """The revision of a request that is in no session and names none.

    Raises:
        InvalidRequest: it is not served, so that the header is required.
    """
    if WITHOUT_HEADER in served:
        return WITHOUT_HEADER
    known = ", ".join(v.name for v in served)
    raise InvalidRequest(f"The MCP-Protocol-Version header is required. Served: {known}.")


def later_route(
    request: Request | None,
    named: ProtocolVersion | None,
    session_version: str | None,
    client: Client,
    capabilities: Mapping[str, Any],
    *,
    log_level: str = "",
) -> Route:
    """The route of a request after the handshake: the session's revision, else the header's."""
    agreed = BY_NAME.get(session_version or "")
    version = agreed or named or WITHOUT_HEADER
    return Route(
        version=version if version.era is Era.LEGACY else WITHOUT_HEADER,
        dialect=DIALECT,
        client=client,
        capabilities=capabilities,
        log_level=log_level or None,
        progress_token=_progress_token(request),
    )


def _progress_token(request: Request | None) -> RequestId | None:
    meta = (request.params or {}).get("_meta") if request is not None else None
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if is_request_id(token) else None
