"""The example under ASGI: mcp_app's fast door for /mcp, Django for everything else.

Both lines of `mcp_app.routing` may be left out: `mcp_app.urls` then serves the endpoint through
Django's own handler, and the admin's live page asks every few seconds instead of being told.
"""

import gc
import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.conf import settings
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.asgi import get_asgi_application
from django.urls import re_path

django_application: Any = get_asgi_application()
if settings.DEBUG:
    # A deployed product leaves static files to its web server.
    django_application = ASGIStaticFilesHandler(django_application)

# It needs the apps that get_asgi_application() has loaded.
from mcp_app import routing  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": URLRouter([*routing.urlpatterns("mcp"), re_path(r"", django_application)]),
        "websocket": AllowedHostsOriginValidator(
            AuthMiddlewareStack(URLRouter(routing.websocket_urlpatterns))
        ),
    }
)

# What is loaded by now stays, so no round of the garbage collector needs to look at it.
gc.collect()
gc.freeze()
