"""Group commit: who waits for what, and which transaction a row belongs to."""

import asyncio
import threading
from collections.abc import Iterable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth import get_user_model
from django.db import connection, transaction

from mcp_app.audit.writer import EventWriter
from mcp_app.dispatch.interfaces import Outcome
from mcp_app.dispatch.receipts import Receipt
from mcp_app.models import CallEvent
from mcp_app.transports.bell import bell
from tests.audit.records import PATIENCE, WRITER, Gate, call, gate


def hold(writer: EventWriter, made: Gate) -> Receipt:
    """Submit one call and let the writer stop in the middle of its transaction."""
    made.open.clear()
    receipt = writer.submit(call(tool="held"))
    assert made.arrived.wait(PATIENCE)
    return receipt


def wait_for(receipts: Iterable[Receipt]) -> None:
    for receipt in receipts:
        receipt.result(PATIENCE)


def rest(writer: EventWriter) -> None:
    """Have the writer's thread started, and with nothing to do."""
    while not (receipt := writer.submit(call(tool="rested"))).done():
        receipt.result(PATIENCE)


def writer_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == WRITER]


@pytest.mark.django_db(transaction=True)
def test_a_call_that_is_answered_is_recorded(writer: EventWriter) -> None:
    assert writer.submit(call(tool="find")).result(PATIENCE) is True

    assert CallEvent.objects.get().tool == "find"


@pytest.mark.django_db(transaction=True)
def test_calls_that_come_during_a_commit_share_the_next(writer: EventWriter) -> None:
    with gate() as made:
        first = hold(writer, made)
        gathered = [writer.submit(call(tool=f"t{number}")) for number in range(20)]
        assert not first.done()
        assert not any(receipt.done() for receipt in gathered)
        made.open.set()
        wait_for([first, *gathered])

    assert all(receipt.result(0) for receipt in [first, *gathered])
    assert made.count("INSERT") == 2
    names = list(CallEvent.objects.order_by("pk").values_list("tool", flat=True))
    assert names == ["held", *(f"t{number}" for number in range(20))]


@pytest.mark.django_db(transaction=True)
def test_every_answered_call_of_many_threads_has_its_row(writer: EventWriter) -> None:
    seen: list[bool] = []

    def work(number: int) -> None:
        for count in range(5):
            name = f"t{number}-{count}"
            writer.submit(call(tool=name)).result(PATIENCE)
            seen.append(CallEvent.objects.filter(tool=name).exists())
        connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert seen == [True] * 40
    assert CallEvent.objects.count() == 40


@pytest.mark.django_db(transaction=True)
def test_the_end_of_a_call_completes_its_started_row(writer: EventWriter) -> None:
    record = call(outcome=Outcome.STARTED, duration=None)
    writer.submit(record).result(PATIENCE)
    started = CallEvent.objects.get()
    assert (started.outcome, started.duration_ms) == ("started", None)

    record.outcome, record.duration, record.result_bytes = Outcome.ERROR, 1.5, 9
    record.error_class, record.error_text = "ToolError", "password=x"
    writer.submit(record).result(PATIENCE)

    ended = CallEvent.objects.get()
    assert (ended.pk, ended.created_at, ended.tool) == (
        started.pk,
        started.created_at,
        "list_rooms",
    )
    assert (ended.outcome, ended.duration_ms, ended.result_bytes) == ("error", 1500, 9)
    assert (ended.error_class, ended.error_text) == ("ToolError", "password=[redacted]")


@pytest.mark.django_db(transaction=True)
def test_a_started_row_that_was_deleted_is_written_again(writer: EventWriter) -> None:
    record = call(outcome=Outcome.STARTED)
    writer.submit(record).result(PATIENCE)
    CallEvent.objects.all().delete()

    record.outcome = Outcome.OK
    assert writer.submit(record).result(PATIENCE)

    assert CallEvent.objects.get().outcome == "ok"


@pytest.mark.django_db(transaction=True)
def test_a_call_that_ends_before_its_start_is_stored_has_one_row(writer: EventWriter) -> None:
    with gate() as made:
        held = hold(writer, made)
        record = call(tool="quick", outcome=Outcome.STARTED)
        started = writer.submit(record)
        record.outcome = Outcome.OK
        ended = writer.submit(record)
        made.open.set()
        wait_for([held, started, ended])

    assert started.result(0)
    assert ended.result(0)
    assert CallEvent.objects.get(tool="quick").outcome == "ok"


@pytest.mark.django_db(transaction=True)
def test_a_record_may_change_while_its_row_waits(writer: EventWriter) -> None:
    with gate() as made:
        held = hold(writer, made)
        record = call(tool="before")
        receipt = writer.submit(record)
        record.tool = "after"
        made.open.set()
        wait_for([held, receipt])

    assert CallEvent.objects.filter(tool="before").exists()


@pytest.mark.django_db(transaction=True)
def test_an_idle_writer_has_neither_thread_nor_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("django.core.mail.outbox")  # where it is, no connection stays open at all
    busy, idle = EventWriter(), EventWriter(idle_seconds=0)
    with gate() as made:
        for _ in range(3):
            busy.submit(call()).result(PATIENCE)
        (thread,) = writer_threads()
        busy.close(PATIENCE)
        assert made.connections == 1
        assert not thread.is_alive()

        idle.submit(call()).result(PATIENCE)
        for thread in writer_threads():
            thread.join(PATIENCE)
        assert idle.submit(call()).result(PATIENCE)
        idle.close(PATIENCE)
        assert made.connections == 3
    assert CallEvent.objects.count() == 5


