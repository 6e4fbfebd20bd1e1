"""A call that waits for a person's agreement: in the log meanwhile, and ended by whoever may."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from mcp_app import Context
from mcp_app.audit.gates import deciding_gate
from mcp_app.auth.tokens import revoke
from mcp_app.dispatch.context import Cancellation
from mcp_app.dispatch.interfaces import CallRecord
from mcp_app.dispatch.receipts import Receipt
from mcp_app.hooks import confirm, deny
from mcp_app.models import CallEvent, Token
from mcp_app.testing import MCPClient, accept
from mcp_app.transports import stopping
from mcp_app.transports.recording import recorder, recording_to
from tests.interaction import wire
from tests.interaction.conftest import LEGACY, MODERN, Counted, MakeClient, MakeToken
from tests.interaction.tools import server

ABLE = {"elicitation": {}}
YES = {"action": "accept", "content": {}}
NO = {"action": "decline"}
KINDS = ["writes", "reads", "async"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client(make_token: MakeToken, lanes: None) -> MCPClient:
    """An older client whose user can be asked."""
    client = MCPClient(make_token(), version="2025-11-25", server=server, capabilities=ABLE)
    client.initialize()
    return client


@pytest.fixture(params=KINDS)
def asking(request: pytest.FixtureRequest, serve: Any) -> Counted:
    """A tool that a person has to agree to."""

    def now() -> None:
        tool.runs += 1

    async def later() -> None:
        tool.runs += 1

    kind = request.param
    function = later if kind == "async" else now
    tool = Counted(serve(function, read_only=kind == "reads", confirm="Really?"))
    return tool


def row() -> CallEvent:
    """The one call of the log."""
    return CallEvent.objects.get(method="tools/call")


def while_asked(
    client: MCPClient, name: str, meanwhile: Callable[[wire.Line], Awaitable[Any]]
) -> wire.Line:
    """The line of a call, of which something happens while its user is asked."""

    async def scenario() -> wire.Line:
        line = wire.call(wire.endpoint_application(), client, name)
        await line.until(lambda: line.events)
        assert line.events[-1]["method"] == "elicitation/create"
        await meanwhile(line)
        await line.end()
        return line

    return async_to_sync(scenario)()


async def answer(client: MCPClient, line: wire.Line, result: Any) -> None:
    """Answer what was asked last."""
    told = {"jsonrpc": "2.0", "id": line.events[-1]["id"], "result": result}
    await wire.send(wire.endpoint_application(), client, told).end()


@pytest.mark.parametrize(("said", "outcome", "runs"), [(YES, "ok", 1), (NO, "denied", 0)])
def test_it_waits_in_the_log_and_ends_in_the_same_row(
    client: MCPClient, asking: Counted, said: Any, outcome: str, runs: int
) -> None:
    waiting: list[CallEvent] = []

    async def meanwhile(line: wire.Line) -> None:
        waiting.append(await sync_to_async(row)())
        await answer(client, line, said)

    while_asked(client, asking.name, meanwhile)
    (before,) = waiting
    assert (before.outcome, before.decision, before.duration_ms) == ("waiting", "confirm", None)
    assert str(deciding_gate(before).told) == "A person is asked to agree before it runs."
    after = row()
    assert (after.pk, after.outcome, after.decision) == (before.pk, outcome, "confirm")
    assert after.duration_ms is not None
    assert asking.runs == runs


def test_it_is_told_to_run_once_its_user_has_agreed(client: MCPClient, serve: Any) -> None:
    seen: list[str] = []

    def look() -> None:
        seen.append(row().outcome)

    for read_only in (True, False):
        name = serve(look, read_only=read_only, confirm="Really?")
        while_asked(client, name, lambda line: answer(client, line, YES))
        server.remove(name)
        CallEvent.objects.all().delete()
    assert seen == ["started", "started"]


def test_an_administrator_stops_it(client: MCPClient, asking: Counted) -> None:
    async def stopped(line: wire.Line) -> None:
        correlation_id = (await sync_to_async(row)()).correlation_id
        assert await sync_to_async(stopping.find)(correlation_id)
        assert await sync_to_async(stopping.stop)(correlation_id, "boss")

    line = while_asked(client, asking.name, stopped)
    assert line.events[-1]["result"]["content"][0]["text"] == "An administrator stopped the tool."
    event = row()
    assert (event.outcome, event.error_text) == ("cancelled", "stopped by boss")
    assert stopping.find(event.correlation_id) is None
    assert asking.runs == 0


@pytest.mark.parametrize("asks", ["before", "during"])
def test_a_question_and_its_answer_undo_no_stop(asks: str) -> None:
    """An async tool's clock is stopped while it asks, and starts again with the answer."""

    async def scenario() -> None:
        cancellation = Cancellation()
        cancellation.deadline = time.monotonic() + 60
        async with asyncio.timeout(60) as clock:
            cancellation.interrupt(clock)
            if asks == "before":
                cancellation.stop("boss")
            with cancellation.paused():
                cancellation.stop("boss")
            await asyncio.sleep(wire.PATIENCE)

    began = time.monotonic()
    with pytest.raises(TimeoutError):
        async_to_sync(scenario)()
    assert time.monotonic() - began < wire.PATIENCE / 2


