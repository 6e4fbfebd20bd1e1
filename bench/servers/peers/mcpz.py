"""django-mcpz: a sync view, msgspec. Its token app looks a token up; it records nothing."""

import msgspec

from bench.servers.peers import host

host.configure(__name__, ["django_mcpz.bearer_tokens"])

from django.core.asgi import get_asgi_application  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpRequest  # noqa: E402
from django.urls import path  # noqa: E402
from django_mcpz.bearer_tokens.auth import token_auth  # noqa: E402
from django_mcpz.server import MCPServer, public  # noqa: E402

server = MCPServer(name="bench", version="1", auth=token_auth if host.ASKS_FOR_TOKEN else public)


class Addends(msgspec.Struct):
    """The arguments of `add`."""

    a: int
    b: int


class Sum(msgspec.Struct):
    """Its result."""

    result: int


class Lookup(msgspec.Struct):
    """The arguments of the further tools."""

    customer_id: int
    name: str
    limit: int = 10
    verbose: bool = False
    tags: list[str] | None = None


@server.tool(description="Add two numbers.")
def add(request: HttpRequest, params: Addends) -> Sum:
    """Add two numbers."""
    return Sum(params.a + params.b)


def look_up(request: HttpRequest, params: Lookup) -> Sum:
    """Look up a customer."""
    return Sum(params.customer_id)


def _named(number: int) -> None:
    def tool(request: HttpRequest, params: Lookup) -> Sum:
        return look_up(request, params)

    server.tool(name=f"tool_{number}", description=host.look_up.__doc__)(tool)


for each in range(host.TOOLS):
    _named(each)

urlpatterns = [path("mcp", server)]
asgi, wsgi = get_asgi_application(), get_wsgi_application()


def credentials() -> str:
    """A token of its own token app."""
    from django.contrib.auth.models import User
    from django_mcpz.bearer_tokens.models import Token

    secret: str = Token.create(name="bench", user=User.objects.create_user("bench"))[1]
    return secret
