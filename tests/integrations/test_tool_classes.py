"""Tools that are classes: an instance a call, and the rows that are its caller's."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated

from mcp_app import Context, MCPServer, Progress
from mcp_app.integrations import Tool
from mcp_app.models import CallEvent
from mcp_app.testing import MCPClient, inline_workers
from project.quiz.models import Player
from tests.integrations.players import client_of, player, room

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def inline() -> Iterator[None]:
    with inline_workers():
        yield


class NotBob(IsAuthenticated):
    """Bob is nobody's business."""

    def has_object_permission(self, request: Any, view: Any, obj: Player) -> bool:
        assert view.tool is not None
        return obj.nickname != "Bob"


class FindPlayer(Tool):
    """Find a player.

    By the number that lists have.
    """

    def get_queryset(self) -> Any:
        return super().get_queryset().exclude(room__name="hidden")

    def run(self, number: int, *, loud: bool = False) -> dict[str, str]:
        self.found = self.get_object(pk=number)
        return {"nickname": self.nickname(loud), "caller": self.ctx.user.username}

    def nickname(self, loud: bool) -> str:
        return self.found.nickname.upper() if loud else self.found.nickname


def declared(cls: Any, **options: Any) -> MCPServer:
    server = MCPServer("classes of one test")
    assert server.tool(**options)(cls) is cls
    return server


@pytest.fixture
def client() -> Callable[..., MCPClient]:
    token = client_of().token

    def make(cls: Any, **options: Any) -> MCPClient:
        server = declared(cls, **options)
        assert not server.problems, server.problems
        return MCPClient(token, version="2026-07-28", door="asgi", server=server)

    return make


def test_it_is_declared_as_a_function_is() -> None:
    server = declared(FindPlayer, read_only=True, queryset=Player.objects.all(), timeout=5)

    tool = server.tools["find_player"]
    assert tool.description == "Find a player.\n\nBy the number that lists have."
    assert (tool.read_only, tool.timeout, tool.module) == (True, 5, __name__)
    schema = tool.arguments.schema
    Draft202012Validator.check_schema(schema)
    assert set(schema["properties"]) == {"number", "loud"}
    assert schema["required"] == ["number"]
    assert tool.output.schema is not None
    named = declared(FindPlayer, name="look", description="Look.").tools["look"]
    assert named.description == "Look."


def test_a_call_sees_the_rows_of_its_caller(client: Callable[..., MCPClient]) -> None:
    classes = [NotBob]
    mine = client(FindPlayer, queryset=Player.objects.all(), permission_classes=classes)
    ada, bob, eve = player("Ada"), player("Bob"), player("Eve", room("hidden"))

    shown = mine.call("find_player", {"number": ada.pk, "loud": True}).structured
    assert shown == {"nickname": "ADA", "caller": "ada"}
    for pk in (bob.pk, eve.pk, 999_999):
        answer = mine.call("find_player", {"number": pk})
        assert (answer.is_error, answer.text) == (True, "There is no player of this pk.")


def test_no_call_sees_what_another_has_found(client: Callable[..., MCPClient]) -> None:
    class Remember(Tool):
        """Remember a word."""

        def run(self, word: str) -> bool:
            known = hasattr(self, "word")
            self.word = word
            return known

    mine = client(Remember)

    assert [mine.call("remember", {"word": word}).structured for word in "ab"] == [
        {"result": False},
        {"result": False},
    ]


def test_async_methods_and_generators_run_as_functions_do(
    client: Callable[..., MCPClient],
) -> None:
    class Wait(Tool):
        async def run(self) -> str:
            """Wait."""
            return f"async {self.ctx.user}"

    class Count(Tool):
        """Count."""

        def run(self, to: int) -> Iterator[Progress | int]:
            for number in range(to):
                yield Progress(number, to)
            yield to

    class Stream(Tool):
        """Stream."""

        async def run(self, ctx: Context) -> AsyncIterator[Progress | str]:
            yield Progress(1, 2)
            yield f"{ctx is self.ctx}"

    assert client(Wait).call("wait").text == "async ada"
    assert client(Count).call("count", {"to": 2}).structured == {"result": 2}
    assert client(Stream).call("stream").text == "True"


def test_a_serializer_may_say_what_it_takes(client: Callable[..., MCPClient]) -> None:
    class Named(serializers.Serializer[Any]):
        nickname = serializers.CharField(max_length=5)

    class Greet(Tool):
        """Greet somebody."""

        def run(self, data: Any) -> Any:
            return {"nickname": data["nickname"] + self.ctx.user.username}

    mine = client(Greet, input=Named, output=Named)

    assert mine.call("greet", {"nickname": "Bob"}).structured == {"nickname": "Bobada"}
    assert "nickname" in mine.call("greet", {"nickname": "too long"}).text


def test_rows_that_nobody_has_declared_are_a_fault_of_the_product(
    client: Callable[..., MCPClient], caplog: pytest.LogCaptureFixture
) -> None:
    answer = client(FindPlayer).call("find_player", {"number": 1})

    assert answer.is_error
    assert "FindPlayer" not in answer.text
    assert "FindPlayer needs @tool(queryset=…)" in caplog.text
    assert CallEvent.objects.get().outcome == "failed"


class Nothing(Tool):
    """Does nothing."""


class Silent(Tool):
    def run(self) -> str:
        return ""


class Untyped(Tool):
    """Takes anything."""

    def run(self, number):  # type: ignore[no-untyped-def]
        return number


class Late(Tool):
    """Is asked for more than it can do."""

    async def run(self, data: Any) -> Any:
        return data


@pytest.mark.parametrize(
    ("cls", "options", "identifier", "told"),
    [
        (Nothing, {}, "E053", "the class has no method run"),
        (Silent, {}, "E052", "the tool has no description"),
        (Untyped, {}, "E053", "'number' has no annotation"),
        (FindPlayer, {"readonly": True}, "E067", "unknown keywords: readonly"),
        (FindPlayer, {"sensitive": ["lost"]}, "E062", "names no parameter: lost"),
        (Late, {"input": serializers.Serializer}, "E079", "an async function or a generator"),
        (dict, {}, "E053", "must be a function"),
    ],
)
def test_what_cannot_run_is_refused_at_start_up(
    cls: Any, options: dict[str, Any], identifier: str, told: str
) -> None:
    server = declared(cls, **options)

    (problem,) = server.problems
    assert not server.tools
    assert (problem.id, told in problem.message) == (identifier, True), problem.message
