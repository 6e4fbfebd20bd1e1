"""What a call tells waits for its client, within bounds where that does not read."""

import asyncio
from typing import Any

from mcp_app.transports.outlets import MOST_WAITING, Notifications

TEXT = "x" * 1000


def progress(number: int) -> dict[str, Any]:
    """One message that may be missed."""
    params = {"progressToken": 1, "progress": number, "message": TEXT}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


QUESTION = {"jsonrpc": "2.0", "id": "ask-1", "method": "elicitation/create", "params": {}}


def tell_much(outlet: Notifications) -> None:
    """Twice as much as may wait, and then a question."""
    for number in range(2 * MOST_WAITING // len(TEXT)):
        outlet.emit(progress(number))
    outlet.emit(QUESTION)


async def test_who_does_not_read_has_so_much_kept_and_never_misses_a_question() -> None:
    outlet = Notifications(asyncio.get_running_loop())
    await asyncio.to_thread(tell_much, outlet)
    taken = outlet.take()
    assert MOST_WAITING <= sum(map(len, taken)) < MOST_WAITING + 2 * len(TEXT)
    assert b"ask-1" in taken[-1]
    outlet.emit(progress(0))
    await asyncio.sleep(0)
    assert len(outlet.take()) == 1


async def test_what_is_lost_at_the_end_makes_room_again() -> None:
    outlet = Notifications(asyncio.get_running_loop())
    lost: list[str] = []
    await asyncio.to_thread(tell_much, outlet)
    outlet.emit(QUESTION, lambda: lost.append("question"))
    outlet.close()
    outlet.emit(QUESTION, lambda: lost.append("another"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert lost == ["question", "another"]
    assert outlet.is_empty
    assert outlet._size == 0


async def test_the_loop_is_woken_once_for_all_that_waits() -> None:
    loop = asyncio.get_running_loop()
    woken: list[Any] = []
    call = loop.call_soon_threadsafe

    def counting(callback: Any, *arguments: Any) -> Any:
        woken.append(callback)
        return call(callback, *arguments)

    outlet = Notifications(loop)

    def tell() -> None:
        loop.call_soon_threadsafe = counting  # type: ignore[method-assign]
        for number in range(100):
            outlet.emit(progress(number))
        del loop.call_soon_threadsafe

    await asyncio.to_thread(tell)
    await outlet.stirred()
    assert len(woken) == 1
    assert len(outlet.take()) == 100


async def test_what_is_told_on_the_loop_waits_at_once() -> None:
    outlet = Notifications(asyncio.get_running_loop())
    outlet.emit(progress(1))
    assert not outlet.is_empty
    await outlet.stirred()
    assert len(outlet.take()) == 1


async def test_silence_ends_a_wait_and_is_told_from_news() -> None:
    outlet = Notifications(asyncio.get_running_loop())
    asyncio.get_running_loop().call_soon(outlet.keep_alive)
    await outlet.stirred()
    assert outlet.was_silent
    outlet.take()
    outlet.emit(progress(1))
    await outlet.stirred()
    assert not outlet.was_silent
