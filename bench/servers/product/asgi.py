"""The product under ASGI: `application` with mcp_app's own door, `view` without it."""

import gc
from typing import Any

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application
from django.urls import re_path

view: Any = get_asgi_application()

# It needs the apps that get_asgi_application() has loaded.
from mcp_app import routing  # noqa: E402

application = ProtocolTypeRouter(
    {"http": URLRouter([*routing.urlpatterns("mcp"), re_path(r"", view)])}
)

# What is loaded by now stays, so no round of the garbage collector needs to look at it.
gc.collect()
gc.freeze()
