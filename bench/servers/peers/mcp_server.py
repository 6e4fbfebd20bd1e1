"""django-mcp-server on the SDK before 2: stateless, with DRF's token authentication."""

from bench.servers.peers import host

_options = (
    {"DJANGO_MCP_AUTHENTICATION_CLASSES": ["bench.servers.peers.bearer.Bearer"]}
    if host.ASKS_FOR_TOKEN
    else {}
)
host.configure(
    __name__,
    ["django.contrib.sessions", "rest_framework", "rest_framework.authtoken", "mcp_server"],
    DJANGO_MCP_GLOBAL_SERVER_CONFIG={"name": "bench", "instructions": "", "stateless": True},
    **_options,
)

from django.core.asgi import get_asgi_application  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import include, path  # noqa: E402
from mcp_server import MCPToolset  # noqa: E402
from mcp_server.djangomcp import global_mcp_server  # noqa: E402


class Adding(MCPToolset):
    """One tool."""

    def add(self, a: int, b: int) -> int:
        """Add two numbers."""
        return a + b


global_mcp_server.register_mcptoolset(Adding())
for number in range(host.TOOLS):
    global_mcp_server._tool_manager.add_tool(host.look_up, name=f"tool_{number}")

urlpatterns = [path("", include("mcp_server.urls"))]
asgi, wsgi = get_asgi_application(), get_wsgi_application()


def credentials() -> str:
    """A token of DRF's."""
    from django.contrib.auth.models import User
    from rest_framework.authtoken.models import Token

    key: str = Token.objects.create(user=User.objects.create_user("bench")).key
    return key