def test_its_client_withdraws_it(client: MCPClient, asking: Counted) -> None:
    async def withdrawn(line: wire.Line) -> None:
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        message = cancelled | {"params": {"requestId": 1}}
        await wire.send(wire.endpoint_application(), client, message).end()

    line = while_asked(client, asking.name, withdrawn)
    assert not [event for event in line.events if "result" in event]
    assert row().outcome == "cancelled"
    told = "It was cancelled while the user was asked whether it may run."
    assert str(deciding_gate(row()).ending) == told
    assert asking.runs == 0


def test_nobody_answers_in_time(client: MCPClient, asking: Counted, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "INPUT_TIMEOUT": 0.1}

    async def nothing(line: wire.Line) -> None: ...

    while_asked(client, asking.name, nothing)
    assert (row().outcome, row().decision) == ("denied", "confirm")
    assert "Nobody answered in time" in row().error_text
    assert asking.runs == 0


def test_what_is_denied_after_the_answer_ends_the_row(
    client: MCPClient, counted: Counted, settings: Any
) -> None:
    verdicts = [confirm("Really?"), deny("The market has closed.")]
    hook = [lambda ctx, tool, arguments: verdicts.pop(0)]
    settings.MCP_APP = {**settings.MCP_APP, "BEFORE_CALL": hook}
    while_asked(client, counted.name, lambda line: answer(client, line, YES))
    assert (row().outcome, row().decision) == ("denied", "deny")
    assert row().duration_ms is not None
    assert counted.runs == 0


# --- the call log away ---------------------------------------------------------------------------


class Losing:
    """The recorder, whose database is away for those records that are answered so."""

    def __init__(self, *answers: bool) -> None:
        self._answers = list(answers)
        self._recorder = recorder()

    def submit(self, record: CallRecord) -> Receipt:
        if not self._answers or self._answers.pop(0):
            return self._recorder.submit(record)
        lost = Receipt()
        lost.settle(False)
        return lost


@pytest.mark.parametrize("asking", ["writes", "async"], indirect=True)
def test_where_the_audit_is_required_nobody_is_asked_without_it(
    client: MCPClient, asking: Counted, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "AUDIT_REQUIRED": True}

    async def scenario() -> list[Any]:
        line = wire.call(wire.endpoint_application(), client, asking.name)
        await line.end()
        return line.events

    with recording_to(Losing(False)):
        (told,) = async_to_sync(scenario)()
    assert "could not be recorded" in told["error"]["message"]
    assert asking.runs == 0
    assert row().outcome == "failed"


@pytest.mark.parametrize("asking", ["writes", "async"], indirect=True)
def test_where_the_audit_is_required_nothing_runs_that_lost_it_while_its_user_thought(
    client: MCPClient, asking: Counted, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "AUDIT_REQUIRED": True}
    with recording_to(Losing(True, False)):
        line = while_asked(client, asking.name, lambda line: answer(client, line, YES))
    assert "could not be recorded" in line.events[-1]["error"]["message"]
    assert asking.runs == 0
    assert row().outcome == "failed"


@pytest.mark.parametrize(
    ("asking", "required"),
    [("writes", False), ("async", False), ("reads", False), ("reads", True)],
    indirect=["asking"],
)
def test_elsewhere_it_is_asked_and_runs_all_the_same(
    client: MCPClient, asking: Counted, settings: Any, required: bool
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "AUDIT_REQUIRED": required}
    with recording_to(Losing(False)):
        while_asked(client, asking.name, lambda line: answer(client, line, YES))
    assert asking.runs == 1
    assert row().outcome == "ok"


# --- a client that leaves -------------------------------------------------------------------------


