"""The product under ASGI, with the door that skips Django's middleware."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application
from django.urls import re_path

django_application = get_asgi_application()

# They need the apps that get_asgi_application() has loaded.
from mcp_app import routing  # noqa: E402
from tests.servers.site import acts, talk  # noqa: E402, F401
from tests.servers.site.tools import server  # noqa: E402

door = [] if os.environ.get("SITE_DOOR") == "view" else routing.urlpatterns("mcp", server)
application = ProtocolTypeRouter(
    {
        "http": URLRouter([*door, re_path(r"", django_application)]),
        "websocket": AllowedHostsOriginValidator(
            AuthMiddlewareStack(URLRouter(routing.websocket_urlpatterns))
        ),
    }
)
