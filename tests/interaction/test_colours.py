"""Every colour of tool works through every door and blocks no loop (D-042, 088)."""

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable, Generator
from typing import Any

import pytest
from asgiref.sync import async_to_sync, iscoroutinefunction, sync_to_async
from django.contrib.auth import get_user_model
from django.core.exceptions import SynchronousOnlyOperation
from django.db import connection, transaction
from django.test.utils import override_settings
from django.utils.decorators import sync_only_middleware

from mcp_app import Context, Progress
from mcp_app.models import CallEvent
from mcp_app.testing import MCPClient
from mcp_app.work.lanes import WRITE
from tests.interaction import wire
from tests.interaction.conftest import MODERN, MakeClient, MakeToken
from tests.interaction.tools import server

User = get_user_model()
Serve = Callable[..., str]


def sync_orm() -> int:
    return User.objects.count()


async def async_orm() -> int:
    return await User.objects.acount()


def sync_to_async_and_back() -> int:
    async def count() -> int:
        return await User.objects.acount()

    return async_to_sync(count)()


def sync_into_async_into_sync() -> int:
    async def count() -> int:
        return await sync_to_async(User.objects.count)()

    with transaction.atomic():
        User.objects.create(username="inside")
        seen = async_to_sync(count)()
        transaction.set_rollback(True)
    # The async code saw what this thread's transaction holds.
    return seen - 1


async def async_calling_sync() -> int:
    return await sync_to_async(User.objects.count)()


async def async_calling_sync_in_any_thread() -> int:
    def count() -> int:
        try:
            return User.objects.count()
        finally:
            connection.close()

    return await sync_to_async(count, thread_sensitive=False)()


async def async_calling_sync_twice_in_one_thread() -> int:
    first = await sync_to_async(threading.get_ident)()
    second = await sync_to_async(threading.get_ident)()
    assert first == second
    return await User.objects.acount()


async def async_with_tasks() -> int:
    async with asyncio.TaskGroup() as group:
        counts = [group.create_task(User.objects.acount()) for _ in range(3)]
    (count,) = {task.result() for task in counts}
    return count


async def async_with_sync_transaction() -> int:
    @sync_to_async
    def work() -> int:
        with transaction.atomic():
            return User.objects.count()

    return await work()


def sync_generator() -> Generator[Progress, None, int]:
    yield Progress(User.objects.count())
    return User.objects.count()


async def async_generator() -> AsyncIterator[Progress | int]:
    yield Progress(1)
    yield await User.objects.acount()


async def async_iteration() -> AsyncIterator[Progress | int]:
    count = 0
    async for user in User.objects.all():
        count += 1
        yield Progress(user.pk)
    yield count


def lazy_rows() -> Any:
    return User.objects.values("username")


async def async_lazy_rows() -> Any:
    return User.objects.values("username")


