"""The endpoint at /mcp."""

from django.urls import include, path

from mcp_app.urls import endpoint
from tests.servers.site.tools import server

urlpatterns = [path("mcp", include(endpoint(server)))]
