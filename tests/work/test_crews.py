"""Jobs of one loop on a few threads: together where they are quick, apart where they wait."""

import asyncio
import contextvars
import logging
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from asgiref.local import Local
from asgiref.sync import async_to_sync

from mcp_app.work import crews
from mcp_app.work.crews import Ahead, Crew

_LONG = 10
"""Seconds after which a test fails rather than hang."""
_color: contextvars.ContextVar[str] = contextvars.ContextVar("color", default="none")


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Eight threads."""
    with ThreadPoolExecutor(8) as workers:
        yield workers


@pytest.fixture
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The crew never looks, so no pause of this machine makes it wake another thread."""
    monkeypatch.setattr(crews, "_LOOK", _LONG)


def _crew(pool: ThreadPoolExecutor, most: int = 8) -> Crew:
    return Crew(pool, lambda: most)


def test_quick_jobs_share_a_thread_and_each_has_its_own_result(
    pool: ThreadPoolExecutor, no_hurry: None
) -> None:
    threads = set()

    def job(number: int) -> int:
        threads.add(threading.get_ident())
        return number * number

    async def main() -> list[int]:
        crew = _crew(pool)
        return await asyncio.gather(*[crew.submit(lambda n=n: job(n)) for n in range(40)])

    assert asyncio.run(main()) == [number * number for number in range(40)]
    assert len(threads) == 1


def test_jobs_that_wait_for_each_other_get_threads_of_their_own(pool: ThreadPoolExecutor) -> None:
    meeting = threading.Barrier(8)

    async def main() -> list[int]:
        crew = _crew(pool)
        return await asyncio.gather(*[crew.submit(lambda: meeting.wait(_LONG)) for _ in range(8)])

    assert sorted(asyncio.run(main())) == list(range(8))


def test_no_more_threads_than_the_most(pool: ThreadPoolExecutor) -> None:
    lock, running, highest = threading.Lock(), 0, 0

    def job() -> None:
        nonlocal running, highest
        with lock:
            running += 1
            highest = max(highest, running)
        threading.Event().wait(0.02)
        with lock:
            running -= 1

    async def main() -> None:
        crew = _crew(pool, most=3)
        await asyncio.gather(*[crew.submit(job) for _ in range(15)])

    asyncio.run(main())
    assert highest == 3


def test_a_result_does_not_wait_for_the_job_behind_it(pool: ThreadPoolExecutor) -> None:
    release = threading.Event()

    async def main() -> str:
        crew = _crew(pool, most=1)
        quick = crew.submit(lambda: "quick")
        slow = crew.submit(lambda: release.wait(_LONG))
        try:
            return str(await asyncio.wait_for(quick, _LONG / 2))
        finally:
            release.set()
            assert await slow

    assert asyncio.run(main()) == "quick"


def test_what_many_need_is_prepared_once_before_any_of_them_runs(
    pool: ThreadPoolExecutor, no_hurry: None
) -> None:
    calls: list[list[int]] = []
    ready: set[int] = set()

    def prepare(items: Sequence[int]) -> None:
        calls.append(list(items))
        ready.update(items)

    async def main() -> list[bool]:
        crew = _crew(pool)
        jobs = [crew.submit(lambda n=n: n in ready, Ahead(prepare, n)) for n in range(20)]
        return [*await asyncio.gather(*jobs), await crew.submit(lambda: True)]

    assert all(asyncio.run(main()))
    assert calls == [list(range(20))]


def test_a_thread_is_made_ready_before_its_first_job(
    pool: ThreadPoolExecutor, no_hurry: None
) -> None:
    ready: list[int] = []

    def make_ready() -> None:
        ready.append(threading.get_ident())
        raise ValueError("not so ready")

    async def main() -> list[bool]:
        crew = Crew(pool, lambda: 8, make_ready)
        return await asyncio.gather(
            *[crew.submit(lambda: threading.get_ident() in ready) for _ in range(20)]
        )

    assert asyncio.run(main()) == [True] * 20
    assert len(ready) == 1


