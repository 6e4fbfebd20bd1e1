"""Tools over a model's rows, called: what is found, what stays hidden, what is refused."""

import datetime as dt
import uuid
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from rest_framework.permissions import IsAuthenticated

from mcp_app import MCPServer
from mcp_app.integrations import ModelTools
from mcp_app.models import CallEvent
from mcp_app.testing import Door, MCPClient
from project.quiz.models import Match, Player, Room
from tests.integrations.players import ALL, client_of, player, room, server

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("players_mounted")]


def names(answer: Any) -> list[str]:
    assert not answer.is_error, answer.text
    return [row["nickname"] for row in answer.structured["results"]]


# --- who may ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("held", "tools"),
    [
        ((), set()),
        (("add", "change", "delete"), set()),
        (("view",), {"list", "get"}),
        (("view", "add"), {"list", "get", "create"}),
        (("view", "change"), {"list", "get", "update"}),
        (("view", "delete"), {"list", "get", "delete"}),
    ],
)
def test_each_tool_takes_the_permission_of_the_model(held: Any, tools: set[str]) -> None:
    client, pk = client_of(*held), player().pk

    assert {tool["name"].removeprefix("player_") for tool in client.tools()} == tools
    for name in set(ALL) - tools:
        assert client.call(f"player_{name}", {"id": pk}).error["code"] == -32602
    assert Player.objects.filter(pk=pk).exists()


def test_permission_classes_of_ones_own_take_their_place() -> None:
    class NotBob(IsAuthenticated):
        def has_object_permission(self, request: Any, view: Any, obj: Player) -> bool:
            return obj.nickname != "Bob"

    own = MCPServer("of one test")
    options: dict[str, Any] = {"fields": ["id", "nickname"], "tools": ["get", "delete"]}
    ModelTools(Player, server=own, permission_classes=[NotBob], **options)
    token = client_of().token
    client = MCPClient(token, version="2026-07-28", door="asgi", server=own)
    bob, ada = player("Bob"), player("Ada")

    assert client.call("player_get", {"id": ada.pk}).structured["nickname"] == "Ada"
    assert client.call("player_get", {"id": bob.pk}).text == "There is no player of this id."
    assert client.call("player_delete", {"id": bob.pk}).text == "There is no player of this id."
    assert client.call("player_delete", {"id": ada.pk}).text == "Deleted."
    assert list(Player.objects.all()) == [bob]


# --- reading ------------------------------------------------------------------------------------


def test_a_row_is_shown_by_its_allowed_columns(door: Door) -> None:
    bob = player("Bob", room("hall", status="playing"), is_host=True)

    shown = client_of("view", door=door).call("player_get", {"id": bob.pk}).structured

    assert shown == {
        "id": bob.pk,
        "nickname": "Bob",
        "country": "JP",
        "left_at": None,
        "room": bob.room_id,
        "room__name": "hall",
        "room__status": "playing",
    }


def test_a_list_is_narrowed_by_what_is_asked(door: Door) -> None:
    hall, bar = room("hall", status="playing"), room("bar", status="closed")
    gone = dt.datetime(2026, 3, 14, 15, 9, tzinfo=dt.UTC)
    ada, bob = player("Ada", hall, country="NO"), player("Bob", hall, left_at=gone)
    eve = player("Eve", bar)
    client = client_of("view", door=door)

    for asked, found in [
        ({}, ["Ada", "Bob", "Eve"]),
        ({"room": hall.pk}, ["Ada", "Bob"]),
        ({"room": 0}, []),
        ({"room__status": "closed"}, ["Eve"]),
        ({"nickname": "Ada"}, ["Ada"]),
        ({"nickname__icontains": "B"}, ["Bob"]),
        ({"nickname__icontains": "%"}, []),
        ({"country__in": ["NO", "SE"]}, ["Ada"]),
        ({"country__in": []}, []),
        ({"left_at__isnull": True}, ["Ada", "Eve"]),
        ({"left_at__isnull": False}, ["Bob"]),
        ({"left_at__lt": "2026-03-14T15:10:00Z"}, ["Bob"]),
        ({"left_at__lt": "2026-03-14T15:09:00Z"}, []),
        ({"left_at__date": "2026-03-14"}, ["Bob"]),
        ({"id__in": [ada.pk, eve.pk]}, ["Ada", "Eve"]),
        ({"id__gt": bob.pk}, ["Eve"]),
        ({"search": "hall"}, ["Ada", "Bob"]),
        ({"search": "HALL ada"}, ["Ada"]),
        ({"search": "hall eve"}, []),
        ({"room": hall.pk, "nickname": "Eve"}, []),
    ]:
        assert names(client.call("player_list", asked | {"ordering": "nickname"})) == found, asked


