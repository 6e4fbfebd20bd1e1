"""A loop hears of many things by one call, and of each what came of it."""

import asyncio
import threading
from concurrent.futures import Future
from typing import Any

import pytest

from mcp_app.transports.bell import Bell, bell


def test_many_outcomes_come_by_one_call_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    futures: list[Future[int]] = [Future() for _ in range(20)]

    async def main() -> tuple[list[int], int]:
        loop = asyncio.get_running_loop()
        calls: list[Any] = []
        woken = loop.call_soon_threadsafe

        def counted(*given: Any) -> Any:
            calls.append(given)
            return woken(*given)

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        ringing = Bell(loop)
        waiters = [ringing.outcome(future) for future in futures]
        for number, future in enumerate(futures):
            future.set_result(number)
        return list(await asyncio.gather(*waiters)), len(calls)

    assert asyncio.run(main()) == (list(range(20)), 1)


def test_outcomes_of_other_threads_and_failures_arrive() -> None:
    async def main() -> tuple[int, BaseException | None]:
        good: Future[int] = Future()
        bad: Future[int] = Future()
        waiting, failing = bell().outcome(good), bell().outcome(bad)
        threading.Thread(target=good.set_result, args=[7]).start()
        threading.Thread(target=bad.set_exception, args=[ValueError("no")]).start()
        await asyncio.wait({waiting, failing}, timeout=10)
        return waiting.result(), failing.exception()

    value, error = asyncio.run(main())
    assert value == 7
    assert isinstance(error, ValueError)


def test_who_waits_no_longer_is_let_go_and_the_others_hear() -> None:
    async def main() -> int:
        gone: Future[int] = Future()
        here: Future[int] = Future()
        left, waiting = bell().outcome(gone), bell().outcome(here)
        left.cancel()
        gone.set_result(1)
        here.set_result(2)
        return await asyncio.wait_for(waiting, 10)

    assert asyncio.run(main()) == 2


def test_a_loop_that_is_over_is_no_matter() -> None:
    future: Future[int] = Future()

    async def main() -> None:
        bell().outcome(future)

    asyncio.run(main())
    future.set_result(1)
    assert future.result() == 1
