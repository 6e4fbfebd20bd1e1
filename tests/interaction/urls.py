"""The tests' own server at /mcp, as a product mounts one."""

from django.urls import include, path

from mcp_app.urls import endpoint
from tests.interaction.tools import server

urlpatterns = [path("mcp", include(endpoint(server)))]