@pytest.mark.django_db(transaction=True)
def test_what_waits_is_stored_before_the_writer_closes(writer: EventWriter) -> None:
    receipts = [writer.submit(call()) for _ in range(100)]

    writer.close(PATIENCE)

    assert all(receipt.done() for receipt in receipts)
    assert CallEvent.objects.count() == 100


@pytest.mark.django_db(transaction=True)
def test_a_thread_writes_itself_where_too_much_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    writer = EventWriter(most_waiting=2)
    with gate() as made:
        waiting = [hold(writer, made), writer.submit(call()), writer.submit(call())]

        for _ in range(3):
            assert writer.submit(call(tool="own")).done()

        assert list(CallEvent.objects.values_list("tool", flat=True)) == ["own"] * 3
        made.open.set()
        wait_for(waiting)
    writer.close(PATIENCE)

    assert [record.getMessage() for record in caplog.records] == ["2 call events wait to be stored"]


@pytest.mark.django_db(transaction=True)
async def test_an_event_loop_waits_for_a_commit_without_blocking(writer: EventWriter) -> None:
    with gate() as made:
        made.open.clear()
        receipt = bell().outcome(writer.submit(call()))
        await asyncio.sleep(0)
        assert not receipt.done()
        made.open.set()
        assert await asyncio.wait_for(receipt, PATIENCE)


@pytest.mark.django_db(transaction=True)
async def test_a_caller_who_stops_waiting_loses_no_event(writer: EventWriter) -> None:
    with gate() as made:
        made.open.clear()
        receipt = writer.submit(call())
        waiting = bell().outcome(receipt)
        waiting.cancel()
        made.open.set()
        await asyncio.to_thread(writer.close, PATIENCE)

    assert receipt.result(0) is True


# --- the caller's transaction ------------------------------------------------------------------


class Undo(Exception):
    pass


@pytest.mark.django_db(transaction=True)
def test_a_caller_who_rolls_back_keeps_the_event(writer: EventWriter) -> None:
    def roll_back() -> None:
        with transaction.atomic():
            get_user_model().objects.create_user("ana")
            assert writer.submit(call()).result(PATIENCE)
            raise Undo

    with pytest.raises(Undo):
        roll_back()
    writer.close(PATIENCE)

    assert CallEvent.objects.count() == 1
    assert not get_user_model().objects.exists()


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_a_writer_that_rests_writes_in_its_stead(writer: EventWriter) -> None:
    own = connection.connection
    with gate() as made:
        rest(writer)
        receipt = writer.submit(call(tool="here"))

    assert receipt.done()
    assert made.threads[-1] == threading.get_ident() != made.threads[0]
    assert connection.connection is own
    assert CallEvent.objects.filter(tool="here").exists()


@pytest.mark.django_db(transaction=True)
def test_what_comes_while_another_writes_in_its_stead_waits_for_the_writer(
    writer: EventWriter,
) -> None:
    with gate() as made:
        rest(writer)
        made.statements.clear()
        made.open.clear()
        made.arrived.clear()
        thread = threading.Thread(target=lambda: writer.submit(call(tool="first")))
        thread.start()
        assert made.arrived.wait(PATIENCE)
        gathered = [writer.submit(call(tool=f"t{number}")) for number in range(20)]
        assert not any(receipt.done() for receipt in gathered)
        made.open.set()
        wait_for(gathered)
        thread.join(PATIENCE)

    later = CallEvent.objects.exclude(tool="rested").order_by("pk")
    names = list(later.values_list("tool", flat=True))
    assert names == ["first", *(f"t{number}" for number in range(20))]
    assert made.count("INSERT") == len(made.statements) == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time")
def test_a_caller_s_transaction_holds_no_event_that_it_writes_itself(writer: EventWriter) -> None:
    def roll_back() -> None:
        with transaction.atomic():
            get_user_model().objects.create_user("ana")
            assert writer.submit(call(tool="kept")).done()
            raise Undo

    rest(writer)
    with pytest.raises(Undo):
        roll_back()

    assert CallEvent.objects.filter(tool="kept").exists()
    assert not get_user_model().objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_caller_who_commits_keeps_both(writer: EventWriter) -> None:
    with transaction.atomic():
        record = call(outcome=Outcome.STARTED)
        writer.submit(record).result(PATIENCE)
        get_user_model().objects.create_user("ana")
        record.outcome = Outcome.OK
        writer.submit(record).result(PATIENCE)
    writer.close(PATIENCE)

    assert CallEvent.objects.get().outcome == "ok"
    assert get_user_model().objects.count() == 1


@pytest.mark.django_db
def test_a_test_in_a_transaction_sees_the_event_at_once(writer: EventWriter) -> None:
    user = get_user_model().objects.create_user("ana")
    with transaction.atomic():
        receipt = writer.submit(call(user=user))

    assert receipt.done()
    assert CallEvent.objects.get().user == user
    assert writer_threads() == []


@pytest.mark.django_db
def test_an_event_loop_beside_a_test_s_thread_writes_in_its_transaction(
    writer: EventWriter, settings: Any
) -> None:
    settings.MCP_APP = {"WORKERS": 0}
    user = get_user_model().objects.create_user("ana")

    async def submit() -> bool:
        return await bell().outcome(writer.submit(call(user=user)))

    assert async_to_sync(submit)()
    assert CallEvent.objects.get().user == user
    assert writer_threads() == []
