"""A loop hears of many commits by one call, and of each what came of it."""

import asyncio
import threading
from typing import Any

import pytest

from mcp_app.dispatch.receipts import Receipt
from mcp_app.transports.bell import Bell, bell


def test_many_outcomes_come_by_one_call_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    receipts = [Receipt() for _ in range(20)]

    async def main() -> tuple[list[bool], int]:
        loop = asyncio.get_running_loop()
        calls: list[Any] = []
        woken = loop.call_soon_threadsafe

        def counted(*given: Any) -> Any:
            calls.append(given)
            return woken(*given)

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        ringing = Bell(loop)
        waiters = [ringing.outcome(receipt) for receipt in receipts]
        for number, receipt in enumerate(receipts):
            receipt.settle(number % 2 == 0)
        return list(await asyncio.gather(*waiters)), len(calls)

    assert asyncio.run(main()) == ([True, False] * 10, 1)


def test_outcomes_of_other_threads_arrive() -> None:
    async def main() -> tuple[bool, bool]:
        stored, lost = Receipt(), Receipt()
        waiters = bell().outcome(stored), bell().outcome(lost)
        threading.Thread(target=stored.settle, args=[True]).start()
        threading.Thread(target=lost.settle, args=[False]).start()
        first, second = await asyncio.wait_for(asyncio.gather(*waiters), 10)
        return first, second

    assert asyncio.run(main()) == (True, False)


def test_who_waits_no_longer_is_let_go_and_the_others_hear() -> None:
    async def main() -> bool:
        gone, here = Receipt(), Receipt()
        left, waiting = bell().outcome(gone), bell().outcome(here)
        left.cancel()
        gone.settle(True)
        here.settle(True)
        return await asyncio.wait_for(waiting, 10)

    assert asyncio.run(main())


def test_a_loop_that_is_over_is_no_matter() -> None:
    receipt = Receipt()

    async def main() -> None:
        bell().outcome(receipt)

    asyncio.run(main())
    receipt.settle(True)
    assert receipt.result()