def test_no_thread_runs_ahead_of_what_another_prepares(pool: ThreadPoolExecutor) -> None:
    ready: set[int] = set()
    calls: list[list[int]] = []

    def prepare(items: Sequence[int]) -> None:
        # Long enough for the crew to wake more threads.
        threading.Event().wait(0.05)
        calls.append(list(items))
        ready.update(items)

    async def main() -> list[bool]:
        crew = _crew(pool)
        jobs = [crew.submit(lambda n=n: n in ready, Ahead(prepare, n)) for n in range(20)]
        return await asyncio.gather(*jobs)

    assert asyncio.run(main()) == [True] * 20
    assert sorted(item for items in calls for item in items) == list(range(20))


def test_what_goes_wrong_ahead_is_logged_and_the_jobs_run(
    pool: ThreadPoolExecutor, caplog: pytest.LogCaptureFixture
) -> None:
    def prepare(items: Sequence[int]) -> None:
        raise ValueError("no database")

    async def main() -> list[int]:
        crew = _crew(pool)
        return await asyncio.gather(*[crew.submit(lambda: 1, Ahead(prepare, n)) for n in range(3)])

    with caplog.at_level(logging.ERROR, "mcp_app.work"):
        assert asyncio.run(main()) == [1, 1, 1]
    assert "no database" in caplog.text


@pytest.mark.parametrize("error", [ValueError("no"), StopIteration("no"), SystemExit(3)])
def test_what_a_job_raises_reaches_who_waits_and_no_other(
    pool: ThreadPoolExecutor, error: BaseException
) -> None:
    def job() -> None:
        raise error

    async def main() -> tuple[BaseException | None, int]:
        crew = _crew(pool)
        bad, good = crew.submit(job), crew.submit(lambda: 1)
        await asyncio.wait({bad, good}, timeout=_LONG)
        return bad.exception(), await good

    raised, good = asyncio.run(main())
    assert good == 1
    if isinstance(error, StopIteration):
        # A future cannot hold one.
        assert isinstance(raised, RuntimeError)
        assert raised.__cause__ is error
    else:
        assert raised is error


def test_a_job_that_nobody_waits_for_any_more_is_not_called(pool: ThreadPoolExecutor) -> None:
    called: list[str] = []
    release = threading.Event()

    async def main() -> None:
        crew = _crew(pool, most=1)
        first = crew.submit(lambda: release.wait(_LONG))
        second = crew.submit(lambda: called.append("second"))
        third = crew.submit(lambda: called.append("third"))
        second.cancel()
        release.set()
        await asyncio.gather(first, third)

    asyncio.run(main())
    assert called == ["third"]


def test_each_job_has_the_context_of_whoever_gave_it(pool: ThreadPoolExecutor) -> None:
    def job() -> str:
        found = _color.get()
        _color.set("spoilt")
        return found

    async def one(crew: Crew, color: str) -> Any:
        _color.set(color)
        found = await crew.submit(job)
        return found, _color.get()

    async def main() -> list[Any]:
        crew = _crew(pool)
        return await asyncio.gather(*[one(crew, color) for color in ("red", "green", "blue")])

    assert asyncio.run(main()) == [(color, color) for color in ("red", "green", "blue")]


def test_a_job_has_what_django_keeps_by_request(pool: ThreadPoolExecutor) -> None:
    """The language that a middleware has activated, and the like: asgiref's `Local`."""
    local = Local()

    def job() -> Any:
        found = getattr(local, "language", None)
        local.language = "spoilt"
        return found

    async def one(crew: Crew, language: str) -> Any:
        local.language = language
        found = await crew.submit(job)
        return found, local.language

    async def main() -> list[Any]:
        crew = _crew(pool)
        tasks = [asyncio.create_task(one(crew, language)) for language in ("de", "en", "fr")]
        return await asyncio.gather(*tasks)

    assert asyncio.run(main()) == [(language, language) for language in ("de", "en", "fr")]


def test_async_to_sync_in_a_job_comes_back_to_this_loop(pool: ThreadPoolExecutor) -> None:
    async def loop_here() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    async def main() -> bool:
        there = await _crew(pool).submit(async_to_sync(loop_here))
        return there is asyncio.get_running_loop()

    assert asyncio.run(main())


def test_without_threads_whoever_waits_is_told(pool: ThreadPoolExecutor) -> None:
    pool.shutdown()

    async def main() -> None:
        crew = _crew(pool)
        jobs = [crew.submit(lambda: 1) for _ in range(3)]
        done, waiting = await asyncio.wait(jobs, timeout=_LONG)
        assert not waiting
        assert all(isinstance(job.exception(), RuntimeError) for job in done)

    asyncio.run(main())
