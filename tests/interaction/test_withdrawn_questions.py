"""A question that nobody waits for any more is cancelled, on the stream that brought it.

`2025-11-25 basic/utilities/cancellation`: either side may withdraw a request that it has made.
"""

import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from mcp_app import Context, Elicit, Sample
from mcp_app.models import CallEvent
from mcp_app.testing import MCPClient
from mcp_app.transports import stopping
from tests.interaction import wire
from tests.interaction.conftest import LEGACY, MakeToken
from tests.interaction.tools import server

ABLE = {"elicitation": {}, "sampling": {}}
ADA = {"action": "accept", "content": {"name": "Ada"}}
CANCELLED = "notifications/cancelled"

Meanwhile = Callable[[MCPClient, wire.Line], Awaitable[Any]]

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass(frozen=True)
class Name:
    """Who somebody is."""

    name: str


@pytest.fixture(params=["sync", "async", "confirm", "confirm async"])
def asking(request: pytest.FixtureRequest, serve: Any) -> str:
    """A tool whose user is asked, by itself or before it runs."""

    def now(ctx: Context) -> str:
        return str(ctx.elicit("Who?", Name).content)

    async def later(ctx: Context) -> str:
        return str((await ctx.aelicit("Who?", Name)).content)

    def agreed() -> str:
        return "done"

    async def agreed_later() -> str:
        return "done"

    match request.param:
        case "sync":
            return str(serve(now))
        case "async":
            return str(serve(later))
        case "confirm":
            return str(serve(agreed, confirm="Really?"))
        case _:
            return str(serve(agreed_later, confirm="Really?"))


@pytest.fixture
def client(make_token: MakeToken, lanes: None) -> MCPClient:
    """A client of the newest revision that is asked on the call's stream."""
    return opened(make_token(), "2025-11-25")


def opened(token: str, version: str) -> MCPClient:
    client = MCPClient(token, version=version, server=server, capabilities=ABLE)
    client.initialize()
    return client


async def send(client: MCPClient, message: dict[str, Any]) -> None:
    await wire.send(wire.endpoint_application(), client, {"jsonrpc": "2.0", **message}).end()


async def withdraw(client: MCPClient, line: wire.Line) -> None:
    """The client cancels its call."""
    await send(client, {"method": CANCELLED, "params": {"requestId": 1}})


async def stop(client: MCPClient, line: wire.Line) -> None:
    """An administrator does."""
    row = await CallEvent.objects.aget(method="tools/call")
    assert await sync_to_async(stopping.stop)(row.correlation_id, "boss")


async def nothing(client: MCPClient, line: wire.Line) -> None:
    """Nobody answers."""


def told(client: MCPClient, name: str, meanwhile: Meanwhile, questions: int = 1) -> list[Any]:
    """What a call's stream said to its end, when `meanwhile` is done once its user was asked."""

    async def scenario() -> list[Any]:
        line = wire.call(wire.endpoint_application(), client, name)
        await line.until(lambda: len(line.events) == questions)
        await meanwhile(client, line)
        await line.end()
        return line.events

    return async_to_sync(scenario)()


def withdrawn(events: list[Any]) -> list[Any]:
    """The ids of the questions that were cancelled."""
    return [e["params"]["requestId"] for e in events if e.get("method") == CANCELLED]


@pytest.mark.parametrize("end", [withdraw, stop, nothing], ids=["call", "stopped", "time"])
def test_the_client_is_told_however_the_wait_ended(
    client: MCPClient, asking: str, settings: Any, end: Meanwhile
) -> None:
    if end is nothing:
        settings.MCP_APP = {**settings.MCP_APP, "INPUT_TIMEOUT": 0.1}
    question, cancelled, *response = told(client, asking, end)
    assert question["method"] == "elicitation/create"
    assert cancelled == {
        "jsonrpc": "2.0",
        "method": CANCELLED,
        "params": {"requestId": question["id"], "reason": "Nobody waits for the answer any more."},
    }
    # A call that its own client gave up is not answered; it was the last to be said of any other.
    assert [one["id"] for one in response] == ([] if end is withdraw else [1])


@pytest.mark.parametrize("version", LEGACY)
def test_so_it_is_in_every_revision_that_asks_on_a_stream(
    make_token: MakeToken, lanes: None, serve: Any, settings: Any, version: str
) -> None:
    def think(ctx: Context) -> str:
        return ctx.sample("Well?", max_tokens=5).text

    settings.MCP_APP = {**settings.MCP_APP, "INPUT_TIMEOUT": 0.1}
    events = told(opened(make_token(), version), serve(think), nothing)
    assert withdrawn(events) == [events[0]["id"]]


@pytest.mark.parametrize(
    "said", [{"result": ADA}, {"error": {"code": -1, "message": "no"}}], ids=["answer", "refusal"]
)
def test_what_was_answered_is_not_cancelled(client: MCPClient, asking: str, said: Any) -> None:
    async def answer(client: MCPClient, line: wire.Line) -> None:
        await send(client, {"id": line.events[0]["id"], **said})

    assert not withdrawn(told(client, asking, answer))


def test_of_several_questions_those_are_that_are_open(client: MCPClient, serve: Any) -> None:
    async def ask(ctx: Context) -> str:
        said = await ctx.aask({"a": Elicit("Who?", Name), "b": Sample("Well?", 5)})
        return str(said)

    async def refuse(client: MCPClient, line: wire.Line) -> None:
        await send(client, {"id": line.events[0]["id"], "error": {"code": -1, "message": "no"}})

    first, second, *rest = told(client, serve(ask), refuse, questions=2)
    assert withdrawn(rest) == [second["id"]]
    assert first["id"] != second["id"]


def test_who_comes_back_for_the_stream_is_told_too(
    client: MCPClient, asking: str, settings: Any
) -> None:
    ended = threading.Event()
    settings.MCP_APP = {
        **settings.MCP_APP,
        "INPUT_TIMEOUT": 0.5,
        "ON_CALL": [lambda row: ended.set()],
    }

    async def scenario() -> tuple[wire.Line, wire.Line]:
        line = wire.call(wire.endpoint_application(), client, asking)
        await line.until(lambda: line.events)
        await line.hang_up()
        await wire.reached(ended)
        application, seen = wire.endpoint_application(), line.event_ids[0]
        back = wire.send(application, client, None, method="GET", last_event_id=seen)
        await back.end()
        return line, back

    before, after = async_to_sync(scenario)()
    assert withdrawn(after.events) == [before.events[0]["id"]]
