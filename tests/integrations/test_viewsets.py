"""A viewset's actions as tools: run through the view, with its permissions once."""

import json
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from django.contrib.auth import get_user_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from rest_framework import permissions, serializers, viewsets
from rest_framework.response import Response

from mcp_app.auth.tokens import issue
from mcp_app.catalog.definition import Tool
from mcp_app.models import CallEvent
from mcp_app.testing import DOORS, Door, MCPClient
from project.quiz.models import Room
from tests.integrations.rooms import (
    ACTIONS,
    ASKED,
    EXTRA,
    RoomSerializer,
    RoomViewSet,
    exposed,
)

pytestmark = pytest.mark.django_db

NEW = {"invite_code": "ABC123", "name": "one", "topic": "capitals", "difficulty": "easy"}


@pytest.fixture(autouse=True)
def asked() -> Iterator[list[str]]:
    ASKED.clear()
    yield ASKED
    ASKED.clear()


@pytest.fixture
def server(settings: Any) -> Any:
    from mcp_app.testing import inline_workers

    settings.ROOT_URLCONF = "tests.integrations.urls"
    with inline_workers():
        from tests.integrations.urls import server

        yield server


def client_of(server: Any, door: Door = DOORS[0], name: str = "ada", **fields: Any) -> MCPClient:
    user = get_user_model().objects.create_user(name, **fields)
    _, secret = issue(user=user, name="laptop")
    return MCPClient(secret.reveal(), version="2026-07-28", door=door, server=server)


def room(number: int = 1, **fields: Any) -> Room:
    plain = {"invite_code": f"R{number:05}", "name": f"room {number}"}
    return Room.objects.create(**{**plain, "topic": "capitals", "difficulty": "easy"} | fields)


# --- what is declared -------------------------------------------------------------------------


@pytest.fixture
def tools() -> dict[str, Tool]:
    server = exposed()
    assert not server.problems, server.problems
    return {name.removeprefix("room_"): tool for name, tool in server.tools.items()}


def test_an_action_is_a_tool_with_the_hints_of_its_method(tools: dict[str, Tool]) -> None:
    assert set(tools) == {*ACTIONS, *EXTRA}
    hints = {n: (t.method, t.read_only, t.destructive, t.idempotent) for n, t in tools.items()}
    assert hints["list"] == hints["retrieve"] == hints["count"] == ("GET", True, None, None)
    assert hints["create"] == ("POST", False, False, None)
    assert hints["update"] == ("PUT", False, None, True)
    assert hints["partial_update"] == ("PATCH", False, None, None)
    assert hints["destroy"] == ("DELETE", False, True, True)
    assert tools["close"].description == "Close a room."
    assert tools["list"].description == "List every room that you may see."


def test_each_schema_has_what_the_action_takes(tools: dict[str, Tool]) -> None:
    schemas = {name: tool.arguments.schema for name, tool in tools.items()}
    fields = {"invite_code", "name", "topic", "difficulty"}
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)

    assert set(schemas["create"]["properties"]) == fields
    assert set(schemas["create"]["required"]) == fields
    assert set(schemas["update"]["required"]) == {"pk", *fields}
    assert schemas["partial_update"]["required"] == ["pk"]
    assert set(schemas["partial_update"]["properties"]) == {"pk", *fields}
    assert set(schemas["destroy"]["properties"]) == set(schemas["close"]["properties"]) == {"pk"}
    assert set(schemas["list"]["properties"]) == {"search", "ordering", "page", "size"}
    assert set(schemas["rename"]["properties"]) == {"pk", "name"}
    assert schemas["count"]["properties"] == {}
    assert schemas["retrieve"]["properties"]["pk"] == {
        "type": "integer",
        "description": "The id of the room.",
    }


def test_the_viewset_itself_stays_as_it_is() -> None:
    before = dict(vars(RoomViewSet))

    exposed()

    assert dict(vars(RoomViewSet)) == before


