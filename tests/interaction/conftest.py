"""One client a door and an era: the same test body runs over every one of them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from mcp_app.auth.tokens import issue
from mcp_app.testing import DOORS, Door, MCPClient, inline_workers
from tests.interaction.tools import server

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")

MakeClient = Callable[..., MCPClient]
MakeToken = Callable[..., str]


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
