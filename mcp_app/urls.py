"""The endpoint for `urls.py`: `path("mcp", include("mcp_app.urls"))` serves /mcp and /mcp/."""

from typing import Any, Final

from django.urls import URLPattern, re_path

from mcp_app.catalog.registry import MCPServer, default_server
from mcp_app.transports.unreached import bad_request
from mcp_app.transports.view import EndpointView

__all__ = ["app_name", "bad_request", "endpoint", "patterns", "urlpatterns"]

app_name: Final = "mcp_app"


def endpoint(server: MCPServer = default_server) -> tuple[list[URLPattern], str]:
    """What to `include()` for a further server: `path("internal", include(endpoint(server)))`."""
    return patterns(server), app_name


def patterns(server: MCPServer) -> list[URLPattern]:
    """Both spellings in place: a redirect would turn a POST into a GET and drop its token."""
    view: Any = EndpointView(server)
    return [re_path(r"^(?:/)?$", view, name="endpoint")]


urlpatterns: Final = patterns(default_server)
