"""`ModelTools`: what is declared of a model's rows, and what is refused at start-up."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import models
from django.db.models.functions import Now
from django.test.utils import isolate_apps
from jsonschema import Draft202012Validator

from mcp_app import MCPServer
from mcp_app.checks import check_declarations
from mcp_app.integrations import ModelTools
from project.quiz.models import Match, MatchEvent, Player, Room
from tests.integrations.players import ALL, declared, player_tools


@pytest.fixture
def tools() -> Any:
    server = MCPServer("players of one test")
    player_tools(server)
    assert not server.problems, server.problems
    return {name.removeprefix("player_"): tool for name, tool in server.tools.items()}


def test_nothing_is_written_that_is_not_asked_for_by_name() -> None:
    server = declared(fields=["id", "nickname"])

    assert set(server.tools) == {"player_list", "player_get"}
    assert all(tool.read_only for tool in server.tools.values())


def test_each_tool_has_its_hints_and_its_method(tools: Any) -> None:
    hints = {n: (t.method, t.read_only, t.destructive, t.idempotent) for n, t in tools.items()}
    assert hints == {
        "list": (None, True, None, None),
        "get": (None, True, None, None),
        "create": ("POST", False, False, None),
        "update": ("PATCH", False, None, True),
        "delete": ("DELETE", False, True, True),
    }


def test_the_arguments_are_the_filters_and_the_fields(tools: Any) -> None:
    schemas = {name: tool.arguments.schema for name, tool in tools.items()}
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)

    found = schemas["list"]["properties"]
    assert "required" not in schemas["list"]
    assert found["room"] == {"type": "integer", "description": "Only where room is this."}
    assert found["room__status"]["enum"] == ["lobby", "playing", "finished", "closed"]
    assert found["left_at__isnull"]["type"] == "boolean"
    assert found["left_at__date"]["format"] == "date"
    assert found["id__in"]["items"] == {"type": "integer"}
    assert found["ordering"]["enum"] == ["nickname", "-nickname", "room", "-room"]
    assert (found["limit"]["minimum"], found["limit"]["maximum"]) == (1, 100)
    assert found["offset"]["minimum"] == 0
    assert schemas["get"]["required"] == schemas["update"]["required"] == ["id"]
    assert schemas["create"]["required"] == ["nickname", "country", "room"]
    assert set(schemas["update"]["properties"]) == {"id", "nickname", "country", "room"}


def test_the_result_is_described_by_the_columns(tools: Any) -> None:
    row = tools["get"].output.schema

    assert row["required"] == list(row["properties"])
    assert row["properties"]["id"] == {"type": "integer"}
    assert row["properties"]["room"] == {"type": "integer", "description": "The id of a room"}
    assert row["properties"]["room__name"] == {"type": "string"}
    assert row["properties"]["left_at"]["anyOf"] == [
        {"type": "string", "format": "date-time"},
        {"type": "null"},
    ]
    page = tools["list"].output.schema
    assert page["properties"]["results"]["items"] == row
    assert page["required"] == ["count", "next", "previous", "results"]


def test_what_is_sensitive_is_marked_in_every_argument(tools: Any) -> None:
    assert tools["list"].sensitive == {"country__in"}
    assert tools["create"].sensitive == tools["update"].sensitive == {"country"}
    assert tools["create"].arguments.schema["properties"]["country"]["writeOnly"] is True


def test_a_search_in_sensitive_columns_is_sensitive() -> None:
    server = declared(fields=["id", "nickname"], search=["nickname"], sensitive=["nickname"])

    assert server.tools["player_list"].sensitive == {"search"}


def test_what_is_written_and_never_shown_is_sensitive() -> None:
    server = declared(fields=["id", "nickname"], tools=["update"], writable=["nickname", "country"])

    (tool,) = server.tools.values()
    assert tool.sensitive == {"country"}
    assert "country" not in tool.output.schema["properties"]


def test_a_key_is_told_as_its_column_has_it() -> None:
    server = declared(Match, fields=["id"])

    key = server.tools["match_get"].arguments.schema["properties"]["id"]
    assert (key["type"], key["format"]) == ("string", "uuid")


def test_another_unique_column_may_name_a_row() -> None:
    server = declared(Room, fields=["invite_code", "name"], lookup="invite_code")

    assert server.tools["room_get"].arguments.schema["required"] == ["invite_code"]


def test_keywords_are_for_all_or_for_one() -> None:
    server = declared(
        fields=["id"],
        tools=["list", "delete"],
        prefix="guest",
        scopes=["rooms:write"],
        overrides={"delete": {"confirm": "Delete {id}?", "description": "Send out."}},
    )

    found = server.tools
    assert set(found) == {"guest_list", "guest_delete"}
    assert {tool.scopes for tool in found.values()} == {("rooms:write",)}
    assert (found["guest_delete"].confirm, found["guest_list"].confirm) == ("Delete {id}?", None)
    assert found["guest_delete"].description == "Send out."


class Async(ModelTools):
    async def prepare(self, ctx: Any, row: Any) -> None:
        """Is never awaited."""


class Nowhere(models.Model):
    class Meta:
        abstract = True
        app_label = "quiz"


User = get_user_model()
NEEDED = ["nickname", "country", "room"]
SHOWN = {"fields": ["id", "nickname", "left_at", "room"]}


@pytest.mark.parametrize(
    ("model", "options", "told"),
    [
        (int, {"fields": ["id"]}, "int is no model"),
        (Nowhere, {"fields": ["id"]}, "Nowhere is no model"),
        (Player, {}, "fields names no field"),
        (Player, {"fields": "__all__"}, "fields is '__all__' and not a list"),
        (Player, {"fields": ["__all__"]}, "'__all__', which is no column of Player"),
        (Player, {"fields": "id"}, "fields is 'id' and not a list"),
        (Player, {"fields": None}, "fields is None and not a list"),
        (Player, {"fields": ["id", "lost"]}, "'lost', which is no column of Player"),
        (Player, {"fields": ["id", "room__lost"]}, "'room__lost', which is no column of"),
        (Player, {"fields": ["id", "nickname__length"]}, "'nickname__length', which is no"),
        (Player, {"fields": ["id", "pk"]}, "'pk', which is no column"),
        (Player, {"fields": ["id", "room_id"]}, "'room_id', which is no column"),
        (Player, {"fields": ["id", "room_id__name"]}, "'room_id__name', which is no column"),
        (Player, {"fields": ["id", "answers"]}, "'answers', which is no column"),
        (Player, {"fields": ["id", "room__players"]}, "'room__players', which is no column"),
        (User, {"fields": ["id", "groups"]}, "'groups', which is no column"),
        (User, {"fields": ["id", "password"]}, "'password', a password's hash"),
        (User, {"fields": ["id"], "filters": ["password__startswith"]}, "not among fields"),
        (Player, {**SHOWN, "filters": ["country"]}, "filters has 'country', which is not among"),
        (Player, {**SHOWN, "filters": ["room__name"]}, "'room__name', which is not among fields"),
        (Player, {**SHOWN, "filters": ["room__name__icontains"]}, "which is not among fields"),
        (Player, {**SHOWN, "filters": ["nickname__regex"]}, "there is no 'regex' to ask for"),
        (Player, {**SHOWN, "filters": ["nickname__gt"]}, "nickname has no such values"),
        (Player, {**SHOWN, "filters": ["left_at__icontains"]}, "left_at has no such values"),
        (Player, {**SHOWN, "filters": "nickname"}, "filters is 'nickname' and not a list"),
        (MatchEvent, {"fields": ["id", "data"], "filters": ["data"]}, "asked for by 'data'"),
        (Player, {**SHOWN, "ordering": ["country"]}, "ordering has 'country', which is not among"),
        (Player, {**SHOWN, "ordering": ["-nickname"]}, "ordering has '-nickname', which is not"),
        (Player, {**SHOWN, "search": ["country"]}, "search has 'country', which is not among"),
        (Player, {**SHOWN, "search": ["left_at"]}, "search has 'left_at', which is no text"),
        (Player, {**SHOWN, "sensitive": ["country"]}, "sensitive has country, which no tool names"),
        (Player, {**SHOWN, "page_size": 0}, "pages cannot have 0 rows"),
        (Player, {**SHOWN, "page_size": True}, "pages cannot have True rows"),
        (Player, {**SHOWN, "page_size": 50, "max_page_size": 20}, "and 20 at most"),
        (Player, {**SHOWN, "max_page_size": 100_000}, "and 100000 at most"),
        (Player, {**SHOWN, "tools": []}, "tools names none"),
        (Player, {**SHOWN, "tools": ["drop"]}, "there is no tool drop"),
        (Player, {**SHOWN, "tools": "list"}, "tools is 'list' and not a list"),
        (Player, {"fields": ["nickname"]}, "rows are named by 'id', which is not among fields"),
        (Player, {**SHOWN, "lookup": "nickname"}, "several rows may have the same 'nickname'"),
        (Player, {**SHOWN, "tools": ["update"]}, "update can write 0 fields"),
        (Player, {**SHOWN, "writable": ["nickname"]}, "no tool can write 1 fields"),
        (
            Player,
            {**SHOWN, "tools": ["create"], "writable": [*NEEDED, "id"]},
            "which no caller can set",
        ),
        (Player, {**SHOWN, "tools": ["update"], "writable": "__all__"}, "writable is '__all__'"),
        (Player, {**SHOWN, "tools": ["update"], "writable": ["room__name"]}, "no caller can set"),
        (Player, {**SHOWN, "tools": ["create"], "writable": ["room"]}, "needs nickname, country"),
        (Group, {"fields": ["id"], "overrides": {"drop": {}}}, "overrides has drop"),
        (Player, {**SHOWN, "cls": Async}, "its prepare is async"),
    ],
)
def test_what_cannot_be_kept_is_refused_at_start_up(
    model: Any, options: dict[str, Any], told: str
) -> None:
    server = MCPServer("of one test")
    cls = options.pop("cls", ModelTools)

    cls(model, server=server, **options)

    assert not server.tools
    (problem,) = server.problems
    assert problem.id == "E081"
    assert told in problem.message


@pytest.mark.parametrize("keyword", ["queryset", "input", "output", "read_only", "scope"])
def test_keywords_that_mean_nothing_here_are_refused(keyword: str) -> None:
    server = declared(fields=["id"], tools=["list"], **{keyword: True})

    (problem,) = server.problems
    assert problem.id == "E067"


def test_the_check_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    server = declared(fields="__all__")
    monkeypatch.setattr("mcp_app.checks.default_server", server)

    (error,) = check_declarations()

    assert error.id == "mcp_app.E081"
    assert "Name each field" in str(error.hint)


def test_a_new_row_may_get_what_it_needs_from_the_product() -> None:
    class Guests(ModelTools):
        def prepare(self, ctx: Any, row: Any) -> None:
            row.country = "NO"

    server = MCPServer("of one test")
    Guests(Player, fields=["id"], tools=["create"], writable=["nickname", "room"], server=server)

    assert not server.problems
    assert set(server.tools) == {"player_create"}


@isolate_apps("tests.integrations")
def test_a_column_that_may_be_blank_takes_an_empty_text_only_where_it_holds_texts() -> None:
    class Book(models.Model):
        size = models.IntegerField(choices=[(1, "small"), (2, "large")], null=True, blank=True)
        shelf = models.CharField(max_length=3, choices=[("a", "A")], blank=True)
        note = models.CharField(max_length=3, blank=True)

        class Meta:
            app_label = "integrations"

    columns = ["size", "shelf", "note"]
    server = declared(Book, fields=columns, filters=columns, tools=["list"])

    found = server.tools["book_list"].arguments.schema["properties"]
    assert (found["size"]["enum"], found["size"]["type"]) == ([1, 2], "integer")
    assert found["shelf"]["enum"] == ["a", ""]
    assert "minLength" not in found["note"]


@isolate_apps("tests.integrations")
def test_what_the_database_fills_in_is_not_required() -> None:
    class Book(models.Model):
        title = models.CharField(max_length=3)
        added = models.DateTimeField(db_default=Now())

        class Meta:
            app_label = "integrations"

    server = declared(Book, fields=["id"], tools=["create"], writable=["title", "added"])
    assert server.tools["book_create"].arguments.schema["required"] == ["title"]
    server = declared(Book, fields=["id"], tools=["create"], writable=["title"])
    assert not server.problems


def test_all_tools_are_those_that_there_are(tools: Any) -> None:
    assert set(tools) == set(ALL)
