"""The endpoint for Channels' router, beside Django's own application.

application = ProtocolTypeRouter(
    {"http": URLRouter([*mcp_app.routing.urlpatterns("mcp"), re_path(r"", django)])}
)
"""

import re
from typing import Any

from django.urls import URLPattern, re_path

from mcp_app.catalog.registry import MCPServer, default_server
from mcp_app.transports.door import EndpointApplication


def urlpatterns(prefix: str = "mcp", server: MCPServer = default_server) -> list[URLPattern]:
    """Routes for `/<prefix>` and `/<prefix>/`, the same as the view's.

    Keep the view mounted too: it gives the endpoint its name, from which addresses are made.
    """
    application: Any = EndpointApplication(server)
    return [re_path(rf"^{re.escape(prefix.strip('/'))}/?$", application)]
