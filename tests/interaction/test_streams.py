"""Streams and clients that leave: one response, the end, and the call's fate (D-039, 044)."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connections
from django.test.utils import override_settings

from mcp_app import Context, Progress, ToolError
from mcp_app.dispatch.interfaces import CallRecord
from mcp_app.dispatch.receipts import Receipt
from mcp_app.models import CallEvent
from mcp_app.testing import MCPClient
from mcp_app.transports.recording import recording_to
from tests.interaction import wire
from tests.interaction.conftest import MODERN, MakeToken, ready
from tests.interaction.tools import server

pytestmark = pytest.mark.django_db(transaction=True)

APPLICATIONS = [wire.endpoint_application, wire.django_application]
Serve = Callable[..., str]


class Stored:
    """What `MCP_APP["ON_CALL"]` was told: events that are committed."""

    def __init__(self) -> None:
        self._events: list[CallEvent] = []
        self._happened = threading.Condition()

    def __call__(self, event: CallEvent) -> None:
        with self._happened:
            self._events.append(event)
            self._happened.notify_all()

    async def of(self, tool: str) -> CallEvent:
        """The finished event of a tool."""
        return await asyncio.to_thread(self._wait, tool)

    def _wait(self, tool: str) -> CallEvent:
        with self._happened:
            assert self._happened.wait_for(lambda: self._find(tool), wire.PATIENCE)
            return self._find(tool)[0]

    def _find(self, tool: str) -> list[CallEvent]:
        return [event for event in self._events if event.tool == tool]


@pytest.fixture
def stored(lanes: None, settings: Any) -> Iterator[Stored]:
    """The events that have been committed, while real worker threads run the tools."""
    hook = Stored()
    with override_settings(MCP_APP={**settings.MCP_APP, "ON_CALL": [hook]}):
        yield hook


@pytest.fixture(params=APPLICATIONS, ids=["asgi", "django"])
def application(request: pytest.FixtureRequest) -> Any:
    """The two ways in that stream, as a server calls them."""
    return request.param()


@pytest.fixture
def client(make_token: MakeToken, lanes: None) -> MCPClient:
    """A modern client."""
    return MCPClient(make_token(), version=MODERN, server=server)


@pytest.fixture
def old_client(make_token: MakeToken, lanes: None) -> MCPClient:
    """A legacy client whose session is open."""
    client = MCPClient(make_token(), version="2025-11-25", server=server)
    client.initialize()
    return client


async def no_task_is_left() -> None:
    """Every task but the test's own comes to its end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        _, pending = await asyncio.wait(others, timeout=wire.PATIENCE)
        assert not pending


# --- a client that leaves ------------------------------------------------------------------------


def test_a_sync_tool_is_told_to_stop_and_its_writes_are_rolled_back(
    application: Any, client: MCPClient, stored: Stored, serve: Serve, django_user_model: Any
) -> None:
    gone = threading.Event()

    def write_slowly(ctx: Context) -> str:
        django_user_model.objects.create(username="half")
        ctx.report_progress(1)
        assert gone.wait(wire.PATIENCE)
        ctx.check_cancelled()
        return "unreachable"

    name = serve(write_slowly, atomic=True)

    async def scenario() -> CallEvent:
        line = wire.call(application, client, name)
        await line.until(lambda: line.events)
        await line.hang_up()
        gone.set()
        event = await stored.of(name)
        await no_task_is_left()
        assert line.after_hanging_up == 0
        return event

    event = async_to_sync(scenario)()
    assert (event.outcome, event.error_class) == ("cancelled", "Cancelled")
    assert event.duration_ms is not None
    assert CallEvent.objects.get(tool=name).outcome == "cancelled"
    assert not django_user_model.objects.filter(username="half").exists()


def test_the_servers_own_task_is_not_left_cancelled(
    client: MCPClient, stored: Stored, serve: Serve
) -> None:
    """It is a server's or a middleware's, whose time limits and groups would be misled."""
    gone = threading.Event()

    def wait(ctx: Context) -> None:
        ctx.report_progress(1)
        assert gone.wait(wire.PATIENCE)

    name = serve(wait)

    async def scenario() -> int:
        line = wire.call(wire.endpoint_application(), client, name)
        await line.until(lambda: line.events)
        await line.hang_up()
        gone.set()
        await stored.of(name)
        return line.task.cancelling()

    assert async_to_sync(scenario)() == 0


