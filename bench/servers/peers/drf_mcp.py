"""djangorestframework-mcp-server: its sync view. A token is looked up by one SELECT of ours."""

import os
from typing import Any

from bench.servers.peers import host

host.configure(
    __name__,
    ["rest_framework", "bench.servers.peers.keys"],
    REST_FRAMEWORK_MCP={"REQUIRE_TOOL_PERMISSIONS": False},
)

from django.contrib.auth.models import AnonymousUser  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpRequest  # noqa: E402
from django.urls import path  # noqa: E402
from rest_framework import serializers  # noqa: E402
from rest_framework_mcp import MCPServer  # noqa: E402
from rest_framework_mcp.auth.backends.allow_any_backend import AllowAnyBackend  # noqa: E402
from rest_framework_mcp.auth.types.token_info import TokenInfo  # noqa: E402

from bench.servers.peers.keys.lookup import digest, issue  # noqa: E402
from bench.servers.peers.keys.models import Key  # noqa: E402


class Keys(AllowAnyBackend):
    """Admits who has a token."""

    def authenticate(self, request: HttpRequest) -> TokenInfo | None:
        secret = request.headers.get("Authorization", "").removeprefix("Bearer ")
        key = Key.objects.filter(digest=digest(secret)).first()
        return TokenInfo(user=AnonymousUser(), scopes=("mcp",), raw=key) if key else None


class Addends(serializers.Serializer):
    """The arguments of `add`."""

    a = serializers.IntegerField()
    b = serializers.IntegerField()


class Sum(serializers.Serializer):
    """Its result."""

    result = serializers.IntegerField()


class Lookup(serializers.Serializer):
    """The arguments of the further tools."""

    customer_id = serializers.IntegerField()
    name = serializers.CharField()
    limit = serializers.IntegerField(default=10)
    verbose = serializers.BooleanField(default=False)
    tags = serializers.ListField(child=serializers.CharField(), required=False)


server = MCPServer(name="bench", auth_backend=Keys() if host.ASKS_FOR_TOKEN else AllowAnyBackend())


@server.service_tool(
    name="add",
    input_serializer=Addends,
    output_serializer=Sum,
    atomic=False,
    description="Add two numbers.",
)
def add(*, data: dict[str, int]) -> dict[str, int]:
    """Add two numbers."""
    return {"result": data["a"] + data["b"]}


def _named(number: int) -> None:
    def tool(*, data: dict[str, Any]) -> dict[str, Any]:
        return {"customer": data["customer_id"]}

    server.service_tool(
        name=f"tool_{number}",
        input_serializer=Lookup,
        atomic=False,
        description=host.look_up.__doc__,
    )(tool)


for each in range(host.TOOLS):
    _named(each)

_urls = server.async_urls if os.environ.get("BENCH_ASYNC") == "1" else server.urls
urlpatterns = [path("mcp/", _urls)]
asgi, wsgi = get_asgi_application(), get_wsgi_application()


def credentials() -> str:
    """A token that `Keys` admits."""
    return issue()
