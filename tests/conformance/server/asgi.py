"""The fixture server through the door of `mcp_app.routing`."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.conformance.server.settings")

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

django_application = get_asgi_application()

# It needs the apps that get_asgi_application() has loaded.
from mcp_app import routing  # noqa: E402

application = ProtocolTypeRouter({"http": URLRouter(routing.urlpatterns("mcp"))})