COUNTING = [
    sync_orm,
    async_orm,
    sync_to_async_and_back,
    sync_into_async_into_sync,
    async_calling_sync,
    async_calling_sync_in_any_thread,
    async_calling_sync_twice_in_one_thread,
    async_with_tasks,
    async_with_sync_transaction,
    sync_generator,
    async_generator,
    async_iteration,
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("read_only", [True, False], ids=["read", "write"])
def test_every_colour_works_through_every_door(
    make_client: MakeClient, lanes: None, serve: Serve, read_only: bool
) -> None:
    client = make_client()
    for tool in COUNTING:
        # A write inside a rolled back savepoint is a write; only a tool that says so may try.
        if read_only and tool is sync_into_async_into_sync:
            continue
        answer = client.call(serve(tool, read_only=read_only, name=f"{tool.__name__}_{read_only}"))
        assert answer.text == "1", tool.__name__
    for tool in (lazy_rows, async_lazy_rows):
        answer = client.call(serve(tool, read_only=read_only, name=f"{tool.__name__}_{read_only}"))
        assert answer.text == '[{"username":"ada"}]', tool.__name__


@pytest.mark.parametrize("tool", [sync_orm, sync_generator, sync_to_async_and_back, lazy_rows])
def test_sync_tools_work_in_a_tests_own_transaction(
    make_client: MakeClient, serve: Serve, tool: Any
) -> None:
    answer = make_client().call(serve(tool, read_only=True))
    assert answer.text in ("1", '[{"username":"ada"}]')


def test_the_orm_in_async_code_is_refused_in_words_for_the_log_alone(
    make_client: MakeClient, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async def blocking() -> int:
        return User.objects.count()

    answer = make_client().call(serve(blocking, read_only=True))
    assert answer.text.startswith("The tool failed")
    assert CallEvent.objects.get(tool="blocking").error_class == SynchronousOnlyOperation.__name__
    assert "SynchronousOnlyOperation" in caplog.text


def test_a_coroutine_returned_by_a_sync_tool_is_a_failure_and_not_a_crash(
    make_client: MakeClient, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async def later() -> int:
        return 1

    kept = []

    def forgot_to_await() -> Any:
        kept.append(later())
        return kept[0]

    answer = make_client().call(serve(forgot_to_await, read_only=True))
    kept[0].close()
    assert answer.text.startswith("The tool failed")
    assert "coroutine" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_context_variables_of_the_host_reach_every_colour(
    make_token: MakeToken, lanes: None, serve: Serve, settings: Any
) -> None:
    """Languages and trace ids travel in context variables."""
    settings.MIDDLEWARE = ["tests.interaction.test_colours.marking"]

    def read_sync() -> str:
        return mark.get()

    async def read_async() -> str:
        return mark.get()

    names = [serve(read_sync, read_only=True), serve(read_sync, name="w"), serve(read_async)]
    for door in ("view", "async view"):
        client = MCPClient(make_token(), door=door, server=server)
        assert [client.call(name).text for name in names] == ["marked"] * 3


mark: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="none")


@sync_only_middleware
def marking(get_response: Any) -> Any:
    """A host's middleware that knows no async."""

    def middleware(request: Any) -> Any:
        mark.set("marked")
        return get_response(request)

    return middleware


@pytest.mark.django_db(transaction=True)
def test_a_sync_middleware_of_the_host_does_not_take_the_tools_thread_along(
    make_token: MakeToken, lanes: None, serve: Serve, settings: Any
) -> None:
    """Django gives async code the middleware's thread, which is gone once a stream has begun."""
    settings.MIDDLEWARE = ["tests.interaction.test_colours.marking"]
    client = MCPClient(make_token(), version=MODERN, server=server)
    begun: list[asyncio.Event] = []

    async def ask_after_the_stream_began(ctx: Context) -> int:
        ctx.report_progress(1)
        await begun[0].wait()
        return await User.objects.acount()

    name = serve(ask_after_the_stream_began)

    async def scenario() -> list[Any]:
        begun.append(asyncio.Event())
        line = wire.call(wire.django_application(), client, name)
        await line.until(lambda: line.events)
        begun[0].set()
        await line.end()
        return line.events

    *_, response = async_to_sync(scenario)()
    assert response["result"]["content"][0]["text"] == "1"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("make", [wire.endpoint_application, wire.django_application])
def test_a_sync_tool_does_not_block_the_event_loop(
    make_token: MakeToken, lanes: None, serve: Serve, make: Any
) -> None:
    client = MCPClient(make_token(), version=MODERN, server=server)
    started, release = threading.Event(), threading.Event()

    def hold() -> str:
        started.set()
        assert release.wait(wire.PATIENCE)
        return "held"

    name = serve(hold, read_only=True)

    async def scenario() -> tuple[list[Any], list[Any]]:
        slow = wire.call(make(), client, name)
        await wire.reached(started)
        quick = wire.call(make(), client, "count_users")
        await quick.end()
        assert not slow.task.done()
        release.set()
        await slow.end()
        return slow.events, quick.events

    slow, quick = async_to_sync(scenario)()
    assert slow[0]["result"]["content"][0]["text"] == "held"
    assert quick[0]["result"]["content"][0]["text"] == "1"


# --- tools that never return ---------------------------------------------------------------------


@pytest.mark.parametrize("door", ["async view", "asgi"])
@pytest.mark.parametrize("read_only", [True, False], ids=["read", "write"])
@pytest.mark.django_db(transaction=True)
def test_a_sync_tool_over_its_limit_is_answered_for_and_keeps_nothing(
    make_token: MakeToken, lanes: None, serve: Serve, door: Any, read_only: bool
) -> None:
    release, ended = threading.Event(), threading.Event()

    def hang() -> str:
        try:
            assert release.wait(wire.PATIENCE)
            if not read_only:
                User.objects.create(username="late")
            return "late"
        finally:
            ended.set()

    # An open SQLite transaction would keep the event waiting, and the answer with it.
    atomic = not read_only and connection.vendor != "sqlite"
    name = serve(hang, timeout=0.1, read_only=read_only, atomic=atomic)
    answer = MCPClient(make_token(), door=door, server=server).call(name)
    assert answer.is_error
    assert answer.text == "The tool did not finish within 0.1 seconds."
    event = CallEvent.objects.get(tool=name)
    assert (event.outcome, event.error_class) == ("timeout", "TimeLimitReached")
    assert event.duration_ms >= 100
    release.set()
    assert ended.wait(wire.PATIENCE)
    async_to_sync(WRITE.run)(lambda: None)
    assert CallEvent.objects.get(tool=name).outcome == "timeout"
    assert not (atomic and User.objects.filter(username="late").exists())


def test_a_generator_over_its_limit_stops_at_its_next_yield_through_every_door(
    make_client: MakeClient, serve: Serve
) -> None:
    def endless() -> Generator[Progress, None, str]:
        number = 0
        while True:
            number += 1
            yield Progress(number)

    name = serve(endless, timeout=0.05, read_only=True)
    answer = make_client().call(name)
    assert answer.text == "The tool did not finish within 0.05 seconds."
    assert CallEvent.objects.get(tool=name).outcome == "timeout"


@pytest.mark.parametrize("shape", ["coroutine", "generator"])
def test_an_async_tool_over_its_limit_is_cancelled_through_every_door(
    make_client: MakeClient, serve: Serve, shape: str
) -> None:
    cleaned = []

    async def sleep() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)
        return "late"

    async def walk() -> AsyncIterator[Progress | str]:
        try:
            while True:
                yield Progress(1)
                await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    name = serve(sleep if shape == "coroutine" else walk, timeout=0.05)
    answer = make_client().call(name)
    assert answer.text == "The tool did not finish within 0.05 seconds."
    assert CallEvent.objects.get(tool=name).outcome == "timeout"
    assert cleaned == [True]


@pytest.mark.django_db(transaction=True)
def test_a_lazy_result_counts_towards_the_time_limit(
    make_token: MakeToken, lanes: None, serve: Serve
) -> None:
    release = threading.Event()

    def rows() -> Any:
        yield 1
        release.wait(wire.PATIENCE)

    def lazily() -> Any:
        return rows()

    async def alazily() -> Any:
        return rows()

    names = [serve(lazily, timeout=0.1, read_only=True), serve(alazily, timeout=0.1)]
    client = MCPClient(make_token(), door="asgi", server=server)
    texts = [client.call(name).text for name in names]
    release.set()
    assert texts == ["The tool did not finish within 0.1 seconds."] * 2


# --- what a tool leaves behind in its thread -----------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_a_tool_left_open_does_not_swallow_the_next_calls_writes(
    make_token: MakeToken, lanes: None, serve: Serve
) -> None:
    def leak() -> str:
        transaction.atomic().__enter__()
        User.objects.create(username="leaked")
        return "left open"

    def write(name: str) -> str:
        User.objects.create(username=name)
        return "written"

    client = MCPClient(make_token(), door="asgi", server=server)
    client.call(serve(leak))
    serve(write)
    for number in range(4):
        assert client.call("write", {"name": f"user {number}"}).text == "written"
    assert User.objects.filter(username__startswith="user ").count() == 4
    assert not User.objects.filter(username="leaked").exists()


