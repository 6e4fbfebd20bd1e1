"""Many waits of one length share a timer; each is seen to in its time, or forgotten."""

import asyncio

from mcp_app.work.delays import Delay, delays


def test_what_does_not_come_is_seen_to_in_order_and_what_came_is_not() -> None:
    async def main() -> tuple[list[str], float]:
        loop = asyncio.get_running_loop()
        seen: list[str] = []
        delay, begun = Delay(loop, 0.05), loop.time()
        all_seen = asyncio.Event()
        for name in ("first", "came", "second"):
            delay.expect(name, lambda name=name: seen.append(name))  # type: ignore[misc]
        delay.expect("last", all_seen.set)
        delay.forget("came")
        await asyncio.wait_for(all_seen.wait(), 10)
        return seen, loop.time() - begun

    seen, seconds = asyncio.run(main())
    assert seen == ["first", "second"]
    assert seconds >= 0.05 - 0.002


def test_one_that_begins_later_has_as_long() -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        delay = Delay(loop, 0.05)
        begun: list[float] = []
        waited: list[float] = []
        both = asyncio.Event()

        def note(number: int) -> None:
            waited.append(loop.time() - begun[number])
            if number == 1:
                both.set()

        for number in range(2):
            begun.append(loop.time())
            delay.expect(number, lambda number=number: note(number))  # type: ignore[misc]
            await asyncio.sleep(0.02)
        await asyncio.wait_for(both.wait(), 10)
        return waited

    assert all(seconds >= 0.05 - 0.002 for seconds in asyncio.run(main()))


def test_it_begins_anew_once_nothing_was_expected() -> None:
    async def main() -> list[int]:
        delay = Delay(asyncio.get_running_loop(), 0.01)
        seen: list[int] = []
        for number in range(3):
            done = asyncio.Event()
            delay.expect(number, lambda number=number: seen.append(number))  # type: ignore[misc]
            if number == 1:
                delay.forget(number)
            await asyncio.sleep(0.03)
            delay.expect("end", done.set)
            await asyncio.wait_for(done.wait(), 10)
        return seen

    assert asyncio.run(main()) == [0, 2]


def test_what_fails_keeps_no_other_from_being_seen_to() -> None:
    async def main() -> bool:
        loop = asyncio.get_running_loop()
        failures: list[object] = []
        loop.set_exception_handler(lambda _, context: failures.append(context))
        delay, seen = Delay(loop, 0.01), asyncio.Event()

        def fail() -> None:
            raise RuntimeError("no")

        delay.expect("bad", fail)
        delay.expect("good", seen.set)
        await asyncio.wait_for(seen.wait(), 10)
        return len(failures) == 1

    assert asyncio.run(main())


def test_each_loop_has_its_own() -> None:
    tenths = delays(0.1)

    async def main() -> Delay:
        assert tenths.here() is tenths.here()
        return tenths.here()

    assert asyncio.run(main()) is not asyncio.run(main())
