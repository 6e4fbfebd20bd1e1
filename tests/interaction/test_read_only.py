"""A read-only tool cannot write, whatever it tries; other calls on the same connection can."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import DatabaseError, connection, transaction

from mcp_app import MCPServer
from mcp_app.models import CallEvent
from mcp_app.testing import MCPClient
from mcp_app.work.read_only import ReadOnlyViolation
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


@contextmanager
def served(more: MCPServer) -> Iterator[None]:
    """The tools of `more` on the tests' server, for the length of the block."""
    for tool in more.tools.values():
        server.add(tool)
    yield
    for name in more.tools:
        server.remove(name)


@pytest.fixture(autouse=True)
def ways_are_tools() -> Iterator[None]:
    """The tools above, for this module alone."""
    with served(ways):
        yield


@pytest.mark.parametrize("way", sorted(ways.tools))
def test_no_way_of_writing_is_open_to_a_read_only_tool(modern: MCPClient, way: str) -> None:
    answer = modern.call(way)
    assert answer.is_error
    if way != "by_the_drivers_own_way":  # refused by the database, in its own words
        beyond = "do more than read" if way == "by_unlocking" and not ON_SQLITE else "write"
        assert answer.text == f"The tool {way} is declared read-only and tried to {beyond}."
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


queries = MCPServer("somebody else's SQL")


@queries.tool(read_only=True)
def query(statements: list[str], values: list[str] | None = None) -> list[str]:
    """Run what the caller wrote, as far as it goes; what was refused of it."""
    refused = []
    for text in statements:
        try:
            with connection.cursor() as cursor:
                cursor.execute(text, values)
        except (DatabaseError, ReadOnlyViolation) as error:
            refused.append(type(error).__name__)
    return refused


@queries.tool(read_only=True, atomic=True)
def query_at_once(statements: list[str]) -> list[str]:
    """As `query`, in a transaction."""
    with connection.cursor() as cursor:
        for text in statements:
            cursor.execute(text)
    return []


@queries.tool(read_only=True)
def run_script(text: str) -> int:
    """Hand a script to SQLite's own driver."""
    with connection.cursor() as cursor:
        cursor.cursor.executescript(text)
    return 1


SQLITE_KEYS = [
    "PRAGMA query_only=0",
    "/* x */ PRAGMA query_only=0",
    "-- x\nPRAGMA query_only=0",
    "PRAGMA/**/query_only(0)",
    "SELECT 1; PRAGMA query_only=0",
]
SQLITE_WRITES = [
    "WITH n AS (SELECT 'new' AS t) INSERT OR IGNORE INTO auth_group (name) SELECT t FROM n",
    "WITH n AS (SELECT 1) UPDATE OR IGNORE auth_user SET first_name = 'changed'",
    "INSERT/**/INTO auth_group (name) VALUES ('new')",
]
POSTGRESQL_KEYS = [
    "SET default_transaction_read_only = off",
    "/* x */ SET default_transaction_read_only=off",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ/**/WRITE",
    "BEGIN READ/**/WRITE",
    "SELECT set_config('default_transaction_read_only', 'off', false)",
    "SELECT set_config('default_transaction'||'_read_only', 'off', false)",
    "SELECT \"set_config\"('default_transaction_read_only', 'off', false)",
    "SELECT 1; SET default_transaction_read_only=off",
    'SET U&"default\\005ftransaction\\005fread_only" = off',
    "DO $$ BEGIN PERFORM set_config('default_transaction_read_only', 'off', false); END $$",
    "RESET ALL",
    "DISCARD ALL",
]
POSTGRESQL_WRITES = [
    "WITH n AS (INSERT/**/INTO auth_group (name) VALUES ('new') RETURNING id) SELECT * FROM n",
    "SELECT nextval(pg_get_serial_sequence('auth_group', 'id'))",
    "SELECT lo_from_bytea(0, 'new')",
    "COMMIT; INSERT INTO auth_group (name) VALUES ('new')",
]
ON_SQLITE = connection.vendor == "sqlite"
KEYS, WRITES = (SQLITE_KEYS, SQLITE_WRITES) if ON_SQLITE else (POSTGRESQL_KEYS, POSTGRESQL_WRITES)


