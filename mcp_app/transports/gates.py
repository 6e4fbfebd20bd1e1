"""What is asked of a request before its body is read: each gate passes or raises a Refusal."""

import logging
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from django.conf import settings as django_settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host

from mcp_app.address import LOOPBACK
from mcp_app.conf import settings
from mcp_app.protocol.errors import (
    BadHost,
    Forbidden,
    InvalidRequest,
    MethodNotAllowed,
    NotAcceptable,
    PayloadTooLarge,
    UnsupportedMediaType,
)
from mcp_app.protocol.headers import SESSION_ID
from mcp_app.protocol.versions import Era, of_era
from mcp_app.transports.incoming import EVENT_STREAM, JSON, Incoming

logger: Final = logging.getLogger("mcp_app.gates")

_MOST_KNOWN: Final = 200
"""Characters of a header whose meaning is remembered; clients send few, and short ones."""
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_ORIGIN: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?", re.I
)
"""An origin as browsers write it (RFC 6454 6.2): no user, no path, no query."""


@dataclass(frozen=True, slots=True)
class Accepts:
    """Which kinds of answer the client takes."""

    json: bool
    events: bool
    prefers_events: bool = False
    """Whether a whole answer is better sent as an event, too."""


def methods(incoming: Incoming) -> list[str]:
    """POST always; DELETE where there are sessions; GET where their own streams can be sent."""
    if not (settings.LEGACY_SESSIONS and of_era(settings.versions, Era.LEGACY)):
        return ["POST"]
    return ["POST", "DELETE", "GET"] if incoming.streams else ["POST", "DELETE"]


def check_method(incoming: Incoming) -> None:
    """A GET without a session could not stream: it would only keep a client waiting."""
    allowed = methods(incoming)
    if SESSION_ID not in incoming.headers and "GET" in allowed:
        allowed.remove("GET")
    if incoming.method not in allowed:
        raise MethodNotAllowed(", ".join(allowed))


def check_host(incoming: Incoming) -> None:
    """Django's own ALLOWED_HOSTS."""
    host = incoming.headers.get("host", "")
    if django_settings.USE_X_FORWARDED_HOST or not 0 < len(host) <= _MOST_KNOWN:
        known = _is_served(incoming.request)
    else:
        known = _is_served_host(host, tuple(django_settings.ALLOWED_HOSTS), django_settings.DEBUG)
    if not known:
        raise BadHost("This host is not served here.")


@lru_cache(maxsize=128)
def _is_served_host(host: str, allowed: tuple[str, ...], debug: bool) -> bool:
    """As a request with that `Host` is told under these settings, which are all that it depends
    on."""
    request = HttpRequest()
    request.META["HTTP_HOST"] = host
    return _is_served(request)


def _is_served(request: HttpRequest) -> bool:
    try:
        request.get_host()
    except DisallowedHost:
        return False
    return True


def check_origin(incoming: Incoming) -> None:
    """Against DNS rebinding: an Origin that is present must be known.

    `2026-07-28 basic/transports/streamable-http` Security & Endpoint.
    """
    if "origin" in incoming.headers and not has_known_origin(incoming):
        raise Forbidden("This Origin is not allowed.")


def has_known_origin(incoming: Incoming) -> bool:
    """Whether the request names an Origin, and a list, a rule or our own host admits it."""
    origin = incoming.headers.get("origin")
    if origin is None:
        return False
    return _is_allowed_origin(origin, incoming) or _passes_own_rule(origin)


def _passes_own_rule(origin: str) -> bool:
    """What the product's own rule says; a rule that breaks, however it does, admits nobody."""
    check = settings.origin_check
    try:
        return check is not None and bool(check(origin))
    except BaseException:
        logger.exception("MCP_APP['ORIGIN_CHECK'] failed; the Origin is refused")
        return False


def _is_allowed_origin(origin: str, incoming: Incoming) -> bool:
    if origin.lower() in {known.lower().rstrip("/") for known in settings.ALLOWED_ORIGINS}:
        return True
    parts = _ORIGIN.fullmatch(origin)
    if parts is None:
        return False
    host, port = parts["host"].lower(), parts["port"] or _DEFAULT_PORTS[parts["scheme"].lower()]
    if django_settings.DEBUG and validate_host(host, LOOPBACK):
        return True
    return _is_same_origin(host, int(port), incoming)


def _is_same_origin(host: str, port: int, incoming: Incoming) -> bool:
    """Whether the page came from this very host, and the host's name proves something.

    A name that only `ALLOWED_HOSTS = ["*"]` admits proves nothing: it may be an attacker's, made
    to resolve to this machine.
    """
    try:
        own_host, own_port = split_domain_port(incoming.request.get_host())
    except DisallowedHost:
        return False
    default = _DEFAULT_PORTS[incoming.request.scheme or "http"]
    if own_host != host or int(own_port or default) != port:
        return False
    named = [name for name in django_settings.ALLOWED_HOSTS if name != "*"]
    return validate_host(own_host, [*named, *LOOPBACK])


def check_query(incoming: Incoming) -> None:
    """What Django will not read, such as too many parameters, is refused whoever would look."""
    if not incoming.has_query:
        return
    try:
        incoming.request.GET  # noqa: B018 - it is read by that, and remembered
    except Exception as error:
        raise InvalidRequest("The query string cannot be read.") from error


def check_declared_size(incoming: Incoming) -> None:
    """Refuse by Content-Length what would be refused while reading anyway."""
    declared = incoming.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > settings.MAX_BODY_BYTES:
        raise too_large()


def too_large() -> PayloadTooLarge:
    """The refusal of a body over the limit."""
    return PayloadTooLarge(f"The body is larger than {settings.MAX_BODY_BYTES} bytes.")


def check_media_type(incoming: Incoming) -> None:
    """JSON alone: what a web form can send without a preflight must never run a tool."""
    kind = incoming.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise UnsupportedMediaType("The Content-Type must be application/json.")
    if incoming.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        # What is small on the way may be any size once it is unpacked.
        raise UnsupportedMediaType("The body must not be compressed.")


def negotiate(incoming: Incoming) -> Accepts:
    """What may be answered. No Accept header accepts all (RFC 9110 section 12.5.1).

    What a DELETE accepts does not matter: its answer has no body.

    Raises:
        NotAcceptable: neither JSON nor an event stream is wanted.
    """
    header = incoming.headers.get("accept", "").strip()
    if not header or incoming.method == "DELETE":
        return Accepts(json=True, events=True)
    read = _negotiated if len(header) <= _MOST_KNOWN else _negotiated.__wrapped__
    return read(header, incoming.method)


@lru_cache(maxsize=128)
def _negotiated(header: str, method: str) -> Accepts:
    ranges = dict(_media_range(part) for part in header.split(","))
    json, events = _weight(ranges, JSON), _weight(ranges, EVENT_STREAM)
    if method == "GET":
        json = 0.0
    if not json and not events:
        raise NotAcceptable("Accept application/json, text/event-stream, or both.")
    # Where the weights tie, the client's order is the best hint there is.
    named_first = next((kind for kind in ranges if kind in (JSON, EVENT_STREAM)), JSON)
    prefers = events > json or (events == json and named_first == EVENT_STREAM)
    return Accepts(json > 0, events > 0, prefers)


def _media_range(part: str) -> tuple[str, float]:
    kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            return kind, _quality(value.strip())
    return kind, 1.0


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def _weight(ranges: dict[str, float], kind: str) -> float:
    """The quality of the most specific range that covers `kind`."""
    for candidate in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        if candidate in ranges:
            return ranges[candidate]
    return 0.0