def test_a_sync_tool_that_never_looks_keeps_nothing_either(
    application: Any, client: MCPClient, stored: Stored, serve: Serve, django_user_model: Any
) -> None:
    gone = threading.Event()

    def write_blindly(ctx: Context) -> str:
        ctx.report_progress(1)
        assert gone.wait(wire.PATIENCE)
        django_user_model.objects.create(username="late")
        return "nobody hears it"

    name = serve(write_blindly, atomic=True)

    async def scenario() -> CallEvent:
        line = wire.call(application, client, name)
        await line.until(lambda: line.events)
        await line.hang_up()
        gone.set()
        return await stored.of(name)

    assert async_to_sync(scenario)().outcome == "cancelled"
    assert not django_user_model.objects.filter(username="late").exists()


def test_a_generator_stops_at_its_next_yield_and_cleans_up(
    application: Any, client: MCPClient, stored: Stored, serve: Serve
) -> None:
    gone, closed = threading.Event(), threading.Event()

    def walk() -> Generator[Progress, None, str]:
        try:
            yield Progress(1)
            assert gone.wait(wire.PATIENCE)
            yield Progress(2)
            return "unreachable"
        finally:
            closed.set()

    name = serve(walk)

    async def scenario() -> CallEvent:
        line = wire.call(application, client, name)
        await line.until(lambda: line.events)
        await line.hang_up()
        gone.set()
        return await stored.of(name)

    assert async_to_sync(scenario)().outcome == "cancelled"
    assert closed.is_set()


@pytest.mark.parametrize("kind", ["coroutine", "generator"])
def test_an_async_tool_is_cancelled_where_it_waits(
    application: Any, client: MCPClient, stored: Stored, serve: Serve, kind: str
) -> None:
    closed = threading.Event()

    async def wait(ctx: Context) -> str:
        try:
            ctx.report_progress(1)
            await asyncio.Event().wait()
            return "unreachable"
        finally:
            closed.set()

    async def walk() -> AsyncIterator[Progress | str]:
        try:
            yield Progress(1)
            await asyncio.Event().wait()
            yield "unreachable"
        finally:
            closed.set()

    name = serve(wait if kind == "coroutine" else walk)

    async def scenario() -> CallEvent:
        line = wire.call(application, client, name)
        await line.until(lambda: line.events)
        await line.hang_up()
        event = await stored.of(name)
        await no_task_is_left()
        return event

    event = async_to_sync(scenario)()
    assert event.outcome == "cancelled"
    assert closed.is_set()


@pytest.mark.parametrize("accept", ["application/json", "application/json, text/event-stream"])
def test_a_client_may_leave_before_anything_was_sent(
    application: Any, client: MCPClient, stored: Stored, serve: Serve, accept: str
) -> None:
    started = threading.Event()

    async def wait_silently() -> str:
        started.set()
        await asyncio.Event().wait()
        return "unreachable"

    name = serve(wait_silently)

    async def scenario() -> CallEvent:
        line = wire.call(application, client, name, accept=accept)
        await wire.reached(started)
        await line.hang_up()
        event = await stored.of(name)
        await no_task_is_left()
        assert not line.sent
        return event

    assert async_to_sync(scenario)().outcome == "cancelled"


def test_an_async_tool_whose_sync_code_does_not_come_back_holds_up_nobody(
    application: Any, client: MCPClient, stored: Stored, serve: Serve
) -> None:
    from asgiref.sync import sync_to_async

    started, release = threading.Event(), threading.Event()

    def block() -> None:
        started.set()
        release.wait(wire.PATIENCE)

    async def hand_over() -> str:
        await sync_to_async(block)()
        return "unreachable"

    name = serve(hand_over, timeout=0.1)

    async def scenario() -> list[Any]:
        line = wire.call(application, client, name)
        await line.end()
        assert not release.is_set()
        event = await stored.of(name)
        assert event.outcome == "timeout"
        release.set()
        return line.events

    (message,) = async_to_sync(scenario)()
    assert message["result"]["isError"]
    assert message["result"]["content"][0]["text"].startswith("The tool did not finish within 0.1")


