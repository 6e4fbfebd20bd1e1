"""The address a request came from, behind as many proxies as the settings name, and no more."""

from typing import Any

from mcp_app.conf import settings


def client_address(request: Any) -> str | None:
    """The caller's address, or None where the server knows none (a UNIX socket).

    As in DRF: with `MCP_APP["NUM_PROXIES"]` = n > 0, the n-th address from the right of
    `X-Forwarded-For`, which only a trusted proxy can have written; with 0 the header is ignored.
    """
    remote: str | None = request.META.get("REMOTE_ADDR") or None
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
    if not settings.NUM_PROXIES or not forwarded:
        return remote
    addresses = [part.strip() for part in forwarded.split(",")]
    return addresses[-min(settings.NUM_PROXIES, len(addresses))] or remote
