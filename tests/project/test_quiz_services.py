"""Rooms, forwarding, leaderboards, closing and announcing."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.cache import cache

from project.quiz.choices import (
    Category,
    Destination,
    Difficulty,
    ForwardingState,
    GameType,
    MatchEventKind,
    MatchStatus,
    RoomStatus,
    Severity,
)
from project.quiz.errors import Missing, Refused
from project.quiz.groups import ensure_groups
from project.quiz.models import (
    CountryStatistic,
    DiagnosticsEvent,
    ForwardingRecord,
    Match,
    Notice,
    Player,
    Room,
)
from project.quiz.services.announcing import BATCH, audience, create_announcement, deliver
from project.quiz.services.closing import close_room
from project.quiz.services.forwarding import ForwardingFilter, forwarding_status
from project.quiz.services.leaderboard import country_leaderboard
from project.quiz.services.match_diagnostics import match_diagnostics
from project.quiz.services.rooms import list_rooms, room_detail
from project.quiz.services.security import security_summary
from project.quiz.services.server import health, stats

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)


def batch(at: dt.datetime, destination: Destination, state: ForwardingState) -> None:
    ForwardingRecord.objects.create(
        at=at, destination=destination, state=state, lines=100, milliseconds=50
    )


def fill(room: Room, players: int) -> None:
    Player.objects.bulk_create(
        Player(room=room, nickname=f"P{n}", country="NO") for n in range(players)
    )


def test_rooms_come_newest_first_with_total_and_page(
    make_room: Callable[..., Room], now: dt.datetime
) -> None:
    for n in range(5):
        make_room(f"ROOM{n}", created_at=now - n * HOUR)
    answer = list_rooms(None, limit=2, page=2)
    assert (answer.total, answer.pages, answer.page, answer.limit) == (5, 3, 2, 2)
    assert [room.invite_code for room in answer.rooms] == ["ROOM2", "ROOM3"]
    assert list_rooms(None, limit=2, page=4).rooms == []


def test_rooms_of_a_status_are_counted_alone(make_room: Callable[..., Room]) -> None:
    make_room("AAAAAA", status=RoomStatus.LOBBY)
    make_room("BBBBBB", status=RoomStatus.CLOSED)
    answer = list_rooms(RoomStatus.LOBBY, limit=50, page=1)
    assert (answer.total, answer.rooms[0].invite_code) == (1, "AAAAAA")


def test_a_room_counts_the_players_present_and_lists_those_who_left(
    make_room: Callable[..., Room], now: dt.datetime
) -> None:
    room = make_room()
    fill(room, 2)
    Player.objects.create(room=room, nickname="Gone", country="JP", left_at=now)
    assert list_rooms(None, limit=50, page=1).rooms[0].players == 2
    detail = room_detail(" room22 ")
    assert detail.room.players == 2
    assert {player.nickname for player in detail.players} == {"P0", "P1", "Gone"}


def test_a_missing_room_names_the_code() -> None:
    with pytest.raises(Missing, match="NOSUCH"):
        room_detail("NOSUCH")


def test_forwarding_filters_before_it_limits(now: dt.datetime) -> None:
    batch(now - 3 * HOUR, Destination.SIEM, ForwardingState.FAILED)
    for _ in range(5):
        batch(now - HOUR, Destination.ARCHIVE, ForwardingState.DELIVERED)
    wanted = ForwardingFilter(destination=Destination.SIEM, state=ForwardingState.FAILED)
    answer = forwarding_status(wanted, limit=1, now=now)
    assert [found.destination for found in answer.batches] == [Destination.SIEM]
    assert answer.total == 1


def test_forwarding_totals_cover_more_than_the_limit(now: dt.datetime) -> None:
    for _ in range(3):
        batch(now - HOUR, Destination.ARCHIVE, ForwardingState.DELIVERED)
    batch(now, Destination.ARCHIVE, ForwardingState.FAILED)
    answer = forwarding_status(ForwardingFilter(since=now - 30 * 24 * HOUR), limit=1, now=now)
    (total,) = answer.destinations
    assert (total.batches, total.lines, total.failed) == (4, 400, 1)
    assert total.latest_delivery_at == now - HOUR
    assert (answer.total, len(answer.batches), answer.since_clamped) == (4, 1, True)


def test_countries_are_ranked_over_all_rows_unless_one_is_asked_for() -> None:
    for country, difficulty, points in (
        ("NO", Difficulty.EASY, 100),
        ("NO", Difficulty.HARD, 500),
        ("JP", Difficulty.EASY, 300),
    ):
        CountryStatistic.objects.create(
            country=country,
            game_type=GameType.DAILY,
            difficulty=difficulty,
            players=1,
            answers=3,
            correct=2,
            points=points,
        )
    overall = country_leaderboard(None, None, limit=1)
    assert (overall.countries, len(overall.standings)) == (2, 1)
    assert (overall.standings[0].name, overall.standings[0].points) == ("Norway", 600)
    assert overall.standings[0].accuracy == Decimal("66.7")
    easy = country_leaderboard(Difficulty.EASY, GameType.DAILY, limit=100)
    assert [standing.country for standing in easy.standings] == ["JP", "NO"]
    assert country_leaderboard(None, GameType.SOLO, limit=100).standings == []


def test_closing_a_room_aborts_its_match_and_sends_players_out(
    open_game: Match, now: dt.datetime
) -> None:
    closed = close_room("room22", "Abusive names", now=now)
    assert (closed.players_removed, closed.match_aborted) == (2, open_game.id)
    open_game.refresh_from_db()
    assert (open_game.status, open_game.ended_at) == (MatchStatus.ABORTED, now)
    assert open_game.room.players.filter(left_at__isnull=True).count() == 0
    assert open_game.events.get().kind == MatchEventKind.ABORTED


def test_a_closed_room_is_not_closed_again(
    make_room: Callable[..., Room], now: dt.datetime
) -> None:
    make_room()
    close_room("ROOM22", "First", now=now)
    with pytest.raises(Refused, match="already"):
        close_room("ROOM22", "Second", now=now)
    assert Room.objects.get().closed_reason == "First"


def test_an_announcement_reaches_everyone_present_in_open_rooms(
    make_room: Callable[..., Room], now: dt.datetime
) -> None:
    fill(make_room("OPEN22"), BATCH + 1)
    fill(make_room("DONE22", status=RoomStatus.FINISHED), 1)
    Player.objects.create(room=Room.objects.get(invite_code="OPEN22"), nickname="X", left_at=now)
    announcement = create_announcement("Hello", None, author_id=None, now=now)
    assert list(deliver(announcement, audience(announcement))) == [BATCH, BATCH + 1]
    announcement.refresh_from_db()
    assert announcement.reached == Notice.objects.count() == BATCH + 1


def test_a_delivery_that_stops_early_knows_whom_it_reached(
    make_room: Callable[..., Room], now: dt.datetime
) -> None:
    fill(make_room(), 2 * BATCH)
    announcement = create_announcement("Hello", "ROOM22", author_id=None, now=now)
    next(deliver(announcement, audience(announcement)))
    announcement.refresh_from_db()
    assert announcement.reached == Notice.objects.count() == BATCH


def test_a_room_that_is_over_hears_nothing(
    make_room: Callable[..., Room], now: dt.datetime
) -> None:
    make_room(status=RoomStatus.FINISHED)
    with pytest.raises(Refused, match="over"):
        create_announcement("Hello", "ROOM22", author_id=None, now=now)


def test_security_is_summed_up_by_code_and_address(now: dt.datetime) -> None:
    cache.clear()
    for address, category in (
        ("203.0.113.1", Category.SECURITY),
        ("203.0.113.1", Category.SECURITY),
        ("203.0.113.2", Category.SECURITY),
        ("203.0.113.3", Category.NETWORK),
    ):
        DiagnosticsEvent.objects.create(
            at=now - HOUR,
            category=category,
            severity=Severity.CRITICAL,
            code="LOGIN_FAILED",
            node="edge-1",
            address=address,
        )
    summary = security_summary(None, now=now)
    assert (summary.total, summary.by_code) == (3, {"LOGIN_FAILED": 3})
    assert [(top.address, top.events) for top in summary.top_addresses] == [
        ("203.0.113.1", 2),
        ("203.0.113.2", 1),
    ]
    assert summary.latest_critical_at == now - HOUR
    assert summary.ledger_rejections["signature"] == 0


def test_health_is_degraded_by_a_recent_critical_event(now: dt.datetime) -> None:
    assert health(now=now).status == "ok"
    DiagnosticsEvent.objects.create(
        at=now, category=Category.DATABASE, severity=Severity.CRITICAL, code="POOL_EXHAUSTED"
    )
    assert health(now=now).status == "degraded"
    assert health(now=now + HOUR).status == "ok"


def test_stats_count_rooms_players_and_the_last_day(open_game: Match, now: dt.datetime) -> None:
    counted = stats(now=now)
    assert counted.rooms == {"lobby": 0, "playing": 1, "finished": 0, "closed": 0}
    assert (counted.players_present, counted.matches_running, counted.answers_received) == (2, 1, 4)


def test_match_diagnostics_list_what_was_reported_of_this_match(
    open_game: Match, now: dt.datetime
) -> None:
    for match in (open_game, None):
        DiagnosticsEvent.objects.create(
            at=now,
            category=Category.GAME,
            severity=Severity.WARNING,
            code="TIMER_DRIFT",
            match=match,
        )
    answer = match_diagnostics(open_game.id, now=now)
    assert [event.match_id for event in answer.events] == [open_game.id]
    assert answer.summary.incidents == {"warning": 1}
    assert answer.summary.duration_seconds == 35


def test_the_support_group_is_made_once_and_keeps_what_was_added() -> None:
    extra = Permission.objects.get(codename="delete_room")
    ensure_groups().permissions.add(extra)
    group = ensure_groups()
    codenames = set(group.permissions.values_list("codename", flat=True))
    assert {"view_room", "change_room", "view_match", "delete_room"} <= codenames
    assert "add_room" not in codenames
    assert Group.objects.count() == 1
