"""The tests' own servers at /mcp and /bare, as a product mounts them."""

from django.urls import include, path

from mcp_app import MCPServer
from mcp_app.urls import endpoint
from tests.interaction import prompts, resources  # noqa: F401 - they declare what the server has
from tests.interaction.tools import server

bare = MCPServer("bare")
"""Nothing is declared here."""

urlpatterns = [
    path("mcp", include(endpoint(server))),
    path("bare", include(endpoint(bare))),
]