def test_an_async_tool_that_swallows_its_cancellation_is_answered_for(
    application: Any, client: MCPClient, stored: Stored, serve: Serve
) -> None:
    async def stubborn(ctx: Context) -> str:
        release: asyncio.Event = releases[0]
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "at last"

    releases: list[asyncio.Event] = []
    name = serve(stubborn, timeout=0.1)

    async def scenario() -> list[Any]:
        releases.append(asyncio.Event())
        line = wire.call(application, client, name)
        try:
            await line.end()
            assert (await stored.of(name)).outcome == "timeout"
        finally:
            releases[0].set()
        await no_task_is_left()
        return line.events

    (message,) = async_to_sync(scenario)()
    assert message["result"]["isError"]
    assert CallEvent.objects.get(tool=name).outcome == "timeout"


@pytest.mark.parametrize("accept", ["application/json", "application/json, text/event-stream"])
@pytest.mark.parametrize("colour", ["sync", "async"])
def test_a_legacy_call_goes_on_without_its_client(
    application: Any,
    old_client: MCPClient,
    stored: Stored,
    serve: Serve,
    django_user_model: Any,
    colour: str,
    accept: str,
) -> None:
    started, gone = threading.Event(), threading.Event()

    def write() -> str:
        started.set()
        assert gone.wait(wire.PATIENCE)
        django_user_model.objects.create(username="whole")
        return "done"

    async def awrite() -> str:
        started.set()
        await wire.reached(gone)
        await django_user_model.objects.acreate(username="whole")
        return "done"

    name = serve(write if colour == "sync" else awrite)

    async def scenario() -> CallEvent:
        line = wire.call(application, old_client, name, accept=accept)
        await wire.reached(started)
        await line.hang_up()
        gone.set()
        event = await stored.of(name)
        await no_task_is_left()
        assert line.after_hanging_up == 0
        return event

    assert async_to_sync(scenario)().outcome == "ok"
    assert django_user_model.objects.filter(username="whole").exists()


def test_a_client_that_leaves_while_it_sends_is_forgotten(client: MCPClient) -> None:
    async def scenario() -> list[Any]:
        received = [{"type": "http.request", "body": b"{", "more_body": True}]
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return received.pop() if received else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        line = wire.call(wire.endpoint_application(), client, "add")
        scope = wire._scope(
            "POST", "/mcp", {"content-type": "application/json", "host": "localhost"}
        )
        await wire.endpoint_application()(scope, receive, send)
        await line.end()
        return sent

    assert async_to_sync(scenario)() == []


# --- how a stream ends ---------------------------------------------------------------------------


def at_once() -> str:
    return "at once"


def raising(ctx: Context) -> str:
    ctx.report_progress(1)
    raise RuntimeError("secret")


def refusing() -> Iterator[Progress | str]:
    yield Progress(1)
    raise ToolError("Stock is empty")


async def endless_generator() -> AsyncIterator[Progress | str]:
    yield Progress(1)


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        (at_once, "at once"),
        (raising, "The tool failed."),
        (refusing, "Stock is empty"),
        (endless_generator, "The tool failed."),
    ],
)
@pytest.mark.parametrize("accept", ["text/event-stream", "application/json, text/event-stream"])
def test_a_stream_holds_one_response_and_ends(
    application: Any, client: MCPClient, serve: Serve, tool: Any, text: str, accept: str
) -> None:
    name = serve(tool, read_only=True)

    async def scenario() -> list[Any]:
        line = wire.call(application, client, name, accept=accept)
        await line.end()
        assert not line.sent[-1].get("more_body", False)
        await no_task_is_left()
        return line.events

    *notifications, response = async_to_sync(scenario)()
    assert all(message["method"] == "notifications/progress" for message in notifications)
    assert response["result"]["content"][0]["text"].startswith(text)


