"""The overview's figures: exact, in buckets of the current time zone, also where clocks change."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from mcp_app.audit import percentiles as measured
from mcp_app.audit.outcomes import OutcomeGroup
from mcp_app.audit.overview import Busy, Overview, overview
from mcp_app.audit.percentiles import Percentiles, percentiles
from mcp_app.audit.timeline import Period, buckets
from mcp_app.models import CallEvent

NOW = datetime(2026, 11, 30, 14, 20, tzinfo=UTC)


def make(at: datetime = NOW, outcome: str = "ok", **columns: Any) -> CallEvent:
    return CallEvent.objects.create(created_at=at, outcome=outcome, **columns)


def of(period: Period = Period.DAY, now: datetime = NOW) -> Overview:
    return overview(CallEvent.objects.all(), period, now)


def timeline(found: Overview) -> dict[str, int]:
    """Calls by bucket, where there were some."""
    return {bucket.label: counts.total for bucket, counts in found.timeline if counts.total}


# --- buckets -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("period", "count"), [("day", 24), ("week", 7), ("month", 30)])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/Santiago"])
@pytest.mark.parametrize("now", [NOW, NOW.replace(month=10, day=25), NOW.replace(month=4, day=5)])
def test_buckets_follow_each_other_without_a_gap(
    period: str, count: int, zone: str, now: datetime
) -> None:
    with timezone.override(zone):
        spans = buckets(Period(period), now)
    assert len(spans) == count
    assert all(a.end == b.start for a, b in pairwise(spans))
    assert spans[-1].start <= now < spans[-1].end
    assert len({span.label for span in spans}) == count


@pytest.mark.parametrize(("day", "hours"), [("2026-10-25", 25), ("2026-03-29", 23)])
def test_a_day_has_the_hours_that_its_clocks_have(day: str, hours: int) -> None:
    now = datetime.fromisoformat(f"{day}T12:00+00:00")
    with timezone.override("Europe/Berlin"):
        last = buckets(Period.WEEK, now)[-1]
    assert last.end.astimezone(UTC) - last.start.astimezone(UTC) == timedelta(hours=hours)


def test_an_hour_that_comes_twice_is_two_buckets() -> None:
    now = datetime(2026, 10, 25, 2, 30, tzinfo=UTC)
    with timezone.override("Europe/Berlin"):
        labels = [span.label for span in buckets(Period.DAY, now)]
        queries = [span.query for span in buckets(Period.DAY, now)]
    assert labels[-4:] == ["01:00", "02:00 (UTC+0200)", "02:00 (UTC+0100)", "03:00"]
    assert queries[-2] == {
        "since": "2026-10-25T02:00+01:00",
        "until": "2026-10-25T03:00+01:00",
    }


def test_without_time_zones_days_are_those_of_the_clock() -> None:
    with override_settings(USE_TZ=False):
        spans = buckets(Period.WEEK, datetime(2026, 11, 30, 14, 20))
        hours = buckets(Period.DAY, datetime(2026, 11, 30, 14, 20))
    assert spans[-1].start == datetime(2026, 11, 30)
    assert hours[-1].label == "14:00"


# --- counts ------------------------------------------------------------------------------------


def test_calls_are_counted_where_they_belong(db: None) -> None:
    make(NOW.replace(minute=59, second=59), "failed")
    make(NOW.replace(minute=0), "ok")
    make(NOW.replace(minute=0) - timedelta(microseconds=1), "denied")
    make(NOW.replace(minute=0) - timedelta(hours=23), "started")
    make(NOW.replace(minute=0) - timedelta(hours=23, microseconds=1), "ok")
    make(NOW.replace(hour=15, minute=0), "ok")
    found = of()
    assert timeline(found) == {"15:00": 1, "13:00": 1, "14:00": 2}
    assert found.totals.each == [
        (OutcomeGroup.OK, 1),
        (OutcomeGroup.FAILED, 1),
        (OutcomeGroup.TURNED_AWAY, 1),
        (OutcomeGroup.UNFINISHED, 1),
    ]
    assert found.totals.error_rate == 0.25


def test_the_hours_of_a_long_night_are_counted_apart(db: None) -> None:
    midnight = datetime(2026, 10, 24, 22, 0, tzinfo=UTC)
    for hour in range(25):
        for _ in range(hour + 1):
            make(midnight + timedelta(hours=hour, minutes=30))
    with timezone.override("Europe/Berlin"):
        nights = timeline(of(Period.DAY, datetime(2026, 10, 25, 2, 30, tzinfo=UTC)))
        days = timeline(of(Period.WEEK, datetime(2026, 10, 25, 12, 0, tzinfo=UTC)))
    assert nights == {
        "00:00": 1,
        "01:00": 2,
        "02:00 (UTC+0200)": 3,
        "02:00 (UTC+0100)": 4,
        "03:00": 5,
    }
    assert days == {"Sun 25 Oct": 25 * 26 // 2}


@pytest.mark.parametrize(("period", "days"), [(Period.WEEK, 7), (Period.MONTH, 30)])
def test_days_reach_back_as_far_as_they_say(period: Period, days: int, db: None) -> None:
    for day in range(days + 2):
        make(NOW.replace(hour=0, minute=0) - timedelta(days=day))
    assert list(timeline(of(period)).values()) == [1] * days


def test_an_outcome_of_a_later_version_is_counted_too(db: None) -> None:
    make(outcome="something new")
    assert of().totals.total == 1


def test_the_busiest_stand_first_with_what_was_not_ok(db: None, django_user_model: Any) -> None:
    ana = django_user_model.objects.create_user("ana")
    for outcome in ("ok", "error", "denied"):
        make(outcome=outcome, tool="list_rooms", user=ana, token_id=7, client_name="Claude Code")
    make(outcome="timeout", tool="get_room", client_name="Cursor")
    make(outcome="ok", tool="get_room")
    make(outcome="unauthenticated")
    found = of()
    assert found.tools == [Busy("list_rooms", 3, 1, 1), Busy("get_room", 2, 1)]
    assert found.users == [Busy(ana.pk, 3, 1, 1)]
    assert found.tokens == [Busy(7, 3, 1, 1)]
    assert found.clients == [Busy("Claude Code", 3, 1, 1), Busy("Cursor", 1, 1)]
    assert found.tools[0].error_rate == 1 / 3


def test_a_name_that_nothing_has_is_no_busy_tool(db: None) -> None:
    for _ in range(3):
        make(outcome="unknown", tool="no_such_tool", client_name="Cursor")
    for outcome in ("unknown", "ok", "failed"):
        make(outcome=outcome, tool="came_late", client_name="Cursor")
    assert of().tools == [Busy("came_late", 3, 1, 1)]
    assert of().clients == [Busy("Cursor", 6, 1, 4)]


def test_no_more_than_ten_are_the_busiest(db: None) -> None:
    for number in range(12):
        for _ in range(number + 1):
            make(tool=f"tool {number}")
    assert [busy.calls for busy in of().tools] == [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]


def test_the_latest_denials_stand_first(db: None) -> None:
    rows = [
        make(NOW - timedelta(minutes=minute), outcome)
        for minute, outcome in enumerate(["throttled", "failed", "denied", "unauthenticated", "ok"])
    ]
    make(NOW - timedelta(days=2), "denied")
    assert of().denials == [rows[0], rows[2], rows[3]]


def test_of_nothing_there_are_no_figures(db: None) -> None:
    found = of()
    assert (found.totals.total, found.totals.error_rate) == (0, None)
    assert found.durations.values == (None, None)
    assert (found.tools, found.users, found.denials) == ([], [], [])


# --- durations ---------------------------------------------------------------------------------


def of_all(*wanted: int) -> Percentiles:
    ended = CallEvent.objects.filter(duration_ms__isnull=False).count()
    return percentiles(CallEvent.objects.all(), wanted, ended)


@pytest.mark.parametrize(
    ("durations", "expected"),
    [
        ([5], (5, 5)),
        ([1, 2], (1, 2)),
        ([3, 1, 2], (2, 3)),
        ([*range(100, 0, -1)], (50, 95)),
        ([*range(1, 21)], (10, 19)),
        ([7, None, None], (7, 7)),
        ([None], (None, None)),
    ],
)
def test_percentiles_are_durations_of_calls(
    durations: list[float | None], expected: tuple[float, ...], db: None
) -> None:
    CallEvent.objects.bulk_create(
        CallEvent(outcome="ok", duration_ms=duration) for duration in durations
    )
    found = of_all(50, 95)
    assert (found.values, found.exact) == (expected, True)


def test_of_very_many_calls_they_are_told_within_a_percent(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    durations = [0.0, *(1.003**number for number in range(3000))]
    CallEvent.objects.bulk_create(
        CallEvent(outcome="ok", duration_ms=duration) for duration in durations
    )
    exact = of_all(1, 50, 95, 100)
    monkeypatch.setattr(measured, "MOST_SORTED", 10)
    near = of_all(1, 50, 95, 100)
    assert (exact.exact, near.exact) == (True, False)
    assert near.values == pytest.approx(exact.values, rel=0.0101)


def test_rows_that_were_pruned_meanwhile_have_no_durations(db: None) -> None:
    make(duration_ms=5)
    assert percentiles(CallEvent.objects.all(), (50, 95), 40).values == (None, None)
