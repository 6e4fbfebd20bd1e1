"""`manage.py check --deploy`: what is well on a developer's machine and weak in production."""

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Warning, register
from django.http.request import split_domain_port, validate_host
from django.urls import NoReverseMatch, Resolver404, get_script_prefix, resolve, reverse
from rest_framework.permissions import AllowAny, BasePermission

from mcp_app.address import LOOPBACK
from mcp_app.catalog.registry import servers
from mcp_app.conf import settings

TAG: Final = "mcp_app"
_OF_ONE_PROCESS: Final = ("locmem.LocMemCache", "dummy.DummyCache")


@register(TAG, deploy=True)
def check_transport(**kwargs: Any) -> list[CheckMessage]:
    """`mcp_app.W101`: tokens must not travel in clear."""
    if django_settings.SECURE_SSL_REDIRECT or django_settings.SECURE_PROXY_SSL_HEADER:
        return []
    return [
        Warning(
            "Nothing says that the endpoint is reached by https alone; tokens would be readable.",
            hint="Set SECURE_SSL_REDIRECT, or SECURE_PROXY_SSL_HEADER behind a proxy; and give"
            " clients the https address, since they drop the token where they are redirected.",
            id="mcp_app.W101",
        )
    ]


@register(TAG, deploy=True)
def check_origins(**kwargs: Any) -> list[CheckMessage]:
    """`mcp_app.W102`, `W103`, `W104`, `W110`: which pages may call."""
    found: list[CheckMessage] = []
    if django_settings.DEBUG:
        found.append(
            Warning(
                "With DEBUG, pages of every origin on this machine may call.",
                hint="Set DEBUG = False, and list origins in MCP_APP['ALLOWED_ORIGINS'].",
                id="mcp_app.W102",
            )
        )
    if "*" in django_settings.ALLOWED_HOSTS:
        found.append(
            Warning(
                "ALLOWED_HOSTS admits every name, so that a Host header proves nothing.",
                hint="List this site's names: another site could point its own name here.",
                id="mcp_app.W103",
            )
        )
    if settings.CORS and not settings.ALLOWED_ORIGINS and settings.origin_check is None:
        found.append(
            Warning(
                "MCP_APP['CORS'] is on, and no origin is listed that could read an answer.",
                hint="List origins in MCP_APP['ALLOWED_ORIGINS'], or turn it off.",
                id="mcp_app.W104",
            )
        )
    found += [
        Warning(
            f"Pages of {origin} may call, and come without TLS: anybody on the way can write them.",
            hint="List the https origin in MCP_APP['ALLOWED_ORIGINS'] instead.",
            id="mcp_app.W110",
        )
        for origin in settings.ALLOWED_ORIGINS
        if _comes_in_clear(origin)
    ]
    return found


def _comes_in_clear(origin: str) -> bool:
    """Whether its pages cross a network, and without TLS."""
    parts = urlsplit(origin)
    host, _ = split_domain_port(parts.netloc)
    return parts.scheme == "http" and not validate_host(host, LOOPBACK)


@register(TAG, deploy=True)
def check_query_tokens(**kwargs: Any) -> list[CheckMessage]:
    """`mcp_app.W105`: the specification forbids tokens in addresses, and logs keep addresses."""
    if not settings.ALLOW_QUERY_TOKEN:
        return []
    return [
        Warning(
            "Tokens are admitted in the address, where servers, proxies and histories keep them.",
            hint="Turn MCP_APP['ALLOW_QUERY_TOKEN'] off, or put mcp_app.auth.logs.HideSecrets on"
            " the handlers of access logs, and limit such tokens.",
            id="mcp_app.W105",
        )
    ]


@register(TAG, deploy=True)
def check_mount(**kwargs: Any) -> list[CheckMessage]:
    """`mcp_app.W106`: a mount with a slash redirects the other spelling, or does not find it."""
    try:
        address = reverse("mcp_app:endpoint")
        # Servers take the prefix off before Django looks a path up.
        resolve(f"/{address.removeprefix(get_script_prefix()).strip('/')}")
    except NoReverseMatch:
        return []  # mounted elsewhere, by its ASGI route or in a namespace
    except Resolver404:
        bare = address.removeprefix(get_script_prefix()).strip("/")
        return [
            Warning(
                f"The endpoint answers at {address} alone; clients that leave the slash out do not"
                " find it, or lose their token in a redirect.",
                hint=f"Write path({bare!r}, include('mcp_app.urls')), without the slash: both"
                " spellings are then served.",
                id="mcp_app.W106",
            )
        ]
    return []


@register(TAG, deploy=True)
def check_anonymous_writes(**kwargs: Any) -> list[CheckMessage]:
    """`mcp_app.W107`: a tool that anybody at all may change something with."""
    if not settings.ALLOW_ANONYMOUS:
        return []
    return [
        Warning(
            f"Anybody may call the tool {name!r}, which is not read_only.",
            hint="Give it permission classes, or say read_only=True if it only reads.",
            id="mcp_app.W107",
        )
        for name in sorted(_written_by_anybody())
    ]


def _written_by_anybody() -> Iterator[str]:
    for server in servers():
        for tool in server.tools.values():
            classes = tool.permission_classes or settings.permission_classes
            if all(map(_admits_anybody, classes)) and not tool.read_only and not tool.scopes:
                yield tool.name


def _admits_anybody(permission: Any) -> bool:
    """Whether a class says yes in DRF's words; what one of a product's own says nobody knows."""
    says = getattr(permission, "has_permission", None)
    return says in (AllowAny.has_permission, BasePermission.has_permission)


@register(TAG, deploy=True)
def check_counters(**kwargs: Any) -> list[CheckMessage]:
    """`mcp_app.W108`: limits that each process counts for itself."""
    backend = django_settings.CACHES[settings.THROTTLE_CACHE]["BACKEND"]
    counts = settings.DEFAULT_THROTTLE_CLASSES or settings.FAILED_AUTH_RATE
    if not counts or not backend.endswith(_OF_ONE_PROCESS):
        return []
    return [
        Warning(
            "Limits are counted in a cache that processes do not share.",
            hint="With more than one process, let MCP_APP['THROTTLE_CACHE'] name a Redis cache.",
            id="mcp_app.W108",
        )
    ]
