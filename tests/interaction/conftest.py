"""One client a door and an era: the same test body runs over every one of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import override_settings

from mcp_app.auth.tokens import issue
from mcp_app.testing import DOORS, Door, MCPClient, inline_workers
from tests.interaction import prompts, resources  # noqa: F401 - they declare what the server has
from tests.interaction.tools import server

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")

MakeClient = Callable[..., MCPClient]
MakeToken = Callable[..., str]
Serve = Callable[..., str]


@pytest.fixture(autouse=True)
def mounted(settings: Any, db: None) -> Iterator[None]:
    """The tests' server at /mcp; tools run in the test's thread and transaction."""
    settings.ROOT_URLCONF = "tests.interaction.urls"
    with inline_workers():
        yield


@pytest.fixture
def user() -> Any:
    """An ordinary user."""
    return get_user_model().objects.create_user("ada")


@pytest.fixture
def staff() -> Any:
    """A member of staff."""
    return get_user_model().objects.create_user("grace", is_staff=True)


@pytest.fixture
def make_token(user: Any) -> MakeToken:
    """Issue a token for somebody, for `user` by default; gives its secret."""

    def make(owner: Any = None, *scopes: str, name: str = "laptop") -> str:
        _, secret = issue(user=owner or user, name=name, scopes=scopes)
        return secret.reveal()

    return make


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> Door:
    """Each way in."""
    return request.param


@pytest.fixture(params=[MODERN, *LEGACY])
def version(request: pytest.FixtureRequest) -> str:
    """Each revision."""
    return request.param


@pytest.fixture
def make_client(door: Door, make_token: MakeToken) -> MakeClient:
    """A client through this test's door; of the newest revision and for `user` by default."""

    def make(version: str = MODERN, token: str | None = None, **options: Any) -> MCPClient:
        secret = make_token() if token is None else token
        return MCPClient(secret, version=version, door=door, server=server, **options)

    return make


@pytest.fixture
def mcp(make_client: MakeClient, version: str) -> MCPClient:
    """A client with a token, over every door and revision."""
    return make_client(version)


@pytest.fixture
def modern(make_client: MakeClient) -> MCPClient:
    """A client of 2026-07-28 with a token, over every door."""
    return make_client(MODERN)


@pytest.fixture
def legacy(make_client: MakeClient) -> MCPClient:
    """A client of 2025-11-25 with a token, over every door."""
    return make_client("2025-11-25")


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Register a function as a tool for the length of one test; gives its name."""
    names: list[str] = []

    def add(function: Callable[..., Any], **options: Any) -> str:
        server.tool(**{"description": "A tool of one test."} | options)(function)
        name: str = options.get("name", function.__name__)
        assert name in server.tools, server.problems
        names.append(name)
        return name

    yield add
    for name in names:
        server.remove(name)


@pytest.fixture
def lanes(transactional_db: None, mounted: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Worker threads as in production: what a test's transaction holds is invisible to them.

    They keep no connection, lest the test database could not be dropped.
    """
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 0)
    configured = {**django_settings.MCP_APP, "WORKERS": 4}
    with override_settings(MCP_APP=configured):
        yield


@dataclass
class Counted:
    """A tool, and how often it ran."""

    name: str
    runs: int = 0


@pytest.fixture
def counted(serve: Callable[..., str]) -> Counted:
    """A tool that nothing refused may reach."""

    def count() -> None:
        tool.runs += 1

    tool = Counted(serve(count))
    return tool


def ready(client: MCPClient) -> MCPClient:
    """`client` after its handshake, where its era has one."""
    if client.version.name != MODERN:
        client.initialize()
    return client