@pytest.mark.django_db(transaction=True)
def test_a_worker_holds_no_transaction_between_calls(
    make_token: MakeToken, lanes: None, serve: Serve
) -> None:
    def unfinished() -> str:
        transaction.set_autocommit(False)
        User.objects.create(username="pending")
        return "pending"

    client = MCPClient(make_token(), door="asgi", server=server)
    client.call(serve(unfinished))
    states = [
        async_to_sync(WRITE.run)(lambda: (connection.in_atomic_block, connection.get_autocommit()))
        for _ in range(4)
    ]
    assert states == [(False, True)] * 4


@pytest.mark.django_db(transaction=True)
def test_the_thread_of_an_async_tools_sync_code_serves_the_next_and_keeps_nothing(
    make_token: MakeToken, lanes: None, serve: Serve
) -> None:
    threads = []

    async def leak() -> str:
        threads.append(await sync_to_async(threading.current_thread)())
        await sync_to_async(transaction.atomic().__enter__)()
        await User.objects.acreate(username="leaked")
        return "left open"

    async def write(name: str) -> str:
        threads.append(await sync_to_async(threading.current_thread)())
        await User.objects.acreate(username=name)
        return "written"

    client = MCPClient(make_token(), door="asgi", server=server)
    client.call(serve(leak))
    serve(write)
    for number in range(4):
        assert client.call("write", {"name": f"user {number}"}).text == "written"
    assert User.objects.filter(username__startswith="user ").count() == 4
    assert not User.objects.filter(username="leaked").exists()
    assert len(set(threads)) <= 2


