"""What is lost, and what is not, when a database refuses."""

import logging
from typing import Any

import pytest
from django.db import connection

from mcp_app.audit.events import to_event
from mcp_app.audit.storage import Entry, database, store
from mcp_app.audit.writer import EventWriter
from mcp_app.models import CallEvent
from tests.audit.records import PATIENCE, call, gate


def entries(*tools: str) -> list[Entry]:
    records = [call(tool=tool, arguments={"password": "x"}) for tool in tools]
    return [Entry(record, to_event(record)) for record in records]


def spoil(entry: Entry) -> None:
    """Make the row one that the database refuses."""
    entry.event.outcome = None  # type: ignore[assignment]


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.django_db(transaction=True)
def test_a_row_that_cannot_be_stored_loses_only_itself(caplog: pytest.LogCaptureFixture) -> None:
    rows = entries("a", "b", "c")
    spoil(rows[1])

    store(rows)

    assert [row.stored for row in rows] == [True, False, True]
    assert list(CallEvent.objects.order_by("pk").values_list("tool", flat=True)) == ["a", "c"]
    assert [row.record.pk is None for row in rows] == [False, True, False]
    first, second = messages(caplog)
    assert first == "Could not store 1 call events"
    assert second.startswith("Lost call event: {")
    assert '"tool": "b"' in second
    assert '"password": "[redacted]"' in second


@pytest.mark.django_db(transaction=True)
def test_an_update_that_cannot_be_stored_loses_only_itself() -> None:
    rows = entries("a", "b")
    store(rows)
    ends = [Entry(row.record, to_event(row.record)) for row in rows]
    spoil(ends[0])
    ends[1].event.outcome = "error"

    store([*ends, *entries("c")])

    assert list(CallEvent.objects.order_by("pk").values_list("tool", "outcome")) == [
        ("a", "ok"),
        ("b", "error"),
        ("c", "ok"),
    ]


@pytest.mark.django_db(transaction=True)
def test_a_missing_table_loses_events_and_no_call(
    writer: EventWriter, caplog: pytest.LogCaptureFixture
) -> None:
    table = CallEvent._meta.db_table
    with connection.schema_editor() as editor:
        editor.alter_db_table(CallEvent, table, "elsewhere")
    try:
        assert writer.submit(call()).result(PATIENCE) is False
    finally:
        with connection.schema_editor() as editor:
            editor.alter_db_table(CallEvent, "elsewhere", table)

    assert writer.submit(call(tool="after")).result(PATIENCE) is True
    assert CallEvent.objects.get().tool == "after"
    assert "Lost call event" in messages(caplog)[1]


@pytest.mark.django_db(transaction=True)
def test_a_database_that_comes_back_takes_events_again(
    writer: EventWriter, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.ensure_connection()
    with monkeypatch.context() as outage:
        outage.setitem(connection.settings_dict, "NAME", "/missing/database")
        assert writer.submit(call(tool="early")).result(PATIENCE) is False
        assert writer.submit(call(tool="early")).result(PATIENCE) is False
    assert sum('"tool": "early"' in message for message in messages(caplog)) == 2

    assert writer.submit(call(tool="late")).result(PATIENCE) is True

    assert CallEvent.objects.get().tool == "late"


def test_events_may_have_a_database_of_their_own(settings: Any) -> None:
    assert database() == "default"
    settings.MCP_APP = {"AUDIT_DATABASE": "events"}
    assert database() == "events"


def sessions() -> set[int]:
    """The sessions of this database on the server; other threads keep some for their next tests."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        return {pid for (pid,) in cursor.fetchall()}


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_the_server_closed_is_opened_anew(
    writer: EventWriter, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no server")
    monkeypatch.delattr("django.core.mail.outbox")  # where it is, no connection stays open
    before = sessions()
    with gate() as made:
        writer.submit(call()).result(PATIENCE)
        (written_by,) = sessions() - before
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [written_by])
        assert writer.submit(call()).result(PATIENCE) is True

    writer.close(PATIENCE)
    assert made.connections == 2
    assert CallEvent.objects.count() == 2
    assert messages(caplog) == []


@pytest.mark.django_db(transaction=True)
def test_a_key_that_was_rolled_back_is_not_used_again() -> None:
    first, second = entries("a", "b")
    store([first])
    spoil(second)
    end = Entry(first.record, to_event(first.record))
    third = entries("c")[0]

    store([third, end, second])

    assert third.stored
    assert end.stored
    assert CallEvent.objects.count() == 2
    assert CallEvent.objects.get(tool="c").pk == third.record.pk


@pytest.mark.django_db(transaction=True)
def test_a_database_that_returns_one_key_at_a_time_has_one_row_a_call_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features = type(connection.features)
    monkeypatch.setattr(features, "can_return_rows_from_bulk_insert", False)
    rows = entries("a", "b")
    store(rows)
    store([Entry(row.record, to_event(row.record)) for row in rows])

    assert CallEvent.objects.count() == 2
    assert [row.record.pk for row in rows] == [
        CallEvent.objects.get(tool=tool).pk for tool in ("a", "b")
    ]
