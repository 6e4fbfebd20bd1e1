"""Handshake sessions: streams that are resumed, calls that are cancelled (D-047, 048, 104)."""

import threading
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from mcp_app import Context
from mcp_app.models import CallEvent, StreamEvent
from mcp_app.testing import MCPClient
from tests.interaction import wire
from tests.interaction.conftest import MODERN, MakeToken
from tests.interaction.tools import server

pytestmark = pytest.mark.django_db(transaction=True)


def session_of(token: str, version: str = "2025-11-25") -> MCPClient:
    """A client whose session is open."""
    client = MCPClient(token, version=version, server=server)
    client.initialize()
    return client


def ready(application: Any, client: MCPClient, name: str) -> wire.Line:
    """Begin a call."""
    return wire.call(application, client, name)


@pytest.fixture
def slow(serve: Any) -> Any:
    """A tool that reports, waits to be let go on, and reports again."""
    go_on = threading.Event()

    def slow(ctx: Context) -> str:
        """Take a while."""
        ctx.report_progress(1)
        assert go_on.wait(wire.PATIENCE)
        ctx.check_cancelled()
        ctx.report_progress(2)
        return "done"

    serve(slow, read_only=True)
    return go_on


@pytest.mark.parametrize(
    ("version", "primes", "numbers"),
    [
        ("2025-11-25", True, True),
        ("2025-06-18", False, True),
        ("2025-03-26", False, True),
        (MODERN, False, False),
    ],
)
def test_only_one_revision_is_primed_and_the_modern_one_has_no_ids(
    make_token: MakeToken, lanes: None, version: str, primes: bool, numbers: bool
) -> None:
    client = MCPClient(make_token(), version=version, server=server)
    if version != MODERN:
        client.initialize()

    async def scenario() -> wire.Line:
        line = wire.call(wire.endpoint_application(), client, "steps")
        await line.end()
        return line

    line = async_to_sync(scenario)()
    assert ("data: \n" in line.text) == primes
    assert ("retry: " in line.text) == primes
    assert bool(line.event_ids) == numbers
    assert line.events[0]["method"] == "notifications/progress"
    assert line.events[-1]["result"]["content"][0]["text"] == "done"


def test_a_broken_stream_is_resumed_where_it_broke_off(
    make_token: MakeToken, lanes: None, slow: threading.Event
) -> None:
    client = session_of(make_token())
    application = wire.endpoint_application()

    async def scenario() -> wire.Line:
        line = wire.call(application, client, "slow")
        await line.until(lambda: line.events)
        last = line.event_ids[-1]
        await line.hang_up()
        again = wire.send(application, client, None, method="GET", last_event_id=last)
        await again.until(lambda: again.text)
        slow.set()
        await again.end()
        return again

    again = async_to_sync(scenario)()
    progress, response = again.events
    assert progress["params"]["progress"] == 2
    assert response["result"]["content"][0]["text"] == "done"
    assert CallEvent.objects.get(tool="slow").outcome == "ok"


def test_a_call_that_has_told_nothing_lets_its_client_go_at_once(
    make_token: MakeToken, lanes: None, serve: Any
) -> None:
    go_on = threading.Event()

    def leaves(ctx: Context) -> str:
        ctx.close_stream(retry_ms=10)
        assert go_on.wait(wire.PATIENCE)
        return "done"

    serve(leaves, read_only=True)
    client = session_of(make_token())
    application = wire.endpoint_application()

    async def scenario() -> wire.Line:
        line = wire.call(application, client, "leaves")
        await line.end()
        assert "retry: 10" in line.text
        assert not go_on.is_set()
        last = line.event_ids[-1]
        again = wire.send(application, client, None, method="GET", last_event_id=last)
        go_on.set()
        await again.end()
        return again

    (response,) = async_to_sync(scenario)().events
    assert response["result"]["content"][0]["text"] == "done"


def test_nobody_resumes_the_stream_of_another_session(
    make_token: MakeToken, lanes: None, user: Any
) -> None:
    first, second = session_of(make_token()), session_of(make_token(name="phone"))
    application = wire.endpoint_application()

    async def stream() -> list[str]:
        line = wire.call(application, first, "steps")
        await line.end()
        return line.event_ids

    ids = async_to_sync(stream)()
    assert StreamEvent.objects.count() == len(ids) - 1  # all but the priming one

    async def resume(client: MCPClient, last: str) -> wire.Line:
        line = wire.send(application, client, None, method="GET", last_event_id=last)
        await line.end()
        return line

    for foreign in (ids[1], ids[0], "-1", "nonsense.1", f"{'x' * 22}.1", f"{'x' * 22}.0"):
        refused = async_to_sync(resume)(second, foreign)
        assert refused.status == 400
        assert "done" not in refused.text
    assert "done" in async_to_sync(resume)(first, ids[1]).text


def test_a_stream_that_broke_off_before_its_first_event_is_resumed(
    make_token: MakeToken, lanes: None, settings: Any, slow: threading.Event
) -> None:
    """As many as the user may hold open, and no more."""
    settings.MCP_APP = {**settings.MCP_APP, "STREAM_LIMIT": 2}
    client = session_of(make_token())
    application = wire.endpoint_application()

    async def scenario() -> tuple[list[wire.Line], wire.Line]:
        line = wire.call(application, client, "slow")
        await line.until(lambda: line.events)
        primed = line.event_ids[0]
        assert primed.endswith(".0")
        await line.hang_up()
        lines = [
            wire.send(application, client, None, method="GET", last_event_id=primed)
            for _ in range(2)
        ]
        for each in lines:
            await each.until(lambda each=each: each.events)
        more = wire.send(application, client, None, method="GET", last_event_id=primed)
        await more.end()
        slow.set()
        for each in lines:
            await each.end()
        return lines, more

    lines, more = async_to_sync(scenario)()
    assert [line.events[-1]["result"]["content"][0]["text"] for line in lines] == ["done"] * 2
    assert more.status == 429


def test_a_call_is_cancelled_within_its_own_session_alone(
    make_token: MakeToken, lanes: None, slow: threading.Event
) -> None:
    first, second = session_of(make_token()), session_of(make_token(name="phone"))
    application = wire.endpoint_application()

    async def scenario() -> tuple[wire.Line, wire.Line]:
        lines = [wire.call(application, client, "slow") for client in (first, second)]
        for line in lines:
            await line.until(lambda line=line: line.events)
        for wrong in ("1", True, 99):
            await cancel(first, wrong)
        await cancel(first, 1)
        slow.set()
        for line in lines:
            await line.end()
        return lines[0], lines[1]

    async def cancel(client: MCPClient, request_id: Any) -> None:
        message = {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": request_id},
        }
        answer = await sync_to_async(client.post)(message)
        assert (answer.status, answer.body) == (202, b"")

    cancelled, other = async_to_sync(scenario)()
    assert [event for event in cancelled.events if "result" in event] == []
    assert cancelled.events[0]["params"]["progress"] == 1
    assert other.events[-1]["result"]["content"][0]["text"] == "done"
    outcomes = CallEvent.objects.filter(tool="slow").values_list("outcome", flat=True)
    assert sorted(outcomes) == ["cancelled", "ok"]