@pytest.fixture
def ended(settings: Any) -> threading.Event:
    """Set once the end of a call is in the log."""
    event = threading.Event()
    settings.MCP_APP = {**settings.MCP_APP, "ON_CALL": [lambda row: event.set()]}
    return event


def test_it_waits_on_for_a_client_that_can_come_back(client: MCPClient, asking: Counted) -> None:
    async def scenario() -> wire.Line:
        line = wire.call(wire.endpoint_application(), client, asking.name)
        await line.until(lambda: line.events)
        await line.hang_up()
        assert (await sync_to_async(row)()).outcome == "waiting"
        back = wire.send(
            wire.endpoint_application(), client, None, method="GET", last_event_id=line.event_ids[0]
        )
        await back.until(lambda: back.events)
        await answer(client, back, YES)
        await back.end()
        return back

    line = async_to_sync(scenario)()
    assert [event.get("method") for event in line.events] == ["elicitation/create", None]
    assert "isError" not in line.events[-1]["result"]
    assert (row().outcome, asking.runs) == ("ok", 1)


@pytest.fixture
def slow_hook(settings: Any) -> "tuple[threading.Event, threading.Event]":
    """A hook that is asked, and says at last that a person has to agree."""
    asked, go_on = threading.Event(), threading.Event()

    def hook(ctx: Any, tool: Any, arguments: Any) -> Any:
        asked.set()
        assert go_on.wait(wire.PATIENCE)
        return confirm("Really?")

    settings.MCP_APP = {**settings.MCP_APP, "BEFORE_CALL": [hook]}
    return asked, go_on


@pytest.mark.parametrize("version", LEGACY)
def test_who_left_before_the_question_is_not_waited_for(
    make_token: MakeToken,
    lanes: None,
    counted: Counted,
    slow_hook: "tuple[threading.Event, threading.Event]",
    ended: threading.Event,
    version: str,
) -> None:
    client = MCPClient(make_token(), version=version, server=server, capabilities=ABLE)
    client.initialize()
    asked, go_on = slow_hook

    async def scenario() -> None:
        line = wire.call(wire.endpoint_application(), client, counted.name)
        await wire.reached(asked)
        await line.hang_up()
        go_on.set()
        await wire.reached(ended)

    async_to_sync(scenario)()
    assert (row().outcome, row().decision) == ("denied", "confirm")
    assert "The client left before it could be asked." in row().error_text
    assert "The user could not be asked" in str(deciding_gate(row()).ending)
    assert counted.runs == 0


def test_no_thread_waits_for_who_left_before_a_tool_asked(
    client: MCPClient, serve: Any, ended: threading.Event
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def asks(ctx: Context) -> str:
        begun.set()
        assert go_on.wait(wire.PATIENCE)
        return str(ctx.elicit("Who?", {"type": "object", "properties": {}}))

    name = serve(asks)

    async def scenario() -> None:
        line = wire.call(wire.endpoint_application(), client, name)
        await wire.reached(begun)
        await line.hang_up()
        go_on.set()
        await wire.reached(ended)

    async_to_sync(scenario)()
    assert (row().outcome, row().error_text) == (
        "error",
        "The client left before it could be asked.",
    )


ENDS: dict[str, Callable[[MCPClient], object]] = {
    "token": lambda client: revoke(Token.objects.get()),
    "session": lambda client: client.end_session().status == 204,
}


@pytest.mark.parametrize("what", ENDS)
def test_who_has_left_is_waited_for_as_long_as_they_may_come_back(
    client: MCPClient, asking: Counted, settings: Any, ended: threading.Event, what: str
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "KEEP_ALIVE": 0.1}

    async def scenario() -> None:
        line = wire.call(wire.endpoint_application(), client, asking.name)
        await line.until(lambda: line.events)
        await line.hang_up()
        assert await sync_to_async(ENDS[what])(client) is not False
        await wire.reached(ended)

    async_to_sync(scenario)()
    assert row().outcome == "cancelled"
    assert asking.runs == 0


# --- where nobody is waited for ------------------------------------------------------------------


def test_each_round_of_the_newest_revision_is_a_row_of_its_own(
    make_client: MakeClient, lanes: None, asking: Counted
) -> None:
    client = make_client(MODERN, answers=accept())
    assert not client.call(asking.name).is_error
    told = CallEvent.objects.order_by("pk").values_list("outcome", "decision")
    assert list(told) == [("asked", "confirm"), ("ok", "confirm")]
