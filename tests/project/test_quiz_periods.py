"""Periods stay within the retention window, and pages neither miss nor repeat a row."""

import datetime as dt
from collections.abc import Callable

import pytest
from django.core.signing import Signer

from project.quiz.choices import Category, Severity
from project.quiz.errors import Refused
from project.quiz.models import DiagnosticsEvent, Match, Room
from project.quiz.retention import RETENTION, window
from project.quiz.services.incidents import IncidentFilter, IncidentTimeline, incident_timeline
from project.quiz.services.matches import recent_matches

HOUR = dt.timedelta(hours=1)


def event(at: dt.datetime, code: str = "SLOW_QUERY", **values: object) -> DiagnosticsEvent:
    usual: dict[str, object] = {"category": Category.DATABASE, "severity": Severity.WARNING}
    return DiagnosticsEvent.objects.create(
        at=at, code=code, message="", node="game-1", **(usual | values)
    )


def codes(timeline: IncidentTimeline) -> list[str]:
    return [incident.code for incident in timeline.incidents]


def test_an_early_since_is_clamped_and_the_period_says_so(now: dt.datetime) -> None:
    period = window(now - 2 * RETENTION, None, now=now)
    assert (period.since, period.since_clamped) == (now - RETENTION, True)


def test_no_since_means_the_whole_window_unclamped(now: dt.datetime) -> None:
    period = window(None, None, now=now)
    assert (period.since, period.until, period.since_clamped) == (now - RETENTION, now, False)


def test_a_since_within_the_window_is_kept(now: dt.datetime) -> None:
    period = window(now - HOUR, None, now=now)
    assert (period.since, period.since_clamped) == (now - HOUR, False)


def test_a_moment_without_a_zone_is_utc(now: dt.datetime) -> None:
    naive = (now - HOUR).replace(tzinfo=None)
    assert window(naive, None, now=now).since == now - HOUR


def test_the_earliest_moment_there_is_does_not_overflow(now: dt.datetime) -> None:
    assert window(dt.datetime.min, None, now=now).since_clamped


def test_a_period_turned_round_is_refused(now: dt.datetime) -> None:
    with pytest.raises(Refused, match="earlier"):
        window(now - HOUR, now - 2 * HOUR, now=now)


def test_a_since_in_the_future_is_refused(now: dt.datetime) -> None:
    with pytest.raises(Refused, match="future"):
        window(now + HOUR, None, now=now)


def test_a_period_before_the_window_is_empty(now: dt.datetime) -> None:
    period = window(now - 3 * RETENTION, now - 2 * RETENTION, now=now)
    assert period.since == period.until == now - RETENTION


def test_an_until_in_the_future_is_now(now: dt.datetime) -> None:
    west = dt.timezone(dt.timedelta(hours=-12))
    last = dt.datetime.max.replace(tzinfo=west)
    assert window(None, last, now=now).until == now


@pytest.mark.django_db
def test_the_timeline_reports_the_clamp_and_keeps_to_it(now: dt.datetime) -> None:
    event(now - 2 * RETENTION, "ANCIENT")
    event(now - HOUR, "RECENT")
    wanted = IncidentFilter(since=now - 3 * RETENTION)
    timeline = incident_timeline(wanted, limit=10, cursor=None, now=now)
    assert (timeline.since, timeline.since_clamped) == (now - RETENTION, True)
    assert codes(timeline) == ["RECENT"]


@pytest.mark.django_db
def test_filters_of_the_timeline_apply_together(now: dt.datetime) -> None:
    event(now - HOUR, "A", severity=Severity.ERROR)
    event(now - HOUR, "B", severity=Severity.ERROR, category=Category.SECURITY)
    event(now - HOUR, "B", severity=Severity.INFO, category=Category.SECURITY)
    event(now - 3 * HOUR, "B", severity=Severity.ERROR, category=Category.SECURITY)
    wanted = IncidentFilter(
        since=now - 2 * HOUR, category=Category.SECURITY, severity=Severity.ERROR, code="B"
    )
    assert codes(incident_timeline(wanted, limit=10, cursor=None, now=now)) == ["B"]


@pytest.mark.django_db
def test_until_ends_the_period(now: dt.datetime) -> None:
    event(now - HOUR, "LATE")
    event(now - 3 * HOUR, "EARLY")
    wanted = IncidentFilter(until=now - 2 * HOUR)
    assert codes(incident_timeline(wanted, limit=10, cursor=None, now=now)) == ["EARLY"]


@pytest.mark.django_db
def test_pages_cover_rows_of_one_moment_and_ignore_rows_that_come_in_between(
    now: dt.datetime,
) -> None:
    for number in range(7):
        event(now - HOUR, f"E{number}")
    seen: list[str] = []
    cursor = None
    for _ in range(4):
        page = incident_timeline(IncidentFilter(), limit=2, cursor=cursor, now=now)
        seen += codes(page)
        cursor = page.next_cursor
        event(now, "NEWER")
    assert seen == [f"E{number}" for number in reversed(range(7))]
    assert cursor is None


@pytest.mark.django_db
def test_a_full_last_page_has_no_cursor(now: dt.datetime) -> None:
    event(now)
    page = incident_timeline(IncidentFilter(), limit=1, cursor=None, now=now)
    assert page.next_cursor is None


@pytest.mark.django_db
def test_matches_page_by_uuid_within_one_moment(
    make_room: Callable[..., Room], make_match: Callable[..., Match], now: dt.datetime
) -> None:
    room = make_room()
    made = {make_match(room, started_at=now - HOUR).id for _ in range(5)}
    seen = []
    cursor = None
    for _ in range(3):
        page = recent_matches(None, limit=2, cursor=cursor, now=now)
        seen += [match.match_id for match in page.matches]
        cursor = page.next_cursor
    assert set(seen) == made
    assert len(seen) == 5


def signed(name: str, value: object) -> str:
    return Signer(salt=f"quiz.cursor.{name}").sign_object(value)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "cursor",
    [
        "nonsense",
        "WyIyMDI2Il0:abc",
        "\x00",
        signed("matches", ["2026-03-14T00:00:00+00:00", "1"]),
        signed("incidents", ["2026-03-14T00:00:00+00:00", "one"]),
        signed("incidents", ["someday", "1"]),
        signed("incidents", [1, 2]),
        signed("incidents", {}),
        signed("incidents", 5),
    ],
)
def test_a_bad_cursor_is_refused(cursor: str, now: dt.datetime) -> None:
    with pytest.raises(Refused, match="cursor"):
        incident_timeline(IncidentFilter(), limit=10, cursor=cursor, now=now)
