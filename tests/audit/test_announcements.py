"""Who hears of a call, when, and what a bad listener can do to it: nothing."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.dispatch import Signal

from mcp_app.audit.writer import EventWriter
from mcp_app.dispatch.interfaces import CallRecord, Decision, Outcome
from mcp_app.models import CallEvent
from mcp_app.signals import tool_called, tool_denied
from tests.audit.records import PATIENCE, call

heard: list[CallEvent] = []


def listen(event: CallEvent) -> None:
    """An `ON_CALL` hook by its dotted path."""
    heard.append(event)


@pytest.fixture(autouse=True)
def nothing_heard() -> None:
    heard.clear()


@contextmanager
def listening(signal: Signal) -> Iterator[list[CallRecord]]:
    records: list[CallRecord] = []

    def receive(sender: Any, record: CallRecord, **_: Any) -> None:
        assert sender is CallRecord
        records.append(record)

    signal.connect(receive)
    try:
        yield records
    finally:
        signal.disconnect(receive)


@pytest.mark.django_db(transaction=True)
def test_a_hook_is_given_the_stored_row_of_every_call(writer: EventWriter, settings: Any) -> None:
    settings.MCP_APP = {"ON_CALL": ["tests.audit.test_announcements.listen"]}
    record = call(outcome=Outcome.STARTED, arguments={"password": "x"})
    writer.submit(record).result(PATIENCE)
    record.outcome = Outcome.OK
    writer.submit(record).result(PATIENCE)
    writer.submit(call(method="tools/list", tool="")).result(PATIENCE)
    writer.close(PATIENCE)

    assert [event.method for event in heard] == ["tools/call", "tools/list"]
    assert heard[0].pk == record.pk
    assert heard[0].outcome == "ok"
    assert heard[0].arguments == {"password": "[redacted]"}
    assert CallEvent.objects.filter(pk__in=[event.pk for event in heard]).count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_hook_that_fails_breaks_nothing(
    writer: EventWriter, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(event: CallEvent) -> None:
        raise ZeroDivisionError

    def leave(event: CallEvent) -> None:
        raise SystemExit

    settings.MCP_APP = {"ON_CALL": [fail, leave, "tests.audit.nowhere.hook", listen]}

    assert writer.submit(call()).result(PATIENCE) is True
    assert writer.submit(call()).result(PATIENCE) is True
    writer.close(PATIENCE)

    assert len(heard) == 2
    # Each that fails is logged once, and not at each call.
    failures = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(failures) == 3


@pytest.mark.django_db(transaction=True)
def test_a_slow_hook_delays_neither_a_call_nor_a_commit(writer: EventWriter, settings: Any) -> None:
    go_on = threading.Event()
    settings.MCP_APP = {"ON_CALL": [lambda event: go_on.wait(PATIENCE), listen]}

    assert [writer.submit(call()).result(PATIENCE) for _ in range(3)] == [True] * 3
    assert CallEvent.objects.count() == 3
    assert heard == []

    go_on.set()
    writer.close(PATIENCE)
    assert len(heard) == 3


@pytest.mark.django_db(transaction=True)
def test_a_lost_event_is_not_announced(writer: EventWriter, settings: Any) -> None:
    settings.MCP_APP = {"ON_CALL": [listen]}

    assert writer.submit(call(started_at=1e18)).result(PATIENCE) is False
    writer.close(PATIENCE)

    assert heard == []


@pytest.mark.django_db
def test_in_a_test_s_transaction_hooks_run_before_submit_returns(
    writer: EventWriter, settings: Any
) -> None:
    settings.MCP_APP = {"ON_CALL": [listen]}

    writer.submit(call())

    assert len(heard) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.ERROR, Outcome.INVALID, Outcome.FAILED])
def test_a_call_that_ended_is_signalled_with_its_redacted_record(
    writer: EventWriter, outcome: Outcome
) -> None:
    with listening(tool_called) as called, listening(tool_denied) as denied:
        record = call(outcome=outcome, arguments={"token": "x"}, error_text="token=x")
        writer.submit(record)

    (told,) = called
    assert (told.tool, told.outcome, told.pk) == ("list_rooms", outcome, record.pk)
    assert (told.arguments, told.error_text) == ({"token": "[redacted]"}, "token=[redacted]")
    assert record.arguments == {"token": "x"}
    assert denied == []


@pytest.mark.django_db
@pytest.mark.parametrize("outcome", [Outcome.DENIED, Outcome.THROTTLED, Outcome.UNAUTHENTICATED])
def test_a_call_that_was_refused_is_signalled_as_denied(
    writer: EventWriter, outcome: Outcome
) -> None:
    with listening(tool_called) as called, listening(tool_denied) as denied:
        writer.submit(call(outcome=outcome, decision=Decision.DENY))
        writer.submit(call(outcome=outcome, decision=Decision.DENY, method="tools/list"))

    assert len(denied) == 1
    assert called == []


@pytest.mark.django_db
def test_what_never_was_a_call_is_not_signalled(writer: EventWriter) -> None:
    with listening(tool_called) as called, listening(tool_denied) as denied:
        writer.submit(call(outcome=Outcome.STARTED))
        writer.submit(call(outcome=Outcome.WAITING))
        writer.submit(call(outcome=Outcome.UNKNOWN))
        writer.submit(call(outcome=Outcome.REFUSED))
        writer.submit(call(method="tools/list"))

    assert called == []
    assert denied == []