def silent(serve: Serve) -> tuple[str, threading.Event]:
    """A tool that says nothing until it is released."""
    release = threading.Event()

    def quiet() -> str:
        assert release.wait(wire.PATIENCE)
        return "done"

    return serve(quiet, read_only=True), release


def test_a_silent_stream_says_that_it_lives(
    application: Any, client: MCPClient, serve: Serve, settings: Any
) -> None:
    name, release = silent(serve)

    async def scenario() -> list[Any]:
        line = wire.call(application, client, name)
        await line.until(lambda: len(line.sent) > 2)
        assert all(message["body"].startswith(b":") for message in line.sent[1:])
        release.set()
        await line.end()
        return line.events

    with override_settings(MCP_APP={**settings.MCP_APP, "KEEP_ALIVE": 0.02}):
        (response,) = async_to_sync(scenario)()
    assert response["result"]["content"][0]["text"] == "done"


def test_the_first_silence_is_no_longer_than_the_others(
    application: Any, client: MCPClient, serve: Serve, settings: Any
) -> None:
    name, release = silent(serve)

    async def scenario() -> float:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        line = wire.call(application, client, name)
        await line.until(lambda: line.sent)
        seconds = loop.time() - begun
        release.set()
        await line.end()
        return seconds

    with override_settings(MCP_APP={**settings.MCP_APP, "KEEP_ALIVE": 1.5}):
        assert 1.4 < async_to_sync(scenario)() < 2.9


def test_refused_messages_of_a_batch_are_all_recorded_although_their_client_leaves(
    application: Any, make_token: MakeToken, lanes: None
) -> None:
    client = ready(MCPClient(make_token(), version="2025-03-26", server=server))
    recorder = Waiting()
    batch: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": number, "method": 5} for number in range(3)
    ]

    async def scenario() -> None:
        line = wire.send(application, client, batch)
        await asyncio.to_thread(recorder.arrived.wait, wire.PATIENCE)
        await line.hang_up()
        recorder.open()
        await no_task_is_left()

    with recording_to(recorder):
        async_to_sync(scenario)()
    assert len(recorder.records) == 3


class Waiting:
    """A recorder that commits nothing until it is opened."""

    def __init__(self) -> None:
        self.records: list[CallRecord] = []
        self.arrived = threading.Event()
        self._receipts: list[Receipt] = []
        self._is_open = False

    def submit(self, record: CallRecord) -> Receipt:
        receipt = Receipt()
        self.records.append(record)
        self._receipts.append(receipt)
        if self._is_open:
            receipt.settle(True)
        self.arrived.set()
        return receipt

    def open(self) -> None:
        """Commit what came, and what is to come."""
        self._is_open = True
        for receipt in self._receipts:
            receipt.settle(True)


def test_a_stream_is_neither_buffered_nor_cached_nor_measured(
    application: Any, client: MCPClient
) -> None:
    async def scenario() -> dict[str, str]:
        line = wire.call(application, client, "steps")
        await line.end()
        return {name.decode().lower(): value.decode() for name, value in line.sent[0]["headers"]}

    headers = async_to_sync(scenario)()
    assert headers["content-type"] == "text/event-stream"
    assert "no-cache" in headers["cache-control"]
    assert headers["x-accel-buffering"] == "no"
    assert "content-length" not in headers


def test_an_idle_stream_holds_no_connection_in_the_thread_of_the_loop(
    application: Any, client: MCPClient, stored: Stored, serve: Serve
) -> None:
    gate: list[asyncio.Event] = []

    async def idle(ctx: Context) -> str:
        ctx.report_progress(1)
        await gate[0].wait()
        return "done"

    name = serve(idle, read_only=True)

    async def scenario() -> None:
        gate.append(asyncio.Event())
        line = wire.call(application, client, name)
        await line.until(lambda: line.events)
        open_here = [c for c in connections.all(initialized_only=True) if c.connection is not None]
        before = len(open_here)
        gate[0].set()
        await line.end()
        assert before == 0

    connections.close_all()
    async_to_sync(scenario)()