class Plain(viewsets.ViewSet):
    permission_classes: ClassVar = [permissions.AllowAny]

    def create(self, request: Any) -> Response:
        """Make something."""
        return Response()


class ByUser(RoomViewSet):
    def get_serializer_class(self) -> Any:
        return RoomSerializer if self.request.user.is_staff else serializers.Serializer


class WithFile(RoomViewSet):
    class FileSerializer(serializers.Serializer[Any]):
        file = serializers.FileField()

    serializer_class = FileSerializer


class ByCode(RoomViewSet):
    lookup_field = "invite_code"


@pytest.mark.parametrize(
    ("viewset", "name", "options", "told"),
    [
        (int, "list", {}, "int is not a viewset"),
        (RoomViewSet, "lost", {}, "has no action 'lost'"),
        (RoomViewSet, "both", {}, "answers GET, POST"),
        (Plain, "create", {}, "its view has no serializer"),
        (ByUser, "create", {}, "depends on the request"),
        (WithFile, "create", {}, "'file' takes a file"),
        (ByCode, "update", {}, "two arguments would be called invite_code"),
        (RoomViewSet, "list", {"permission_classes": [Plain]}, "by itself what permission_classes"),
        (RoomViewSet, "list", {"scope": "x"}, "unknown keywords: scope"),
    ],
)
def test_what_cannot_be_kept_is_refused_at_start_up(
    viewset: Any, name: str, options: dict[str, Any], told: str
) -> None:
    server = exposed(viewset, [name], **options)

    assert not server.tools
    (problem,) = server.problems
    assert told in problem.message


def test_actions_that_need_no_serializer_do_not_fall_with_it() -> None:
    server = exposed(ByUser, ["list", "retrieve", "destroy"])

    assert len(server.tools) == 3
    assert all(tool.output.schema is None for tool in server.tools.values())


def test_keywords_are_for_all_or_for_one() -> None:
    server = exposed(
        actions=["list", "destroy"],
        prefix="hall",
        throttle_scope="slow",
        overrides={"destroy": {"confirm": "Delete {pk}?", "description": "Tear down."}},
    )

    tools = server.tools
    assert set(tools) == {"hall_list", "hall_destroy"}
    assert {tool.throttle_scope for tool in tools.values()} == {"slow"}
    assert (tools["hall_destroy"].confirm, tools["hall_list"].confirm) == ("Delete {pk}?", None)
    assert tools["hall_destroy"].description == "Tear down."


# --- calls ------------------------------------------------------------------------------------


def test_it_makes_shows_changes_and_deletes(server: Any, door: Door) -> None:
    client = client_of(server, door)

    made = client.call("room_create", NEW)
    assert not made.is_error, made.text
    pk = made.result["structuredContent"]["id"]
    shown = client.call("room_retrieve", {"pk": pk}).result["structuredContent"]
    assert shown["players"] == "0 for ada in retrieve"
    changed = client.call("room_partial_update", {"pk": pk, "name": "two"})
    assert changed.result["structuredContent"] == {
        **shown,
        "name": "two",
        "players": "0 for ada in partial_update",
    }
    assert client.call("room_update", NEW | {"pk": pk}).result["structuredContent"]["name"] == "one"
    assert client.call("room_rename", {"pk": pk, "name": "three"}).result["content"] == []
    assert Room.objects.get().name == "three"
    assert client.call("room_destroy", {"pk": pk}).text == "Deleted."
    assert not Room.objects.exists()


def test_the_view_sees_whom_the_endpoint_has_recognised(server: Any, door: Door) -> None:
    pk = room().pk

    closed = client_of(server, door).call("room_close", {"pk": pk}).result["structuredContent"]

    assert closed["closed"] == pk
    assert closed["auth"].startswith("laptop")
    assert closed["kwarg"] == str(pk)


def test_permissions_and_throttles_are_asked_once_each(server: Any, asked: list[str]) -> None:
    pk, client = room().pk, client_of(server)

    client.call("room_partial_update", {"pk": pk, "name": "two"})

    assert asked == [
        "has_permission PATCH partial_update",
        "throttle",
        "has_object_permission room 1",
    ]


