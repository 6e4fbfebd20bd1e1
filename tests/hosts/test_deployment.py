"""`manage.py check --deploy`: each weakness is named, with what to write."""

from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from django.core.checks import run_checks
from django.urls import get_script_prefix, include, path, set_script_prefix
from pydantic import Field
from rest_framework.permissions import AllowAny, BasePermission, IsAuthenticated

from mcp_app import MCPServer, deployment
from mcp_app.audit import mirrors
from mcp_app.catalog import registry

SLASHED = "tests.hosts.test_deployment"
urlpatterns = [path("mcp/", include("mcp_app.urls"))]


OF_THIS_MACHINE = [
    "http://localhost:6274",
    "http://127.0.0.1:1",
    "http://[::1]",
    "http://a.localhost",
]


def found(*ids: str) -> set[str]:
    """Our deployment warnings, each with a hint."""
    messages = run_checks(tags=[deployment.TAG], include_deployment_checks=True)
    ours = [message for message in messages if (message.id or "").startswith("mcp_app.W1")]
    assert all(message.hint for message in ours)
    return {str(message.id).removeprefix("mcp_app.") for message in ours}


@pytest.fixture(autouse=True)
def sound(settings: Any) -> None:
    """A deployment with nothing to say against it."""
    settings.SECURE_SSL_REDIRECT = True
    settings.DEBUG = False
    settings.ALLOWED_HOSTS = ["shop.example"]
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache"}}


def test_a_sound_deployment_is_not_warned() -> None:
    assert found() == set()


@pytest.mark.parametrize(
    ("ours", "django", "warning"),
    [
        ({}, {"SECURE_SSL_REDIRECT": False}, "W101"),
        ({}, {"DEBUG": True}, "W102"),
        ({}, {"ALLOWED_HOSTS": ["shop.example", "*"]}, "W103"),
        ({"CORS": True}, {}, "W104"),
        ({"ALLOW_QUERY_TOKEN": True}, {}, "W105"),
        ({"ALLOWED_ORIGINS": ["https://a.example", "http://app.example"]}, {}, "W110"),
        ({}, {"ROOT_URLCONF": SLASHED}, "W106"),
        ({}, {"CACHES": {"default": {"BACKEND": "x.locmem.LocMemCache"}}}, "W108"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_weakness_is_named(
    settings: Any, ours: dict[str, Any], django: dict[str, Any], warning: str
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, **ours}
    for name, value in django.items():
        setattr(settings, name, value)
    assert found() == {warning}


@pytest.mark.parametrize(
    ("ours", "django"),
    [
        ({}, {"SECURE_SSL_REDIRECT": False, "SECURE_PROXY_SSL_HEADER": ("X", "https")}),
        ({"CORS": True, "ALLOWED_ORIGINS": ["https://app.example"]}, {}),
        ({"ALLOWED_ORIGINS": OF_THIS_MACHINE}, {}),
        (
            {"FAILED_AUTH_RATE": None},
            {"CACHES": {"default": {"BACKEND": "x.locmem.LocMemCache"}}},
        ),
    ],
    ids=["behind a proxy", "listed", "of this machine", "nothing counted"],
)
def test_what_is_meant_is_not_warned_of(
    settings: Any, ours: dict[str, Any], django: dict[str, Any]
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, **ours}
    for name, value in django.items():
        setattr(settings, name, value)
    assert found() == set()


@pytest.mark.parametrize("prefix", ["/", "/shop/"])
def test_a_mount_is_looked_up_below_the_prefix_of_the_server(settings: Any, prefix: str) -> None:
    before = get_script_prefix()
    set_script_prefix(prefix)
    try:
        assert found() == set()
        settings.ROOT_URLCONF = SLASHED
        (warning,) = deployment.check_mount()
        assert f"answers at {prefix}mcp/ alone" in warning.msg
        assert "path('mcp', include" in str(warning.hint)
    finally:
        set_script_prefix(before)


class Anybody(AllowAny):
    """A product's own name for it."""


class Undecided(BasePermission):
    """What says nothing lets everybody in."""


class Weekdays(BasePermission):
    """A rule of a product's own."""

    def has_permission(self, request: Any, view: Any) -> bool:
        return True


OPEN: list[list[Any]] = [[AllowAny], [Anybody], [Undecided], [AllowAny, Anybody]]
CLOSED: list[list[Any]] = [[IsAuthenticated], [AllowAny, IsAuthenticated], [Weekdays]]


@pytest.fixture
def open_server() -> Iterator[MCPServer]:
    """A server with tools that write and one that reads; some of them anybody may call."""
    server = MCPServer("open")

    def act() -> str:
        """Write, or read."""
        return "done"

    for number, classes in enumerate(OPEN):
        server.tool(name=f"open_{number}", permission_classes=classes)(act)
    for number, classes in enumerate(CLOSED):
        server.tool(name=f"closed_{number}", permission_classes=classes)(act)
    server.tool(name="reads", permission_classes=[AllowAny], read_only=True)(act)
    server.tool(name="scoped", permission_classes=[AllowAny], scopes=["rooms:write"])(act)
    server.tool(name="usual")(act)
    assert not server.problems
    yield server
    registry._servers.discard(server)


def test_a_tool_that_anybody_may_write_with_is_named(settings: Any, open_server: Any) -> None:
    assert found() == set()
    settings.MCP_APP = {**settings.MCP_APP, "ALLOW_ANONYMOUS": True}
    told = "".join(message.msg for message in deployment.check_anonymous_writes())
    own = [name for name in open_server.tools if f"{name!r}" in told]
    assert own == [f"open_{number}" for number in range(len(OPEN))]
    assert "W107" in found()


@pytest.fixture
def mirroring() -> Iterator[MCPServer]:
    """A server whose tools have clients mirror arguments into headers."""
    server = MCPServer("mirroring")

    @server.tool()
    def sign_in(
        region: Annotated[str, header("Region")],
        api_key: Annotated[str, header("Caller")],
        number: Annotated[str, header("Pin-Code")],
        room: Annotated[str, header("Room")],
        password: str,
    ) -> str:
        """Sign in."""
        return region

    assert not server.problems
    yield server
    registry._servers.discard(server)


def header(name: str) -> Any:
    """Has clients mirror an argument."""
    return Field(json_schema_extra={"x-mcp-header": name})


def test_a_secret_that_clients_mirror_into_a_header_is_named(settings: Any, mirroring: Any) -> None:
    assert found() == {"W109"}
    assert list(mirrors._mirrored_secrets()) == [("sign_in", "api_key"), ("sign_in", "number")]
    settings.MCP_APP = {**settings.MCP_APP, "REDACT_KEYS": ["room"]}
    assert ("sign_in", "room") in list(mirrors._mirrored_secrets())
