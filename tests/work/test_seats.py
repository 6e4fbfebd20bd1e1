"""Async tools share a bounded number of threads for their sync code, and never wait in vain."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.test.utils import override_settings

from mcp_app.work import seats
from mcp_app.work.lanes import beside_sync_code

pytestmark = pytest.mark.django_db(transaction=True)

COUNT = 2
PATIENCE = 10.0
"""Seconds."""

User = get_user_model()
Run = Callable[[Callable[[], Any]], "asyncio.Task[Any]"]


@pytest.fixture
def threads(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[seats.Seats]:
    """Two threads for async tools, of this test alone; they keep no connection."""
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 0)
    own = seats.Seats(COUNT)
    monkeypatch.setattr(seats, "_current", [own])
    with override_settings(MCP_APP={**settings.MCP_APP, "WORKERS": COUNT}):
        yield own
    for seat in own._seats:
        seat.thread.submit(connection.close)
        seat.thread.shutdown()


@pytest.fixture
async def run(threads: seats.Seats) -> AsyncIterator[Run]:
    """Starts an async tool; what is still running at the end is cancelled."""
    tasks = []

    def start(tool: Callable[[], Any]) -> "asyncio.Task[Any]":
        task = asyncio.create_task(beside_sync_code(tool))
        tasks.append(task)
        return task

    async with asyncio.timeout(PATIENCE):
        yield start
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def here() -> threading.Thread:
    return threading.current_thread()


async def test_any_number_of_tools_take_no_more_threads_than_there_are(run: Run) -> None:
    used = set()
    met = asyncio.Barrier(10)

    async def tool() -> int:
        used.add(await sync_to_async(here)())
        await met.wait()
        used.add(await sync_to_async(here)())
        return await User.objects.acount()

    assert await asyncio.gather(*(run(tool) for _ in range(10))) == [0] * 10
    assert len(used) == COUNT


async def test_nothing_is_started_while_a_tool_stays_async(run: Run, threads: seats.Seats) -> None:
    async def tool() -> str:
        await asyncio.sleep(0)
        return "done"

    assert await run(tool) == "done"
    assert threads._seats == []


async def test_a_tool_keeps_its_thread_while_there_are_enough(run: Run) -> None:
    met = asyncio.Barrier(COUNT)

    async def tool() -> int:
        used = set()
        for _ in range(5):
            used.add(await sync_to_async(here)())
            await met.wait()
        return len(used)

    assert await asyncio.gather(*(run(tool) for _ in range(COUNT))) == [1] * COUNT


async def test_tools_that_wait_for_another_tool_do_not_keep_it_from_running(run: Run) -> None:
    done = asyncio.Event()

    async def waits() -> int:
        await User.objects.acount()
        await done.wait()
        return await User.objects.acount()

    async def is_awaited() -> None:
        await User.objects.acreate(username="made")
        done.set()

    waiting = [run(waits) for _ in range(5 * COUNT)]
    await asyncio.sleep(0)
    await run(is_awaited)
    assert await asyncio.gather(*waiting) == [1] * len(waiting)


async def test_nobody_works_in_the_open_transaction_of_another(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    everybody_is_in, all_wrote = asyncio.Barrier(COUNT + 1), asyncio.Event()
    isolated = connection.vendor != "sqlite"  # which knows one writer at a time
    if not isolated:
        monkeypatch.setitem(connection.settings_dict["OPTIONS"], "transaction_mode", "DEFERRED")

    async def holds() -> bool:
        block = transaction.atomic()
        await sync_to_async(block.__enter__)()
        if isolated:
            await User.objects.acreate(username=f"mine {id(block)}")
        await everybody_is_in.wait()
        await all_wrote.wait()
        await sync_to_async(transaction.set_rollback)(True)
        await sync_to_async(block.__exit__)(None, None, None)
        return True

    async def writes() -> bool:
        """There are as many open transactions as threads, and still it gets one."""
        inside = await sync_to_async(lambda: connection.in_atomic_block)()
        if isolated:
            await User.objects.acreate(username="theirs")
        return bool(inside)

    holders = [run(holds) for _ in range(COUNT)]
    await everybody_is_in.wait()
    assert not any([await run(writes)])
    all_wrote.set()
    assert all(await asyncio.gather(*holders))
    assert [user.username async for user in User.objects.all()] == ["theirs"] * isolated


async def test_a_thread_that_does_not_come_back_is_made_up_for_and_then_let_go(
    run: Run, threads: seats.Seats
) -> None:
    started, release = threading.Semaphore(0), threading.Event()

    def hang() -> None:
        started.release()
        assert release.wait(PATIENCE)

    async def stuck() -> None:
        await sync_to_async(hang)()

    async def works() -> int:
        return await User.objects.acount()

    lost = [run(stuck) for _ in range(COUNT)]
    for _ in lost:
        await asyncio.to_thread(started.acquire, timeout=PATIENCE)
    for task in lost:
        task.cancel()
    await asyncio.gather(*lost, return_exceptions=True)
    assert await run(works) == 0
    assert len(threads._seats) == COUNT + 1
    release.set()
    while len(threads._seats) > COUNT:
        await run(works)


async def test_what_a_tool_leaves_open_is_rolled_back_when_it_ends(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    async def leaks() -> None:
        await sync_to_async(transaction.atomic().__enter__)()
        await User.objects.acreate(username="leaked")

    async def works() -> bool:
        return bool(await sync_to_async(lambda: connection.in_atomic_block)())

    await run(leaks)
    assert await asyncio.gather(*(run(works) for _ in range(2 * COUNT))) == [False] * (2 * COUNT)
    assert not await User.objects.filter(username="leaked").aexists()
    async with asyncio.timeout(PATIENCE):
        while "left a transaction open" not in caplog.text:
            await run(works)


async def test_sync_code_that_outlives_its_tool_still_runs_in_the_threads(run: Run) -> None:
    go_on = asyncio.Event()
    late = []

    async def afterwards() -> int:
        await go_on.wait()
        return await User.objects.acount()

    async def tool() -> None:
        late.append(asyncio.create_task(afterwards()))

    await run(tool)
    go_on.set()
    assert await late[0] == 0
