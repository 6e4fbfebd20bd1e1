"""The endpoint, and the socket of the admin's live page, for Channels' router.

application = ProtocolTypeRouter(
    {
        "http": URLRouter([*mcp_app.routing.urlpatterns("mcp"), re_path(r"", django)]),
        "websocket": AllowedHostsOriginValidator(
            AuthMiddlewareStack(URLRouter(mcp_app.routing.websocket_urlpatterns))
        ),
    }
)
"""

import re
from typing import Any, Final

from django.urls import URLPattern, re_path

from mcp_app.catalog.registry import MCPServer, default_server
from mcp_app.transports.door import EndpointApplication
from mcp_app.transports.tail import TailApplication


def urlpatterns(prefix: str = "mcp", server: MCPServer = default_server) -> list[URLPattern]:
    """Routes for `/<prefix>` and `/<prefix>/`, the same as the view's.

    Keep the view mounted too: it gives the endpoint its name, from which addresses are made.
    """
    application: Any = EndpointApplication(server)
    return [re_path(rf"^{re.escape(prefix.strip('/'))}/?$", application)]


_tail: Any = TailApplication()

websocket_urlpatterns: Final = [re_path(r"^(?:.+/)?mcp_app/callevent/tail/$", _tail)]
"""The live page's socket, at the page's own address: of every admin site, under every prefix."""
