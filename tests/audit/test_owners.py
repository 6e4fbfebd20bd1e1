"""Users and tokens that are deleted while a call runs: the row stays, its keys lead to somebody."""

import threading
import time
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.test.utils import CaptureQueriesContext

from mcp_app import Context
from mcp_app.audit.events import to_event
from mcp_app.audit.owners import LONG
from mcp_app.audit.storage import Entry, store
from mcp_app.auth.tokens import issue
from mcp_app.models import CallEvent, Token, TokenSecret
from mcp_app.testing import MCPClient
from tests.audit.records import PATIENCE, call
from tests.interaction.conftest import MakeToken, Serve, lanes, make_token, mounted, serve, user
from tests.interaction.tools import server

__all__ = ["lanes", "make_token", "mounted", "serve", "user"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def caller(django_user_model: Any) -> Any:
    """Somebody with a token."""
    return django_user_model.objects.create_user("ada")


def of(caller: Any, **changes: Any) -> Entry:
    """A call of theirs that is to be stored."""
    token, _ = issue(user=caller, name="laptop")
    record = call(user=caller, token=token, **changes)
    return Entry(record, to_event(record))


def by_statements() -> None:
    """Delete everybody, as another process does: nobody here hears of it."""
    for model in (TokenSecret, Token, get_user_model()):
        model._base_manager.all()._raw_delete("default")


def told(tool: str = "list_rooms") -> tuple[Any, ...]:
    """Whose the call was."""
    row = CallEvent.objects.get(tool=tool)
    return row.username, row.token_name, row.user_id, row.token_id


GONE = ("ada", "laptop", None, None)


@pytest.mark.parametrize("read_only", [True, False], ids=["reads", "writes"])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_user_who_is_deleted_while_their_call_runs(
    lanes: None, make_token: MakeToken, serve: Serve, kind: str, read_only: bool
) -> None:
    def runs() -> str:
        delete.start()
        delete.join(PATIENCE)
        return "done"

    async def aruns() -> str:
        return runs()

    def deletes() -> None:
        get_user_model().objects.get(username="ada").delete()
        connection.close()

    delete = threading.Thread(target=deletes)
    name = serve(aruns if kind == "async" else runs, read_only=read_only)
    client = MCPClient(make_token(), server=server, door="asgi")
    assert client.call(name).text == "done"
    assert told(name) == GONE


def test_a_user_whom_their_own_call_deletes(
    lanes: None, make_token: MakeToken, serve: Serve
) -> None:
    def leave(ctx: Context) -> str:
        ctx.user.delete()
        return "gone"

    name = serve(leave)
    assert MCPClient(make_token(), server=server, door="asgi").call(name).text == "gone"
    assert told(name) == GONE


def test_a_deletion_of_another_process_is_found_for_calls_that_took_long(caller: Any) -> None:
    entry = of(caller, started_at=time.time(), duration=LONG)
    by_statements()
    store([entry])
    assert told() == GONE


def test_who_still_exists_keeps_their_calls(caller: Any) -> None:
    entry = of(caller, duration=LONG)
    store([entry])
    assert told() == ("ada", "laptop", caller.pk, entry.record.token.pk)


def test_a_short_call_is_not_asked_about(caller: Any) -> None:
    entry = of(caller, started_at=time.time() + 1, duration=0.01)
    with CaptureQueriesContext(connection) as queries:
        store([entry])
    assert not [query for query in queries if query["sql"].startswith("SELECT")]


def test_a_row_of_the_time_of_the_deletion_loses_its_keys_with_the_commit(caller: Any) -> None:
    entry = of(caller)
    with transaction.atomic():
        caller.delete()
        entry.event.save()
        assert told() != GONE
    assert told() == GONE


@pytest.mark.parametrize("error", [DatabaseError, InterfaceError])
def test_where_nobody_can_say_who_exists_the_row_is_stored_as_it_is(
    caller: Any, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def away(*given: Any, **more: Any) -> None:
        raise error

    entry = of(caller, duration=LONG)
    monkeypatch.setattr(get_user_model()._base_manager, "using", away)
    store([entry])
    assert entry.stored
    assert told()[:2] == GONE[:2]
