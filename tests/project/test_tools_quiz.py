"""The quiz's tools as functions: what they answer, and what the model reads when they cannot."""

import dataclasses
import datetime as dt
import inspect
from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any, TypeVar, cast
from uuid import uuid4

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pydantic import TypeAdapter, ValidationError
from rest_framework.permissions import BasePermission

from mcp_app import Context, Progress, ToolError
from mcp_app.auth.tokens import issue
from mcp_app.testing import MCPClient, inline_workers
from project.quiz import mcp
from project.quiz.arguments import InviteCode, Reason, Text
from project.quiz.choices import Difficulty
from project.quiz.groups import ensure_groups
from project.quiz.models import Announcement, Match, Notice, Player, Room
from project.quiz.permissions import CanChange, CanView
from project.quiz.rejections import rejections
from project.quiz.seeding import seed

pytestmark = pytest.mark.django_db

R = TypeVar("R")


def caller(**values: Any) -> Context:
    """Return a stand-in for the context: a user, and a log that keeps what it is told."""
    said: list[object] = []
    usual = {"user": AnonymousUser(), "log": lambda level, data: said.append(data), "said": said}
    return cast(Context, SimpleNamespace(**(usual | values)))


def drain(run: Generator[Progress, None, R]) -> tuple[list[Progress], R]:
    reported = []
    while True:
        try:
            reported.append(next(run))
        except StopIteration as stop:
            return reported, stop.value


READING: dict[str, Callable[[], object]] = {
    "server_health": mcp.server_health,
    "server_stats": mcp.server_stats,
    "list_rooms": mcp.list_rooms,
    "get_room": lambda: mcp.get_room("PLAY42"),
    "get_room_game_state": lambda: mcp.get_room_game_state("PLAY42"),
    "replay_solo_ledger": lambda: mcp.replay_solo_ledger("forged"),
    "generate_daily_session": lambda: mcp.generate_daily_session(dt.date(2026, 1, 1)),
    "generate_solo_questions": lambda: mcp.generate_solo_questions(Difficulty.EASY),
    "leaderboard_countries": mcp.leaderboard_countries,
    "recent_matches": mcp.recent_matches,
    "get_match_diagnostics": lambda: mcp.get_match_diagnostics(Match.objects.all()[0].id),
    "get_match_timeline": lambda: mcp.get_match_timeline(Match.objects.all()[0].id),
    "incident_timeline": mcp.incident_timeline,
    "security_summary": mcp.security_summary,
    "forwarding_status": mcp.forwarding_status,
}


def test_a_reading_tool_answers_with_rows_and_writes_nothing(subtests: pytest.Subtests) -> None:
    seed(timezone.now())
    for name, ask in READING.items():
        with subtests.test(name):
            assert_only_reads(ask)


def assert_only_reads(ask: Callable[[], object]) -> None:
    with CaptureQueriesContext(connection) as queries:
        answer = ask()
    assert dataclasses.is_dataclass(answer)
    assert {query["sql"].split()[0] for query in queries} <= {"SELECT"}
    assert len(queries) <= 10


def test_there_are_fifteen_reading_functions_and_all_are_described() -> None:
    assert len(READING) == 15
    for name in (*READING, "close_room", "announce"):
        function = getattr(mcp, name)
        assert inspect.getdoc(function)
        assert inspect.signature(function).return_annotation is not inspect.Signature.empty


@pytest.mark.parametrize(
    "ask",
    [
        lambda: mcp.get_room("NOSUCH"),
        lambda: mcp.get_room_game_state("NOSUCH"),
        lambda: mcp.get_match_diagnostics(uuid4()),
        lambda: mcp.get_match_timeline(uuid4()),
        lambda: mcp.recent_matches(cursor="nonsense"),
        lambda: mcp.incident_timeline(cursor="nonsense"),
        lambda: mcp.close_room(caller(), "NOSUCH", "Gone"),
        lambda: next(mcp.announce(caller(), "Hello", "NOSUCH")),
        lambda: mcp.generate_daily_session(timezone.now().date() + dt.timedelta(days=2)),
    ],
)
def test_what_is_missing_or_refused_is_a_tool_error(ask: Callable[[], object]) -> None:
    with pytest.raises(ToolError, match=r"\w+ .*"):
        ask()


