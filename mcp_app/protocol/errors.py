"""Every protocol error: its JSON-RPC code, what it says, and the HTTP status it travels under.

Codes are those of JSON-RPC 2.0 and of `2026-07-28 basic/index` Error Codes. Refusals that the
specification leaves to HTTP (401, 403, 429 …) use the status itself as the code, which lies
outside the reserved range -32768 to -32000.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
RESOURCE_NOT_FOUND: Final = -32002
"""2025-11-25 and earlier; 2026-07-28 must not send it."""
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022


class ProtocolError(Exception):
    """A caller's mistake, answered as a JSON-RPC error. The message goes on the wire as it is."""

    code: ClassVar[int] = INTERNAL_ERROR
    status: ClassVar[int] = 200
    """The HTTP status where the era has no word of its own on it."""
    modern_status: ClassVar[int | None] = None
    """The HTTP status that 2026-07-28 asks for, where it differs."""
    legacy_code: ClassVar[int | None] = None
    """The code of 2025-11-25 and earlier, where it differs."""

    def __init__(self, message: str, *, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.data = data
        self.headers: dict[str, str] = {}

    def to_error(self, code: int | None = None) -> dict[str, Any]:
        """The `error` member of a JSON-RPC error response, under `code` if that is another."""
        error: dict[str, Any] = {
            "code": self.code if code is None else code,
            "message": self.message,
        }
        if self.data is not None:
            error["data"] = dict(self.data)
        return error


class ParseError(ProtocolError):
    """The body is not JSON (JSON-RPC 2.0 section 5.1)."""

    code = PARSE_ERROR
    status = 400


class InvalidRequest(ProtocolError):
    """The body is JSON but not a message that this endpoint takes."""

    code = INVALID_REQUEST
    status = 400


class MethodNotFound(ProtocolError):
    """`2026-07-28 basic/transports/streamable-http` asks for a 404; older revisions for none."""

    code = METHOD_NOT_FOUND
    modern_status = 404


class InvalidParams(ProtocolError):
    """Parameters that do not fit the method, and names that are not known to this caller."""

    code = INVALID_PARAMS
    modern_status = 400


class UnknownTool(InvalidParams):
    """No tool of that name for this caller: hidden and absent read the same."""


class UnknownPrompt(InvalidParams):
    """No prompt of that name for this caller: hidden and absent read the same."""


class ResourceNotFound(InvalidParams):
    """Nothing at that URI for this caller: hidden and absent read the same."""

    legacy_code = RESOURCE_NOT_FOUND

    def __init__(self, uri: str, reason: str = "") -> None:
        told = f"Resource not found: {reason}" if reason else "Resource not found"
        super().__init__(told, data={"uri": uri})


class Failed(ProtocolError):
    """A resource, a prompt or a completer has failed. The message was meant for the caller."""


class InternalError(ProtocolError):
    """The server failed outside a tool. Says nothing but the correlation id."""

    status = 500


class HeaderMismatch(ProtocolError):
    """A header is missing, malformed or at odds with the body."""

    code = HEADER_MISMATCH
    status = 400


class MissingCapability(ProtocolError):
    """The request needs a client capability that it did not declare."""

    code = MISSING_CAPABILITY
    status = 400

    def __init__(self, required: Mapping[str, Any]) -> None:
        super().__init__(_undeclared(required), data={"requiredCapabilities": dict(required)})


class CapabilityNotNegotiated(ProtocolError):
    """The same in the handshake's era, which has no code of its own for it."""

    code = INVALID_REQUEST

    def __init__(self, required: Mapping[str, Any]) -> None:
        super().__init__(_undeclared(required))


def _undeclared(names: Mapping[str, Any]) -> str:
    return f"This request needs a client capability that was not declared: {', '.join(names)}"


class UnsupportedVersion(ProtocolError):
    """The request names a revision that is not served (`2026-07-28 basic/versioning`)."""

    code = UNSUPPORTED_VERSION
    status = 400

    def __init__(self, requested: str, supported: tuple[str, ...]) -> None:
        super().__init__(
            f"Unsupported protocol version. Served: {', '.join(supported)}",
            data={"supported": list(supported), "requested": requested},
        )


class Refusal(ProtocolError):
    """A refusal that HTTP has a status for; the status is the code, too."""

    def __init__(self, message: str, *, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, data=data)


class Unauthenticated(Refusal):
    """No credentials, or ones that are not accepted. `reason` is for the audit alone."""

    code = 401
    status = 401

    def __init__(self, message: str, *, challenge: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.headers["WWW-Authenticate"] = challenge


class InsufficientScope(Refusal):
    """The token lacks scopes that its user would be allowed (RFC 6750 section 3.1)."""

    code = 403
    status = 403

    def __init__(self, scopes: tuple[str, ...], *, challenge: str) -> None:
        needed = " ".join(scopes)
        super().__init__(f"This token lacks a scope: {needed}", data={"requiredScopes": [*scopes]})
        self.headers["WWW-Authenticate"] = challenge


class OutsideLimits(Refusal):
    """The token is limited to other tools, or to reading; its user would be allowed."""

    code = 403
    status = 403

    def __init__(self, noun: str) -> None:
        super().__init__(f"This token's limits do not include this {noun}.")


class Throttled(Refusal):
    """Too many requests. The whole seconds stand in the body too: models see no headers."""

    code = 429
    status = 429

    def __init__(self, retry_after: int) -> None:
        super().__init__(
            f"Too many requests. Try again in {retry_after} seconds.",
            data={"retryAfterSeconds": retry_after},
        )
        self.headers["Retry-After"] = str(retry_after)


class LimitsUnavailable(Refusal):
    """How often this was called cannot be told just now, and it is not to go uncounted."""

    code = 503
    status = 503

    def __init__(self) -> None:
        super().__init__("The server cannot count calls at the moment. Try again soon.")
        self.headers["Retry-After"] = "5"


class SwitchesUnavailable(Refusal):
    """What is switched off cannot be told just now, and nothing is to run unasked."""

    code = 503
    status = 503

    def __init__(self) -> None:
        super().__init__("The server cannot tell what is switched off now. Try again soon.")
        self.headers["Retry-After"] = "5"


class SwitchedOff(ProtocolError):
    """An administrator has turned this off. `seconds` are those to its end, where it has one.

    Under HTTP 200: clients give up on a 503 without reading what it says, and Django reports each
    to the site's administrators.
    """

    code = 503

    def __init__(self, message: str, seconds: int | None = None) -> None:
        data = None if seconds is None else {"retryAfterSeconds": seconds}
        super().__init__(message, data=data)


class SessionNotFound(Refusal):
    """No session of the caller's: the client begins a new one (`2025-11-25 basic/transports`)."""

    code = 404
    status = 404


class Forbidden(Refusal):
    """An Origin that is not allowed here."""

    code = 403
    status = 403


class BadHost(Refusal):
    """A Host header that this deployment does not serve."""

    code = 400
    status = 400


class MethodNotAllowed(Refusal):
    """An HTTP method that the endpoint has no use for."""

    code = 405
    status = 405

    def __init__(self, allowed: str) -> None:
        super().__init__(f"This endpoint takes {allowed}.")
        self.headers["Allow"] = allowed


class NotAcceptable(Refusal):
    """The client accepts nothing that is sent here."""

    code = 406
    status = 406


class LengthRequired(Refusal):
    """The body's length is not declared, and this server cannot read such a body."""

    code = 411
    status = 411


class PayloadTooLarge(Refusal):
    """The body is larger than the limit, which is given in bytes."""

    code = 413
    status = 413


class UnsupportedMediaType(Refusal):
    """The body does not call itself JSON."""

    code = 415
    status = 415