def test_pages_lead_to_each_other() -> None:
    hall = room()
    for number in range(5):
        player(f"P{number}", hall)
    client = client_of("view")

    asked = {"ordering": "-nickname", "limit": 2}
    first = client.call("player_list", asked).structured
    second = client.call("player_list", first["next"]).structured
    last = client.call("player_list", second["next"]).structured

    assert [row["nickname"] for row in first["results"]] == ["P4", "P3"]
    assert (first["count"], first["previous"]) == (5, None)
    assert first["next"] == {**asked, "offset": 2}
    assert [row["nickname"] for row in last["results"]] == ["P0"]
    assert (last["next"], last["previous"]) == (None, second["previous"] | {"offset": 2})
    beyond = client.call("player_list", {"offset": 1_000_000}).structured
    assert (beyond["results"], beyond["next"], beyond["count"]) == ([], None, 5)


def test_rows_that_are_alike_are_ordered_by_their_key() -> None:
    hall = room()
    keys = [player(f"P{number}", hall).pk for number in range(4)]
    client = client_of("view")

    pages = [
        client.call("player_list", {"ordering": "-room", "limit": 2, "offset": offset}).structured
        for offset in (0, 2)
    ]

    assert [row["id"] for page in pages for row in page["results"]] == keys


def test_an_order_by_a_relation_is_by_its_key_and_tells_no_other_column() -> None:
    late = room("late", created_at=dt.datetime(2026, 1, 2, tzinfo=dt.UTC))
    early = room("early", created_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    player("Ada", late)
    player("Bob", early)

    # Rooms themselves are ordered by when they were made, newest first.
    assert names(client_of("view").call("player_list", {"ordering": "room"})) == ["Ada", "Bob"]


def test_a_page_takes_as_many_queries_as_an_empty_one() -> None:
    client = client_of("view")

    def taken() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            client.call("player_list")
        told = [query["sql"] for query in captured.captured_queries]
        return [sql for sql in told if "quiz_player" in sql]

    player("Ada", room())
    taken()
    one = taken()
    for number in range(5):
        player(f"P{number}", room(f"room {number}"))
    many = taken()

    assert len(one) == len(many) == 2
    assert "joined_at" not in many[1].partition("ORDER BY")[0]
    assert "is_host" not in many[1]


# --- attacks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        {"is_host": True},
        {"password__startswith": "pbkdf2"},
        {"room__invite_code": "R00000"},
        {"room__invite_code__startswith": "R"},
        {"room__closed_reason__icontains": "x"},
        {"room__announcements__created_by__password__startswith": "p"},
        {"nickname__regex": "(a+)+$"},
        {"ordering": "is_host"},
        {"ordering": "room__invite_code"},
        {"ordering": "-room__announcements__created_by__password"},
        {"ordering": "?"},
        {"ordering": ["nickname"]},
        {"limit": 0},
        {"limit": -1},
        {"limit": 101},
        {"limit": 10**30},
        {"limit": "20"},
        {"limit": None},
        {"limit": True},
        {"offset": -1},
        {"offset": 10**30},
        {"offset": 1.5},
        {"room": "1"},
        {"room": {"pk": 1}},
        {"room": None},
        {"room__status": "lost"},
        {"nickname": ["Ada"]},
        {"nickname__icontains": ""},
        {"nickname__icontains": "\0"},
        {"nickname__icontains": "x" * 256},
        {"search": "\0"},
        {"search": " ".join("abcdefghijk")},
        {"country__in": "NO"},
        {"country__in": ["NO"] * 101},
        {"id__in": [10**30]},
        {"left_at__isnull": "yes"},
        {"left_at__lt": "yesterday"},
        {"left_at__lt": "9999-12-31T23:59:59-12:00"},
        {"left_at__date": "2026-02-30"},
    ],
)
def test_nothing_else_can_be_asked_for(asked: dict[str, Any]) -> None:
    player()

    answer = client_of("view").call("player_list", asked)

    assert answer.is_error
    assert CallEvent.objects.get(tool="player_list").outcome == "invalid", answer.text
    (name,) = asked
    assert name in answer.text


def test_a_moment_beyond_all_time_breaks_nothing(settings: Any) -> None:
    settings.TIME_ZONE = "America/New_York"
    player()

    asked = {"left_at__lt": "9999-12-31T23:00:00-05:00"}
    client_of("view").call("player_list", asked)

    assert CallEvent.objects.get(tool="player_list").outcome in ("ok", "invalid")


@pytest.mark.parametrize("key", [10**30, -(10**30), -1, 0])
def test_a_key_that_no_row_can_have_is_of_no_row(key: int) -> None:
    client = client_of(*("view", "change", "delete"))

    for name, more in [("get", {}), ("update", {"nickname": "x"}), ("delete", {})]:
        answer = client.call(f"player_{name}", {"id": key, **more})
        assert (answer.is_error, answer.text) == (True, "There is no player of this id.")
    assert names(client.call("player_list", {"id__gt": 10**30})) == []