@pytest.fixture
def asks() -> Iterator[None]:
    """The tools that run the caller's SQL."""
    with served(queries):
        yield


def written() -> tuple[bool, bool]:
    changed = get_user_model().objects.filter(first_name="changed")
    return Group.objects.exists(), changed.exists()


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.django_db(transaction=True)
def test_no_text_unlocks_what_a_read_only_tool_may_do(
    asks: None, modern: MCPClient, key: str, write: str
) -> None:
    answer = modern.call("query", {"statements": [key, write, write]})
    assert answer.is_error or len(answer.structured["result"]) >= 2, answer.text
    assert written() == (False, False)


@pytest.mark.django_db(transaction=True)
def test_no_value_unlocks_it(asks: None, modern: MCPClient) -> None:
    name = "query_only" if ON_SQLITE else "default_transaction_read_only"
    key = "PRAGMA %s" if ON_SQLITE else "SELECT set_config(%s, 'off', false)"
    modern.call("query", {"statements": [key], "values": [name]})
    modern.call("query", {"statements": [WRITES[0]]})
    assert written() == (False, False)


@pytest.mark.django_db(transaction=True)
def test_a_transaction_cannot_begin_to_write(asks: None, modern: MCPClient) -> None:
    for first in ("SET TRANSACTION READ/**/WRITE", "ROLLBACK", "SELECT 1; COMMIT"):
        assert modern.call("query_at_once", {"statements": [first, WRITES[0]]}).is_error
    assert written() == (False, False)


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_follows_at_once_writes(asks: None, modern: MCPClient) -> None:
    modern.call("query", {"statements": ["SELECT 1"]})
    with transaction.atomic():
        Group.objects.create(name="new")
    assert written() == (True, False)
    Group.objects.create(name="after it")


@pytest.mark.django_db(transaction=True)
def test_a_transaction_by_hand_that_follows_at_once_writes(asks: None, modern: MCPClient) -> None:
    modern.call("query", {"statements": ["SELECT 1"]})
    transaction.set_autocommit(False)
    try:
        Group.objects.create(name="new")
        transaction.commit()
    finally:
        transaction.set_autocommit(True)
    assert written() == (True, False)


@pytest.mark.skipif(not ON_SQLITE, reason="SQLite's driver alone has scripts")
def test_no_script_unlocks_it(asks: None, modern: MCPClient) -> None:
    script = "PRAGMA query_only=0; INSERT INTO auth_group (name) VALUES ('new')"
    assert modern.call("run_script", {"text": script}).is_error
    assert written() == (False, False)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM auth_user WHERE username <> 'it''s; DELETE FROM x -- no'",
        "WITH n AS (SELECT 1 AS one) SELECT one FROM n -- a comment",
        "EXPLAIN SELECT * FROM auth_user",
        "(SELECT 1) UNION SELECT 2" if not ON_SQLITE else "SELECT 1 UNION SELECT 2",
        "VALUES (1)",
        "SHOW server_version" if not ON_SQLITE else "PRAGMA table_info(auth_user)",
    ],
)
def test_what_reads_is_let_through(asks: None, modern: MCPClient, text: str) -> None:
    assert modern.call("query", {"statements": [text]}).structured == {"result": []}


def test_what_one_call_sets_meets_no_other(asks: None, modern: MCPClient) -> None:
    lasting = (
        "PRAGMA locking_mode=EXCLUSIVE" if ON_SQLITE else "SET search_path TO nowhere",
        "SELECT pg_advisory_lock(42)" if not ON_SQLITE else "PRAGMA case_sensitive_like=1",
    )
    for text in lasting:
        assert modern.call("query", {"statements": [text]}).structured == {
            "result": ["ReadOnlyViolation"]
        }
    assert modern.call("count_users").text == "1"
