"""What is old goes, in chunks and by outcome, and nothing else does."""

import io
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from mcp_app.audit import pruning
from mcp_app.audit.writer import EventWriter
from mcp_app.models import CallEvent, Session, SpentState, StreamEvent
from tests.audit.records import PATIENCE, call

pytestmark = pytest.mark.django_db


def prune(*arguments: str) -> list[str]:
    out = io.StringIO()
    call_command("mcp_prune", *arguments, stdout=out)
    return out.getvalue().splitlines()


@pytest.fixture
def calls() -> None:
    """One call of each of three outcomes at each of three ages."""
    for days in (0, 40, 400):
        for outcome in ("ok", "denied", "started"):
            at = timezone.now() - timedelta(days=days)
            CallEvent.objects.create(tool=f"{outcome} {days}", outcome=outcome, created_at=at)


def left() -> set[str]:
    return set(CallEvent.objects.values_list("tool", flat=True))


def test_what_is_exactly_as_old_as_it_may_be_stays() -> None:
    moment = timezone.now()
    for tool, at in {"older": moment - timedelta(microseconds=1), "as old": moment}.items():
        CallEvent.objects.create(tool=tool, outcome="ok", created_at=at)
    assert sum(pruning.prune_events("default", "ok", moment)) == 1
    assert left() == {"as old"}


@pytest.mark.parametrize(
    ("ages", "gone"),
    [
        ([], set()),
        (["90d"], {"ok 400", "denied 400", "started 400"}),
        (["1y", "ok=4w"], {"ok 400", "ok 40", "denied 400", "started 400"}),
        (["denied=1h"], {"denied 400", "denied 40"}),
        (["2y"], set()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_each_outcome_has_its_age(calls: None, ages: list[str], gone: set[str]) -> None:
    before = left()
    options = [word for age in ages for word in ("--older-than", age)]

    told = prune(*options, "--dry-run")
    assert left() == before
    assert [line.replace("Would remove", "Removed") for line in told] == prune(*options)
    assert before - left() == gone


@pytest.mark.parametrize(
    ("ages", "said"),
    [
        (["90"], "no age"),
        (["ok=-1d"], "no age"),
        (["good=1d"], "no outcome"),
        (["1d", "2d"], "Two ages"),
        (["ok=1d", "ok=2d"], "Two ages"),
        (["999999y"], "too long"),
    ],
    ids=str,
)
def test_an_age_that_means_nothing_removes_nothing(calls: None, ages: list[str], said: str) -> None:
    before = left()
    with pytest.raises(CommandError, match=said):
        prune(*(word for age in ages for word in ("--older-than", age)))
    assert left() == before


def test_rows_go_in_chunks(calls: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "CHUNK", 2)
    old = timezone.now() - timedelta(days=100)
    CallEvent.objects.bulk_create(
        CallEvent(tool="t", outcome="ok", created_at=old - timedelta(hours=n % 2)) for n in range(9)
    )
    with CaptureQueriesContext(connection) as queries:
        assert prune("--older-than", "ok=90d")[0].startswith("Removed 10 calls (ok)")
    deletes = [query["sql"] for query in queries if query["sql"].startswith("DELETE")]
    assert len(deletes) == 5
    assert "t" not in left()


def test_what_calls_leave_beside_them_goes_when_its_own_time_has_come(calls: None) -> None:
    now = timezone.now()
    ago = timedelta(days=100)
    make = Session.objects.create
    lives = make(key="lives", created_at=now - ago)
    make(key="idle", last_seen_at=now - ago)
    make(key="ended", ended_at=now - ago, last_seen_at=now - ago)
    make(key="ended lately", ended_at=now, last_seen_at=now)
    for number, at in enumerate((now, now - timedelta(hours=2))):
        StreamEvent.objects.create(session=lives, stream="s", number=number, data="", created_at=at)
        SpentState.objects.create(name=str(number), expires_at=at + timedelta(minutes=1))

    assert prune() == ["Removed 1 stream events.", "Removed 1 spent states."]
    assert Session.objects.count() == 4
    assert "Removed 2 sessions." in prune("--older-than", "90d")
    assert set(Session.objects.values_list("key", flat=True)) == {"lives", "ended lately"}


@pytest.mark.django_db(transaction=True)
def test_calls_are_recorded_while_rows_are_pruned(
    writer: EventWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "CHUNK", 20)
    old = timezone.now() - timedelta(days=100)
    CallEvent.objects.bulk_create(
        CallEvent(tool="old", outcome="ok", created_at=old) for _ in range(200)
    )
    done = threading.Event()
    stored: list[Any] = []

    def record() -> None:
        while not done.is_set():
            stored.append(writer.submit(call(tool="new")).result(PATIENCE))

    thread = threading.Thread(target=record)
    thread.start()
    try:
        prune("--older-than", "90d")
    finally:
        done.set()
        thread.join(PATIENCE)
        connection.close()

    assert all(stored)
    assert CallEvent.objects.filter(tool="new").count() == len(stored)
    assert not CallEvent.objects.filter(tool="old").exists()