def test_the_view_is_a_coroutine_function_where_a_loop_asks_and_only_there() -> None:
    from mcp_app.transports.view import EndpointView

    view = EndpointView(server)

    async def ask() -> bool:
        return iscoroutinefunction(view)

    assert not iscoroutinefunction(view)
    assert async_to_sync(ask)()


def test_workers_of_zero_run_tools_where_django_runs_sync_code(
    make_client: MakeClient, serve: Serve, settings: Any
) -> None:
    def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    with override_settings(MCP_APP={**settings.MCP_APP, "WORKERS": 0}):
        assert make_client().call(serve(where, read_only=True)).text == "true"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("read_only", [True, False], ids=["read", "write"])
def test_tools_that_hang_in_every_worker_do_not_silence_the_endpoint(
    make_token: MakeToken, lanes: None, serve: Serve, read_only: bool
) -> None:
    """A thread cannot be stopped: a lane whose threads are all taken gets others."""
    release = threading.Event()

    def hang() -> str:
        release.wait(wire.PATIENCE)
        return "late"

    name = serve(hang, timeout=0.1, read_only=read_only)
    after = serve(sync_orm, read_only=read_only)
    client = MCPClient(make_token(), version=MODERN, server=server)

    async def scenario() -> list[Any]:
        application = wire.endpoint_application()
        hanging = [wire.call(application, client, name) for _ in range(12)]
        for line in hanging:
            await line.end()
        line = wire.call(application, client, after)
        await line.end()
        return [event for line in (*hanging, line) for event in line.events]

    try:
        *late, answered = async_to_sync(scenario)()
    finally:
        release.set()
    texts = {message["result"]["content"][0]["text"] for message in late}
    assert texts == {"The tool did not finish within 0.1 seconds."}
    assert answered["result"]["content"][0]["text"] == "1"
