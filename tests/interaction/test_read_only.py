"""A read-only tool cannot write, whatever it tries; other calls on the same connection can."""

from collections.abc import AsyncIterator, Iterator

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import connection

from mcp_app import MCPServer
from mcp_app.models import CallEvent
from mcp_app.testing import MCPClient
from tests.interaction.conftest import MakeToken
from tests.interaction.tools import server

ways = MCPServer("ways to write")


@ways.tool(read_only=True)
def by_create() -> int:
    """Create through the ORM."""
    return Group.objects.create(name="new").pk


@ways.tool(read_only=True)
def by_bulk_create() -> int:
    """Create many."""
    return len(Group.objects.bulk_create([Group(name="new")]))


@ways.tool(read_only=True)
def by_raw_sql() -> int:
    """Write past the ORM."""
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO auth_group (name) VALUES ('new')")
    return 1


@ways.tool(read_only=True)
def by_update() -> int:
    """Change what is there."""
    return get_user_model().objects.update(first_name="changed")


@ways.tool(read_only=True)
async def by_async_orm() -> int:
    """Create from async code."""
    return (await Group.objects.acreate(name="new")).pk


@ways.tool(read_only=True)
def by_generator() -> Iterator[int]:
    """Create between two steps."""
    yield Group.objects.create(name="new").pk


@ways.tool(read_only=True)
async def by_async_generator() -> AsyncIterator[int]:
    """Create between two async steps."""
    yield (await Group.objects.acreate(name="new")).pk


# A refused write breaks the transaction that it was made in: there must be none around the test.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def ways_are_tools() -> Iterator[None]:
    """The tools above on the tests' server, for this module alone."""
    for tool in ways.tools.values():
        server.add(tool)
    yield
    for name in ways.tools:
        server.remove(name)


@pytest.mark.parametrize("way", sorted(ways.tools))
def test_no_way_of_writing_is_open_to_a_read_only_tool(modern: MCPClient, way: str) -> None:
    answer = modern.call(way)
    assert answer.is_error
    assert answer.text == f"The tool {way} is declared read-only and tried to write."
    assert not Group.objects.exists()
    event = CallEvent.objects.get(tool=way)
    assert (event.outcome, event.error_class) == ("error", "ReadOnlyViolation")


def test_the_next_call_on_the_same_connection_writes_again(
    modern: MCPClient, make_token: MakeToken
) -> None:
    assert modern.call("by_create").is_error
    assert not modern.call("make_user", {"username": "eve"}).is_error
    assert get_user_model().objects.filter(username="eve").exists()


def test_a_read_only_tool_reads(modern: MCPClient) -> None:
    assert modern.call("count_users").text == "1"
