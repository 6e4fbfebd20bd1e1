"""People think for minutes: whoever waits for one keeps no other call from running."""

import asyncio
import threading
from dataclasses import dataclass
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection

from mcp_app import Context
from mcp_app.audit.gates import deciding_gate
from mcp_app.models import CallEvent
from mcp_app.testing import MCPClient
from mcp_app.work import seats
from mcp_app.work.lanes import READ, WRITE
from mcp_app.work.waiting import AT_MOST
from tests.interaction import wire
from tests.interaction.conftest import Counted, MakeToken
from tests.interaction.tools import server

WORKERS = 2
TWELVE = 12
ABLE = {"elicitation": {}, "sampling": {}, "roots": {}}
ADA = {"action": "accept", "content": {"name": "Ada"}}

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass(frozen=True)
class Name:
    """Who somebody is."""

    name: str


@pytest.fixture
def client(
    make_token: MakeToken, lanes: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> MCPClient:
    """A client whose user can be asked, of a server with two workers a lane."""
    settings.MCP_APP = {**settings.MCP_APP, "WORKERS": WORKERS}
    monkeypatch.setattr(READ, "_workers", None)
    monkeypatch.setattr(WRITE, "_workers", None)
    monkeypatch.setattr(seats, "_current", [])
    client = MCPClient(make_token(), version="2025-11-25", server=server, capabilities=ABLE)
    client.initialize()
    return client


class Lines:
    """Calls of one tool at once, each on a stream of its own."""

    def __init__(self, client: MCPClient, name: str) -> None:
        self.application = wire.endpoint_application()
        self.client, self.name = client, name
        self.lines: list[wire.Line] = []

    async def begin(self, count: int) -> None:
        """Call so often, until each has an event: a question or a result."""
        for number in range(count):
            params = {"name": self.name, "arguments": {}}
            call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            self.lines.append(wire.send(self.application, self.client, call))
        for line in self.lines:
            await line.until(lambda line=line: line.events)

    @property
    def asked(self) -> list[wire.Line]:
        """Those that ask something and have no answer yet."""
        return [line for line in self.lines if "method" in line.events[-1]]

    async def answer(self) -> list[Any]:
        """Answer what is asked; the results of all."""
        for line in self.asked:
            told = {"jsonrpc": "2.0", "id": line.events[-1]["id"], "result": ADA}
            await wire.send(self.application, self.client, told).end()
        for line in self.lines:
            await line.end()
        return [line.events[-1]["result"] for line in self.lines]


async def promptly(client: MCPClient, name: str) -> Any:
    """The result of another call, which has two seconds."""
    async with asyncio.timeout(2):
        line = wire.call(wire.endpoint_application(), client, name)
        await line.end()
        return line.events[-1]["result"]


@pytest.mark.parametrize("read_only", [True, False], ids=["reads", "writes"])
@pytest.mark.parametrize("kind", ["confirmation", "elicit", "sync code of an async tool"])
def test_unanswered_questions_hold_up_no_other_call(
    client: MCPClient, serve: Any, counted: Counted, kind: str, read_only: bool
) -> None:
    def confirmed() -> str:
        return "Ada"

    def asks(ctx: Context) -> str:
        return str(ctx.elicit("Who?", Name).content.name)

    async def asks_in_a_thread(ctx: Context) -> str:
        elicit = sync_to_async(ctx.elicit)
        return str((await elicit("Who?", Name)).content.name)

    async def uses_a_thread() -> bool:
        return await sync_to_async(lambda: bool(connection.vendor))()

    kinds = {"confirmation": confirmed, "elicit": asks}
    confirm = {"confirm": "Really?"} if kind == "confirmation" else {}
    name = serve(kinds.get(kind, asks_in_a_thread), read_only=read_only, **confirm)
    others = [counted.name, "open_to_all", serve(uses_a_thread)]

    async def scenario() -> list[Any]:
        lines = Lines(client, name)
        await lines.begin(TWELVE)
        assert len(lines.asked) == TWELVE
        for other in others:
            assert "isError" not in await promptly(client, other)
        return await lines.answer()

    results = async_to_sync(scenario)()
    assert [result["content"][0]["text"] for result in results] == ["Ada"] * TWELVE
    assert list(CallEvent.objects.filter(tool=name).values_list("outcome", flat=True)) == (
        ["ok"] * TWELVE
    )


@pytest.mark.parametrize("kind", ["sync", "sync code of an async tool"])
def test_no_more_threads_wait_than_may(client: MCPClient, serve: Any, kind: str) -> None:
    def asks(ctx: Context) -> str:
        return str(ctx.elicit("Who?", Name).content.name)

    async def asks_in_a_thread(ctx: Context) -> str:
        elicit = sync_to_async(ctx.elicit)
        return str((await elicit("Who?", Name)).content.name)

    name = serve(asks if kind == "sync" else asks_in_a_thread)
    most = WORKERS * AT_MOST

    async def scenario() -> tuple[int, list[Any]]:
        lines = Lines(client, name)
        await lines.begin(most + 3)
        return len(lines.asked), await lines.answer()

    asked, results = async_to_sync(scenario)()
    assert asked == most
    told = [r["content"][0]["text"] for r in results if r.get("isError")]
    assert told == ["Too many questions wait for an answer already. Try again later."] * 3
    assert async_to_sync(scenario)()[0] == most


def test_no_more_tools_work_at_a_time_once_they_were_answered(
    client: MCPClient, serve: Any
) -> None:
    at_work, most, both = [0], [0], threading.Lock()
    together = threading.Event()

    def asks(ctx: Context) -> str:
        return str(ctx.elicit("Who?", Name).content.name)

    def works() -> None:
        with both:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        if at_work[0] > WORKERS:
            together.set()
        together.wait(0.02)
        with both:
            at_work[0] -= 1

    asking, working = serve(asks), serve(works)

    async def scenario() -> None:
        lines = Lines(client, asking)
        await lines.begin(TWELVE)
        await lines.answer()
        await Lines(client, working).begin(TWELVE)

    async_to_sync(scenario)()
    assert most[0] == WORKERS


def test_thinking_time_is_not_that_of_a_tool_that_asks_in_a_thread(
    client: MCPClient, serve: Any
) -> None:
    async def asks(ctx: Context) -> str:
        elicit = sync_to_async(ctx.elicit)
        named = (await elicit("Who?", Name)).content.name
        await asyncio.sleep(0)
        return str(named)

    name = serve(asks, timeout=0.3)

    async def scenario() -> list[Any]:
        lines = Lines(client, name)
        await lines.begin(1)
        await asyncio.sleep(0.6)
        return await lines.answer()

    assert async_to_sync(scenario)()[0]["content"][0]["text"] == "Ada"


def test_a_confirmation_that_is_cancelled_ends_at_once(
    client: MCPClient, serve: Any, counted: Counted
) -> None:
    def confirmed() -> None:
        counted.runs += 1

    name = serve(confirmed, confirm="Really?")

    async def scenario() -> None:
        lines = Lines(client, name)
        await lines.begin(1)
        params = {"requestId": 0, "reason": "changed their mind"}
        told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        await wire.send(lines.application, client, told).end()
        await lines.lines[0].end()

    async_to_sync(scenario)()
    assert counted.runs == 0
    event = CallEvent.objects.get(tool=name)
    assert (event.outcome, event.decision) == ("cancelled", "confirm")
    ending = str(deciding_gate(event).ending)
    assert ending == "It was cancelled while the user was asked whether it may run."
