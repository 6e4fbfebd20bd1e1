"""`manage.py check --deploy`: what no row of the call log would hold, and a header does."""

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, Warning, register

from mcp_app.audit.keys import secret_keys
from mcp_app.catalog.registry import servers
from mcp_app.conf import settings
from mcp_app.deployment import TAG


@register(TAG, deploy=True)
def check_mirrored_secrets(**kwargs: Any) -> list[CheckMessage]:
    """`mcp_app.W109`: proxies log headers, and clients mirror into them what is called a secret."""
    return [
        Warning(
            f"The tool {tool!r} has clients send {argument!r} in a header, and by its name that is"
            " a secret: whatever passes the request on may see and log it.",
            hint="Mirror what requests are routed by, and no secret: remove its x-mcp-header, or"
            " call it something else.",
            id="mcp_app.W109",
        )
        for tool, argument in sorted(_mirrored_secrets())
    ]


def _mirrored_secrets() -> Iterator[tuple[str, str]]:
    """Each tool with the argument; marked sensitive ones are refused where they are declared."""
    keys = secret_keys(tuple(settings.REDACT_KEYS))
    for server in servers():
        for tool in server.tools.values():
            for path, header in tool.arguments.headers.items():
                if any(map(keys.match, (*path, header))):
                    yield tool.name, ".".join(path)