def test_who_may_not_call_it_does_not_see_it(server: Any) -> None:
    mallory, ada = client_of(server, name="mallory"), client_of(server)

    assert [tool["name"] for tool in mallory.tools()] == ["room_mine_retrieve"]
    assert {tool["name"] for tool in ada.tools()} >= {"room_list", "room_close"}
    refused = mallory.call("room_list")
    assert refused.error["code"] == -32602
    assert CallEvent.objects.get(tool="room_list").outcome == "denied"


def test_what_the_view_refuses_is_told_in_the_result(server: Any) -> None:
    client = client_of(server)
    closed, busy, hidden = (
        room(1, status="closed"),
        room(2, name="busy"),
        room(3, name="hidden room"),
    )

    assert "permission" in client.call("room_retrieve", {"pk": closed.pk}).text
    assert client.call("room_close", {"pk": busy.pk}).text == "detail: It is being played."
    assert client.call("room_close", {"pk": busy.pk}).is_error
    assert client.call("room_retrieve", {"pk": hidden.pk}).is_error
    taken = client.call("room_create", NEW | {"invite_code": busy.invite_code})
    assert taken.text.startswith("invite_code: room with this invite code already exists")
    assert CallEvent.objects.filter(outcome="invalid").count() == 1
    late = client_of(server, name="greedy").call("room_list")
    assert late.is_error
    assert "Expected available in 7 seconds" in late.text


def test_a_list_is_searched_ordered_and_paged(server: Any) -> None:
    client = client_of(server)
    for number in range(5):
        room(number, name=f"{'green' if number else 'blue'} {number}")

    asked = {"search": "green", "ordering": "-name"}
    first = client.call("room_list", asked).result["structuredContent"]
    second = client.call("room_list", first["next"]).result["structuredContent"]

    assert [each["name"] for each in first["results"]] == ["green 4", "green 3"]
    assert (first["count"], first["previous"]) == (4, None)
    assert first["next"] == {**asked, "page": 2}
    assert [each["name"] for each in second["results"]] == ["green 2", "green 1"]
    assert (second["next"], second["previous"]) == (None, asked)
    assert "Invalid page" in client.call("room_list", {"page": 9}).text


def test_a_view_that_reads_may_not_write(server: Any) -> None:
    pk = room().pk

    answer = client_of(server).call("room_peek", {"pk": pk})

    assert answer.is_error
    assert "read-only" in answer.text


def test_permissions_that_look_at_the_call_are_asked_with_it(server: Any, asked: list[str]) -> None:
    mine, other, client = room(1, name="mine"), room(2), client_of(server)

    assert "room_mine_retrieve" in {tool["name"] for tool in client.tools()}
    asked.clear()
    assert not client.call("room_mine_retrieve", {"pk": mine.pk}).is_error
    assert asked == ["look None", f"look {mine.pk}"]
    assert client.call("room_mine_retrieve", {"pk": other.pk}).is_error


# --- the round trip ---------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=8)
LIKELY = {
    "invite_code": TEXTS,
    "name": TEXTS,
    "topic": st.sampled_from(["capitals", "regions", "lost", "", None]),
    "difficulty": st.sampled_from(["easy", 1, None]),
    "status": st.just("open"),
    "players": st.just("1"),
}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.fixed_dictionaries({}, optional=LIKELY), st.booleans())
def test_the_schema_of_a_change_admits_what_the_call_takes(
    server: Any, changes: dict[str, Any], complete: bool
) -> None:
    name = "room_update" if complete else "room_partial_update"
    Room.objects.all().delete()
    get_user_model().objects.all().delete()
    arguments = {"pk": room().pk, **(NEW if complete else {}), **changes}
    json.dumps(arguments)

    answer = client_of(server).call(name, arguments)

    schema = server.tools[name].arguments.schema
    assert Draft202012Validator(schema).is_valid(arguments) is not answer.is_error, answer.text
