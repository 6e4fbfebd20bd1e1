"""Handshake sessions: whose they are, how long they live, what may name one (D-034 to D-036)."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import DatabaseError, InterfaceError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from mcp_app.auth import sessions
from mcp_app.auth.sessions import DatabaseSessions
from mcp_app.auth.tokens import issue, rotate
from mcp_app.dispatch.context import Caller
from mcp_app.dispatch.interfaces import SessionState
from mcp_app.models import Session

STORE = DatabaseSessions()


@pytest.fixture
def caller(ana: Any) -> Caller:
    """Ana with a token."""
    return Caller(user=ana, auth=issue(user=ana, name="laptop")[0], address="192.0.2.7")


def opened(caller: Caller) -> SessionState:
    return STORE.create(caller, "2025-06-18", {"name": "cli", "version": "1"}, {"sampling": {}})


def age(state: SessionState, **span: float) -> None:
    """Let the session's last use lie so far back."""
    Session.objects.filter(key=state.session_id).update(
        last_seen_at=timezone.now() - timedelta(**span)
    )


def test_a_session_is_found_as_it_was_agreed(caller: Caller) -> None:
    state = opened(caller)
    assert STORE.find(state.session_id, caller) == state
    assert (state.version, state.client_name, state.client_version) == ("2025-06-18", "cli", "1")
    assert state.capabilities == {"sampling": {}}
    assert len(state.session_id) == 43
    assert Session.objects.get().address == "192.0.2.7"


def test_a_rotation_keeps_the_session(caller: Caller) -> None:
    state = opened(caller)
    rotate(caller.auth, grace=timedelta(0))
    assert STORE.find(state.session_id, caller) == state


def test_nobody_else_finds_or_ends_it(caller: Caller, ana: Any, django_user_model: Any) -> None:
    state = opened(caller)
    ben = django_user_model.objects.create_user("ben")
    others = [
        Caller(user=ben, auth=issue(user=ben, name="ben's")[0]),
        Caller(user=ana, auth=issue(user=ana, name="another of ana's")[0]),
        Caller(user=ana),
        Caller(user=AnonymousUser()),
    ]
    for other in others:
        assert STORE.find(state.session_id, other) is None
        assert STORE.end(state.session_id, other) is False
    assert STORE.find(state.session_id, caller) == state


def test_a_session_without_a_token_is_its_users(caller: Caller, ana: Any) -> None:
    state = opened(Caller(user=ana))
    assert STORE.find(state.session_id, Caller(user=ana)) == state
    assert STORE.find(state.session_id, caller) is None


def test_an_ended_session_is_gone(caller: Caller) -> None:
    state = opened(caller)
    assert STORE.end(state.session_id, caller) is True
    assert STORE.end(state.session_id, caller) is False
    assert STORE.find(state.session_id, caller) is None


def test_an_idle_session_expires(caller: Caller, settings: Any) -> None:
    settings.MCP_APP = settings.MCP_APP | {"SESSION_TTL": 100}
    state = opened(caller)
    age(state, seconds=95)
    assert STORE.find(state.session_id, caller) is not None
    age(state, seconds=101)
    assert STORE.find(state.session_id, caller) is None
    assert STORE.end(state.session_id, caller) is False


def test_the_idle_clock_is_written_at_most_once_a_minute(caller: Caller) -> None:
    state = opened(caller)
    age(state, seconds=61)
    with CaptureQueriesContext(connection) as queries:
        for _ in range(10):
            STORE.find(state.session_id, caller)
    assert len([query for query in queries if query["sql"].startswith("UPDATE")]) == 1


@pytest.mark.parametrize(
    "session_id",
    [
        "",
        "x",
        "a" * 42,
        "a" * 44,
        "a" * 10_000,
        "a" * 42 + "\0",
        "a" * 42 + "é",
        "' OR 1=1 --",
        " " * 43,
    ],
)
def test_what_cannot_be_an_id_reaches_no_query(
    session_id: str, caller: Caller, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(0):
        assert STORE.find(session_id, caller) is None
        assert STORE.end(session_id, caller) is False


def test_a_clients_texts_are_made_fit_for_the_database(caller: Caller) -> None:
    client = {"name": "n\0" * 1_000, "version": 7, "title": "ignored"}
    state = STORE.create(caller, "2025-06-18", client, {"a\0": ["b\0", {"\ud800": 1}]})
    assert STORE.find(state.session_id, caller) == state
    assert (state.client_name, state.client_version) == ("n" * 200, "")
    assert state.capabilities == {"a": ["b", {"?": 1}]}


def test_deleting_the_token_takes_its_sessions(caller: Caller) -> None:
    opened(caller)
    caller.auth.delete()
    assert not Session.objects.exists()


def test_a_session_is_found_where_the_orm_finds_it(caller: Caller, ana: Any, settings: Any) -> None:
    """The compiled statement, and what is judged of its row, against the query that `end` runs."""
    settings.MCP_APP = {"SESSION_TTL": 600}
    callers = [
        caller,
        Caller(user=ana, auth=issue(user=ana, name="another")[0]),
        Caller(user=ana),
        Caller(user=AnonymousUser()),
    ]
    states = [opened(one) for one in callers for _ in range(4)]
    for number, state in enumerate(states):
        rows = Session.objects.filter(key=state.session_id)
        if number % 4 == 1:
            rows.update(ended_at=timezone.now())
        if number % 4 > 1:
            age(state, seconds=(595, 605)[number % 2])
    found = 0
    for state in states:
        for one in callers:
            expected = sessions._live(state.session_id, one, timezone.now()).first()
            state_of = None if expected is None else sessions._state(expected)
            assert STORE.find(state.session_id, one) == state_of
            found += state_of is not None
    assert found == len(callers) * 2
    STORE.find(states[0].session_id, caller)
    with CaptureQueriesContext(connection) as queries:
        assert STORE.find(states[0].session_id, caller) is not None
    assert len(queries) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("error", [DatabaseError, InterfaceError])
def test_a_last_use_that_cannot_be_written_fails_no_call_and_is_logged_once(
    caller: Caller, caplog: pytest.LogCaptureFixture, error: type[Exception]
) -> None:
    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("UPDATE"):
            raise error("no")
        return execute(sql, params, many, context)

    state = opened(caller)
    age(state, seconds=120)
    with connection.execute_wrapper(refuse):
        for _ in range(3):
            assert STORE.find(state.session_id, caller) == state
    session = Session.objects.get()
    assert [record.getMessage() for record in caplog.records] == [
        f"Session {session.pk}: last use not written."
    ]
