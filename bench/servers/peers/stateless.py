"""django-stateless-mcp: an async view over the SDK. Its verifier is one SELECT of ours."""

from bench.servers.peers import host

host.configure(__name__, ["django_stateless_mcp", "bench.servers.peers.keys"])

from django.core.asgi import get_asgi_application  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import path  # noqa: E402
from django_stateless_mcp import mcp_view, request_state_security  # noqa: E402
from mcp.server.auth.provider import AccessToken  # noqa: E402
from mcp.server.mcpserver import MCPServer  # noqa: E402

from bench.servers.peers.keys.lookup import digest, issue  # noqa: E402
from bench.servers.peers.keys.models import Key  # noqa: E402

server = MCPServer("bench", version="1", request_state_security=request_state_security())


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


for number in range(host.TOOLS):
    server.tool(name=f"tool_{number}")(host.look_up)


class Keys:
    """A verifier as the package documents it."""

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who has this token."""
        key = await Key.objects.filter(digest=digest(token)).afirst()
        return AccessToken(token=token, client_id=key.name, scopes=["mcp"]) if key else None


_options = {"token_verifier": Keys()} if host.ASKS_FOR_TOKEN else {}
urlpatterns = [path("mcp", mcp_view(server, **_options))]
asgi, wsgi = get_asgi_application(), get_wsgi_application()


def credentials() -> str:
    """A token that `Keys` admits."""
    return issue()