@pytest.mark.parametrize("argument", [InviteCode, Reason, Text])
def test_a_nul_character_is_refused_before_it_meets_the_database(argument: Any) -> None:
    with pytest.raises(ValidationError, match="NUL"):
        TypeAdapter(argument).validate_python("abc\x00")


def test_a_rejected_ledger_is_counted_and_reported() -> None:
    cache.clear()
    assert not mcp.replay_solo_ledger("forged").accepted
    now = timezone.now()
    assert rejections(now, now)["signature"] == 1
    assert mcp.security_summary().ledger_rejections["signature"] == 1


def test_closing_a_room_logs_what_it_did(open_game: Match) -> None:
    ctx = caller()
    closed = mcp.close_room(ctx, "ROOM22", "Abusive names")
    assert closed.players_removed == 2
    assert "ROOM22" in str(cast(Any, ctx).said)


def test_announcing_reports_progress_and_keeps_the_author(
    make_room: Callable[..., Room], django_user_model: type[User]
) -> None:
    author = django_user_model.objects.create_user("ada")
    room = make_room()
    Player.objects.bulk_create(Player(room=room, nickname=f"P{n}", country="NO") for n in range(60))
    reported, result = drain(mcp.announce(caller(user=author), "Maintenance at noon", "ROOM22"))
    assert [(step.progress, step.total) for step in reported] == [(25, 60), (50, 60), (60, 60)]
    assert result.reached == Notice.objects.count() == 60
    announcement = Announcement.objects.get(pk=result.announcement_id)
    assert (announcement.created_by, announcement.reached) == (author, 60)


def test_support_reads_what_was_announced_and_how_many_it_reached(
    make_room: Callable[..., Room], django_user_model: type[User]
) -> None:
    player = Player.objects.create(room=make_room(), nickname="Ada", country="NO")
    drain(mcp.announce(caller(), "Maintenance at noon", "ROOM22"))
    drain(mcp.announce(caller(), "Welcome back", None))
    support, other = (django_user_model.objects.create_user(name) for name in ("sue", "otto"))
    support.groups.add(ensure_groups())
    clients = [MCPClient(issue(user=user, name="laptop")[1].reveal()) for user in (support, other)]

    with inline_workers():
        found = clients[0].call("announcement_list", {"search": "noon"}).structured
        refused = clients[1].call("announcement_list").error

    (row,) = found["results"]
    assert (row["room__invite_code"], row["reached"]) == (player.room.invite_code, 1)
    assert set(row) == {"id", "message", "room__invite_code", "created_at", "reached"}
    assert refused["code"] == -32602


def test_announcing_to_nobody_reaches_nobody(make_room: Callable[..., Room]) -> None:
    make_room()
    reported, result = drain(mcp.announce(caller(), "Anyone?", "ROOM22"))
    assert (reported, result.reached) == ([], 0)


@pytest.mark.parametrize(
    ("permission", "method"), [(CanView, "GET"), (CanChange, "DELETE"), (CanChange, "POST")]
)
def test_support_may_see_and_change_rooms_and_others_may_not(
    permission: type[BasePermission], method: str, django_user_model: type[User]
) -> None:
    support, other = (django_user_model.objects.create_user(name) for name in ("sue", "otto"))
    support.groups.add(ensure_groups())
    view = cast(Any, SimpleNamespace(queryset=Room.objects.all()))

    def may(user: User | AnonymousUser) -> bool:
        request = cast(Any, SimpleNamespace(user=user, method=method))
        return permission().has_permission(request, view)

    assert may(support)
    assert not may(other)
    assert not may(AnonymousUser())
