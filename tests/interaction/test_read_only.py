"""A read-only tool cannot write, whatever it tries; other calls on the same connection can."""

from collections.abc import AsyncIterator, Iterator

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import connection, transaction

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


@ways.tool(read_only=True)
def by_executemany() -> int:
    """Write many rows past the ORM."""
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO auth_group (name) VALUES (%s)", [["new"], ["newer"]])
    return 1


@ways.tool(read_only=True)
def by_common_table() -> int:
    """Write behind a WITH."""
    with connection.cursor() as cursor:
        cursor.execute("WITH n AS (SELECT 'new') INSERT INTO auth_group (name) SELECT * FROM n")
    return 1


@ways.tool(read_only=True)
def by_unlocking() -> int:
    """Break the lock first."""
    with connection.cursor() as cursor:
        sqlite = connection.vendor == "sqlite"
        cursor.execute("PRAGMA query_only = OFF" if sqlite else "SET transaction_read_only = off")
    return 1


@ways.tool(read_only=True)
def by_the_drivers_own_way() -> int:
    """Write by what Django's cursor only hands on."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.executescript("INSERT INTO auth_group (name) VALUES ('new')")
        else:
            with cursor.copy("COPY auth_group (name) FROM STDIN") as rows:
                rows.write_row(["new"])
    return 1


@ways.tool(read_only=True, atomic=True)
def by_a_function_in_a_transaction() -> int:
    """Let a SELECT do it, in a transaction of its own."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DELETE FROM auth_group")
        else:
            cursor.execute("SELECT nextval(pg_get_serial_sequence('auth_group', 'id'))")
    return 1


@ways.tool(read_only=True)
def by_django_transaction() -> int:
    """Open a transaction to write in."""
    with transaction.atomic():
        list(Group.objects.all())
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return Group.objects.create(name="new").pk


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
    if way != "by_the_drivers_own_way":  # refused by the database, in its own words
        assert answer.text == f"The tool {way} is declared read-only and tried to write."
    assert not Group.objects.exists()
    event = CallEvent.objects.get(tool=way)
    if way != "by_the_drivers_own_way":
        assert (event.outcome, event.error_class) == ("error", "ReadOnlyViolation")


def test_the_next_call_on_the_same_connection_writes_again(
    modern: MCPClient, make_token: MakeToken
) -> None:
    assert modern.call("by_create").is_error
    assert not modern.call("make_user", {"username": "eve"}).is_error
    assert get_user_model().objects.filter(username="eve").exists()


def test_a_read_only_tool_reads(modern: MCPClient) -> None:
    assert modern.call("count_users").text == "1"
