"""The modern era: every request carries its revision, its client and its capabilities.

`2026-07-28 basic/index` `_meta`, `basic/versioning`, `basic/transports/streamable-http` Server
Validation. `open_envelope` is a ladder: the first rung that fails is the answer.
"""

from collections.abc import Mapping
from typing import Any, Final

from mcp_app.protocol import headers as names
from mcp_app.protocol.errors import (
    HeaderMismatch,
    InvalidParams,
    MissingCapability,
    ProtocolError,
    UnsupportedVersion,
)
from mcp_app.protocol.messages import ID_IN_WORDS, Message, Request, RequestId, is_request_id
from mcp_app.protocol.route import Caching, Client, Route
from mcp_app.protocol.versions import Era, ProtocolVersion

VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY: Final = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"
SUBSCRIPTION_KEY: Final = "io.modelcontextprotocol/subscriptionId"
SERVER_KEY: Final = "io.modelcontextprotocol/serverInfo"

LOG_LEVELS: Final = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
"""RFC 5424 severities, least severe first."""


class ModernDialect:
    """Self-describing answers, and headers that must mirror the body."""

    cancels_on_disconnect: Final = True

    def complete(
        self, result: Mapping[str, Any], server_info: Mapping[str, Any], caching: Caching | None
    ) -> dict[str, Any]:
        """The result with `resultType` and, where they apply, hints and the server's name."""
        answer: dict[str, Any] = {"resultType": "complete", **result}
        if caching is not None:
            answer["ttlMs"] = caching.ttl_ms
            answer["cacheScope"] = caching.scope
        if server_info:
            answer["_meta"] = {**answer.get("_meta", {}), SERVER_KEY: server_info}
        return answer

    def failure(self, request_id: RequestId | None, error: ProtocolError) -> dict[str, Any]:
        """An error response; without an id where none could be read."""
        answer: dict[str, Any] = {"jsonrpc": "2.0"}
        if request_id is not None:
            answer["id"] = request_id
        answer["error"] = error.to_error()
        return answer

    def status(self, error: ProtocolError) -> int:
        """What 2026-07-28 asks for, else the error's own."""
        return error.status if error.modern_status is None else error.modern_status

    def undeclared(self, capabilities: Mapping[str, Any]) -> ProtocolError:
        """An error that names them, so that the client may declare them and try again."""
        return MissingCapability(capabilities)

    def check_name(self, request: Request, headers: Mapping[str, str]) -> None:
        """Raise HeaderMismatch unless `Mcp-Name` says what the body says, where a method has it."""
        source = names.NAME_SOURCE.get(request.method)
        if source is None:
            return
        header = headers.get(names.NAME)
        if header is None:
            raise HeaderMismatch("The Mcp-Name header is required for this method.")
        if _decoded(header, "Mcp-Name") != (request.params or {}).get(source):
            raise HeaderMismatch(f"The Mcp-Name header does not match the parameter {source!r}.")

    def check_parameter(self, header_name: str, value: Any, headers: Mapping[str, str]) -> None:
        """Raise HeaderMismatch unless `Mcp-Param-<header_name>` mirrors the argument `value`.

        An absent or null argument expects no header.
        """
        name = f"Mcp-Param-{header_name}"
        header = headers.get(name.lower())
        if value is None:
            if header is not None:
                raise HeaderMismatch(f"The {name} header has no argument to match.")
            return
        if header is None:
            raise HeaderMismatch(f"The {name} header is required with this argument.")
        if not names.agrees(value, _decoded(header, name)):
            raise HeaderMismatch(f"The {name} header does not match its argument.")


DIALECT: Final = ModernDialect()


def open_envelope(
    request: Request, headers: Mapping[str, str], versions: tuple[ProtocolVersion, ...]
) -> Route | ProtocolError:
    """The route of a modern request, or the first thing that is wrong with it.

    Args:
        request: the message.
        headers: lower-case names to values.
        versions: the revisions of either era that this endpoint serves.
    """
    try:
        meta = _meta(request)
        requested = _requested_version(meta)
        capabilities = _capabilities(meta)
        _check_version_header(requested, headers)
        version = _served_version(requested, versions)
        _check_method_header(request, headers)
        return Route(
            version=version,
            dialect=DIALECT,
            client=Client.from_value(meta.get(CLIENT_KEY)),
            capabilities=capabilities,
            log_level=_log_level(meta),
            progress_token=_progress_token(meta),
        )
    except ProtocolError as error:
        return error


def decline_handshake(
    message: Message, headers: Mapping[str, str], versions: tuple[ProtocolVersion, ...]
) -> ProtocolError:
    """What an endpoint of this era alone says to a message of the other.

    It names the revisions that are served: an older client can show its user nothing else.
    """
    asked = headers.get(names.PROTOCOL_VERSION)
    if isinstance(message, Request) and message.method == "initialize":
        asked = (message.params or {}).get("protocolVersion", asked)
    served = tuple(version.name for version in versions)
    if isinstance(asked, str):
        return UnsupportedVersion(asked, served)
    return HeaderMismatch(
        f"The MCP-Protocol-Version header is required. Served: {', '.join(served)}"
    )


def _decoded(header: str, name: str) -> str:
    try:
        return names.decode_value(header)
    except names.BadHeaderValue as error:
        raise HeaderMismatch(f"The {name} header cannot be read: {error}.") from error


def _meta(request: Request) -> Mapping[str, Any]:
    meta = (request.params or {}).get("_meta")
    if not isinstance(meta, dict):
        raise InvalidParams("params._meta must be an object with the per-request protocol fields.")
    return meta


def _requested_version(meta: Mapping[str, Any]) -> str:
    requested = meta.get(VERSION_KEY)
    if not isinstance(requested, str):
        raise InvalidParams(f"params._meta must name the protocol version: {VERSION_KEY}")
    return requested


def _capabilities(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    capabilities = meta.get(CAPABILITIES_KEY)
    if not isinstance(capabilities, dict):
        raise InvalidParams(f"params._meta must hold an object: {CAPABILITIES_KEY}")
    return capabilities


def _check_version_header(requested: str, headers: Mapping[str, str]) -> None:
    header = headers.get(names.PROTOCOL_VERSION)
    if header is None:
        raise HeaderMismatch("The MCP-Protocol-Version header is required.")
    if header.strip() != requested:
        raise HeaderMismatch("The MCP-Protocol-Version header does not match params._meta.")


def _served_version(requested: str, versions: tuple[ProtocolVersion, ...]) -> ProtocolVersion:
    for version in versions:
        if version.name == requested and version.era is Era.MODERN:
            return version
    raise UnsupportedVersion(requested, tuple(version.name for version in versions))


def _check_method_header(request: Request, headers: Mapping[str, str]) -> None:
    header = headers.get(names.METHOD)
    if header is None:
        raise HeaderMismatch("The Mcp-Method header is required.")
    if header.strip() != request.method:
        raise HeaderMismatch("The Mcp-Method header does not match the method.")


def _log_level(meta: Mapping[str, Any]) -> str | None:
    level = meta.get(LOG_LEVEL_KEY)
    if level is None:
        return None
    if level not in LOG_LEVELS:
        raise InvalidParams(f"{LOG_LEVEL_KEY} must be one of {', '.join(LOG_LEVELS)}.")
    return str(level)


def _progress_token(meta: Mapping[str, Any]) -> RequestId | None:
    token = meta.get("progressToken")
    if token is None:
        return None
    if not is_request_id(token):
        raise InvalidParams(f"progressToken must be {ID_IN_WORDS}.")
    return token
