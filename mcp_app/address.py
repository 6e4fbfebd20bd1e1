"""The address a request came from, behind as many proxies as the settings name, and no more."""

import ipaddress
from typing import Any, Final

from mcp_app.conf import settings

LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]", ".localhost")
"""Hosts, in the words of ALLOWED_HOSTS, whose pages never cross a network."""

_NETWORK: Final = 64
"""Bits of an IPv6 address that one customer of a network has, who may choose the rest."""


def client_address(request: Any) -> str | None:
    """The caller's address, or None where the server knows none (a UNIX socket).

    As in DRF: with `MCP_APP["NUM_PROXIES"]` = n > 0, the n-th address from the right of
    `X-Forwarded-For`, which only a trusted proxy can have written; with 0 the header is ignored.
    """
    meta = request.META
    return address_behind(meta.get("REMOTE_ADDR") or None, meta.get("HTTP_X_FORWARDED_FOR", ""))


def address_behind(remote: str | None, forwarded: str) -> str | None:
    """The same from the server's peer and the text of `X-Forwarded-For`."""
    if not settings.NUM_PROXIES or not forwarded:
        return remote
    addresses = [part.strip() for part in forwarded.split(",")]
    return addresses[-min(settings.NUM_PROXIES, len(addresses))] or remote


def network_of(address: str | None) -> str:
    """What counts as one place: an address, of IPv6 its /64; "unknown" for what is no address.

    Who may choose the rest of an address, or writes nonsense where one should be, gains nothing.
    """
    try:
        known = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(known, ipaddress.IPv4Address):
        return str(known)
    if known.ipv4_mapped:
        return str(known.ipv4_mapped)
    return str(ipaddress.ip_network((known, _NETWORK), strict=False))