def test_a_uuid_is_a_uuid() -> None:
    client = client_of("view", "view_match")
    match = Match.objects.create(
        room=room(), topic="capitals", difficulty="easy", question_count=1, player_count=1
    )

    assert client.call("match_get", {"id": str(match.pk)}).structured["id"] == str(match.pk)
    absent = client.call("match_get", {"id": str(uuid.uuid4())})
    assert absent.text == "There is no match of this id."
    assert "id" in client.call("match_get", {"id": "1"}).text
    assert client.call("match_list", {"id": "' OR 1=1"}).is_error


def test_what_the_callers_rows_do_not_hold_does_not_exist() -> None:
    seen, hidden = player("Ada", room("hall")), player("Bob", room("hidden"))
    client = client_of("view", "change", "delete")
    staff = client_of("view", name="sam", is_staff=True)

    assert names(client.call("player_list")) == ["Ada"]
    assert client.call("player_list", {"id__in": [hidden.pk]}).structured["count"] == 0
    assert client.call("player_list", {"search": "hidden"}).structured["count"] == 0
    for name, more in [("get", {}), ("update", {"nickname": "x"}), ("delete", {})]:
        answer = client.call(f"player_{name}", {"id": hidden.pk, **more})
        absent = client.call(f"player_{name}", {"id": 999_999, **more})
        assert answer.is_error
        assert answer.text == absent.text == "There is no player of this id."
    hidden.refresh_from_db()
    assert hidden.nickname == "Bob"
    assert staff.call("player_get", {"id": hidden.pk}).structured["nickname"] == "Bob"
    assert client.call("player_get", {"id": seen.pk}).structured["nickname"] == "Ada"


def test_a_row_that_a_join_finds_twice_is_one() -> None:
    class Crowded(ModelTools):
        def get_queryset(self, ctx: Any) -> Any:
            return Room.objects.filter(players__country="JP")

    own = MCPServer("of one test")
    Crowded(Room, fields=["id"], tools=["get"], server=own, permission_classes=[IsAuthenticated])
    hall = room()
    player("Ada", hall)
    player("Bob", hall)
    client = MCPClient(client_of().token, version="2026-07-28", door="asgi", server=own)

    assert client.call("room_get", {"id": hall.pk}).structured == {"id": hall.pk}


def test_no_log_holds_what_is_sensitive() -> None:
    client, bob = client_of("view", "change"), player()

    client.call("player_list", {"country__in": ["NO"], "nickname": "Ada"})
    client.call("player_update", {"id": bob.pk, "country": "NO"})
    client.call("player_update", {"id": bob.pk, "country": "NORWAY"})

    events = CallEvent.objects.filter(tool__startswith="player").order_by("pk")
    assert [event.outcome for event in events] == ["ok", "ok", "invalid"]
    assert "Ada" in str(events[0].arguments)
    for event in events:
        assert "NO" not in str([event.arguments, event.error_text]).replace("NOT", "")


def test_reading_is_read_only() -> None:
    class Writing(ModelTools):
        def get_queryset(self, ctx: Any) -> Any:
            get_user_model().objects.update(first_name="seen")
            return super().get_queryset(ctx)

    own = MCPServer("of one test")
    Writing(Room, fields=["id"], server=own, permission_classes=[IsAuthenticated])
    client = MCPClient(client_of().token, version="2026-07-28", door="asgi", server=own)

    answer = client.call("room_list")

    assert answer.is_error
    assert "read-only" in answer.text
    assert not get_user_model().objects.filter(first_name="seen").exists()


# --- the round trip -----------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=8)
NUMBERS = st.integers(-(2**62), 2**62)
LIKELY = {
    "room": st.one_of(NUMBERS, st.none(), TEXTS),
    "room__status": st.sampled_from(["lobby", "closed", "lost", "", None, 1]),
    "nickname": TEXTS,
    "nickname__icontains": TEXTS,
    "country__in": st.one_of(TEXTS, st.lists(TEXTS, max_size=3)),
    "left_at__isnull": st.sampled_from([True, False, None, 0, "true"]),
    "id__in": st.lists(st.one_of(NUMBERS, st.booleans()), max_size=3),
    "search": TEXTS,
    "ordering": st.sampled_from(["nickname", "-nickname", "country", "--nickname", ""]),
    "limit": st.one_of(st.integers(-1, 102), st.sampled_from([1.5, "20", None, True])),
    "offset": st.integers(-1, 2**40),
    "is_host": st.booleans(),
}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.fixed_dictionaries({}, optional=LIKELY))
def test_the_schema_of_a_list_admits_what_the_call_takes(asked: dict[str, Any]) -> None:
    get_user_model().objects.all().delete()

    answer = client_of("view").call("player_list", asked)

    schema = server.tools["player_list"].arguments.schema
    assert Draft202012Validator(schema).is_valid(asked) is not answer.is_error, answer.text
    if not answer.is_error:
        shown = server.tools["player_list"].output.schema
        assert Draft202012Validator(shown).is_valid(answer.structured)
