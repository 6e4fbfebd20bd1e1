"""What is new in the call log: nothing twice, nothing left out, whatever order rows appear in."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db.models import Q
from django.utils import timezone

from mcp_app.audit import tailing
from mcp_app.audit.tailing import MOST, Asked, Cursor, News, news, unended
from mcp_app.models import CallEvent

pytestmark = pytest.mark.django_db

NOW = timezone.now()


class Watcher:
    """Somebody who keeps all that they are told, as the page does."""

    def __init__(self, outcomes: Q | None = None, **wanted: Any) -> None:
        self._wanted = wanted
        self._outcomes = outcomes
        self._asked = Asked()
        self.told: dict[int, CallEvent] = {}
        self.times: list[int] = []

    def look(self, after: float = 0.0) -> News:
        rows = CallEvent.objects.all()
        wanted = rows.filter(**self._wanted)
        if self._outcomes is not None:
            wanted = wanted.filter(unended(self._outcomes))
        now: datetime = NOW + timedelta(seconds=after)
        found = news(rows, wanted, self._asked, now)
        self.times += [row.pk for row in found.rows]
        self.told |= {row.pk: row for row in found.rows}
        for key in found.gone:
            del self.told[key]
        still = frozenset(key for key, row in self.told.items() if not row.has_ended)
        waits = frozenset(key for key in still if self.told[key].outcome == "waiting")
        self._asked = Asked(found.cursor, frozenset(self.told.keys() - still), still, waits)
        return found


def make(pk: int | None = None, outcome: str = "ok", **more: Any) -> CallEvent:
    return CallEvent.objects.create(pk=pk, outcome=outcome, created_at=NOW, **more)


def test_each_row_is_told_once() -> None:
    watcher = Watcher()
    made = [make() for _ in range(3)]
    watcher.look()
    made += [make() for _ in range(2)]
    for after in range(0, 60, 5):
        watcher.look(after)
    assert sorted(watcher.times) == [row.pk for row in made]


def test_a_row_that_is_committed_late_is_told_although_newer_ones_were() -> None:
    watcher = Watcher()
    make(pk=1000)
    watcher.look()
    for pk, after in ((1010, 1), (1005, 2), (1007, 8), (1020, 12)):
        make(pk=pk)
        watcher.look(after)
    assert watcher.times == [1000, 1010, 1005, 1007, 1020]


def test_a_cursor_settles_once_nothing_can_be_on_its_way_below_it() -> None:
    begun = Cursor(settled=5, pending=100, at=1000)
    assert begun.moved(newest=150, now=1009.9) == begun
    assert begun.moved(newest=150, now=1010) == Cursor(settled=100, pending=150, at=1010)


def test_a_cursor_from_the_future_moves_on() -> None:
    """The clock was set back."""
    moved = Cursor(settled=5, pending=100, at=5000).moved(newest=150, now=1000)
    assert moved == Cursor(settled=100, pending=150, at=1000)


def test_the_end_of_a_call_is_told_by_the_same_key() -> None:
    watcher = Watcher()
    running = make(outcome="started")
    watcher.look()
    for after in (20, 40):
        make()
        watcher.look(after)
    CallEvent.objects.filter(pk=running.pk).update(outcome="cancelled")
    watcher.look(3600)
    watcher.look(3620)
    assert watcher.times.count(running.pk) == 2
    assert watcher.told[running.pk].outcome == "cancelled"


def test_a_call_whose_user_is_asked_is_told_again_once_they_have_agreed() -> None:
    watcher = Watcher()
    call = make(outcome="waiting")
    watcher.look()
    watcher.look(20)
    assert watcher.told[call.pk].outcome == "waiting"
    for outcome, after in (("started", 40), ("started", 50), ("waiting", 60), ("ok", 80)):
        CallEvent.objects.filter(pk=call.pk).update(outcome=outcome)
        watcher.look(after)
        assert watcher.told[call.pk].outcome == outcome
    assert watcher.times == [call.pk] * 4


def test_a_filter_for_outcomes_waits_for_calls_that_run() -> None:
    watcher = Watcher(Q(outcome="failed"))
    fails, succeeds = make(outcome="started"), make(outcome="started")
    make(outcome="ok")
    watcher.look()
    watcher.look(30)
    CallEvent.objects.filter(pk=fails.pk).update(outcome="failed")
    CallEvent.objects.filter(pk=succeeds.pk).update(outcome="ok")
    watcher.look(60)
    assert {row.outcome for row in watcher.told.values() if row.pk == fails.pk} == {"failed"}
    assert watcher.times == [succeeds.pk, fails.pk, succeeds.pk, fails.pk]


def test_other_filters_hold_from_the_start() -> None:
    watcher = Watcher(tool="close_room")
    wanted = make(tool="close_room", outcome="started")
    make(tool="other", outcome="started")
    watcher.look()
    assert list(watcher.told) == [wanted.pk]


def test_calls_that_run_for_long_are_told_to_whoever_comes_late() -> None:
    running = [make(outcome=outcome) for outcome in ("started", "waiting")]
    for _ in range(MOST + 5):
        make()
    watcher = Watcher()
    assert set(running) <= set(watcher.look().rows)


def test_what_was_deleted_is_said_to_be_gone() -> None:
    watcher = Watcher()
    running = make(outcome="started")
    watcher.look()
    CallEvent.objects.all().delete()
    assert watcher.look(1).gone == [running.pk]


def test_more_than_a_page_holds_is_said_to_be_left_out() -> None:
    watcher = Watcher()
    make()
    assert not watcher.look().skipped
    made = [make() for _ in range(MOST + 1)]
    found = watcher.look(1)
    assert found.skipped
    assert [row.pk for row in found.rows] == [row.pk for row in reversed(made[1:])]


def test_what_lies_further_back_than_is_looked_is_said_to_be_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tailing, "REACH", 50)
    watcher = Watcher(tool="rare")
    make(pk=1)
    watcher.look()
    make(pk=10, tool="rare")
    make(pk=100)
    assert watcher.look(20).skipped
    assert watcher.told == {}


@pytest.mark.parametrize("text", ["", "1", "1.2", "1.2.x", "-1.2.3", "1.2.3.4", "1.2." + "9" * 40])
def test_a_cursor_that_cannot_be_read_is_none(text: str) -> None:
    assert Cursor.parse(text) is None


@pytest.mark.parametrize("text", ["x", "1,", ",", "1;2", "1,-2", "9" * 30, "\0"])
def test_keys_that_cannot_be_read_are_none(text: str) -> None:
    assert Asked.parse("1.2.3", text, text, text, text) == Asked(Cursor(1, 2, 3))


def test_a_cursor_reads_as_it_is_written() -> None:
    assert Cursor.parse(str(Cursor(1, 20, 300))) == Cursor(1, 20, 300)
