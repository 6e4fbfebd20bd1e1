"""A lane's threads: whoever may have one gets one, whatever the pool believes to be idle."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from mcp_app.work.workers import Aside, Workers

PATIENCE = 10.0


@pytest.fixture
def held() -> Iterator[threading.Event]:
    """What jobs wait for; set at the end, whatever happens."""
    event = threading.Event()
    yield event
    event.set()


def busy_with_stale_idleness(workers: Workers, held: threading.Event, quick: int) -> None:
    """The only thread has a long job, right after some that waited for it in the queue."""
    begin, reached = threading.Event(), threading.Event()
    workers.submit(begin.wait, PATIENCE)
    for _ in range(quick):
        workers.submit(int)

    def holds() -> None:
        reached.set()
        held.wait(PATIENCE)

    workers.submit(holds)
    begin.set()
    assert reached.wait(PATIENCE)


@pytest.mark.parametrize("quick", [0, 1, 5])
@pytest.mark.parametrize("why", Aside)
def test_a_job_that_waited_has_a_thread_once_another_stepped_aside(
    held: threading.Event, why: Aside, quick: int
) -> None:
    workers = Workers(2, "test")
    for _ in range(2):
        busy_with_stale_idleness(workers, held, quick)
    waited: Future[int] = workers.submit(int)
    assert workers.step_aside(why)
    assert waited.result(PATIENCE / 2) == 0
    workers.step_back(why)


def test_no_more_threads_than_may_be_are_started(held: threading.Event) -> None:
    workers = Workers(2, "few")
    jobs = [workers.submit(held.wait, PATIENCE) for _ in range(10)]
    names = {thread.name for thread in threading.enumerate() if thread.name.startswith("few")}
    assert len(names) == 2
    held.set()
    assert all(job.result(PATIENCE) for job in jobs)
    assert workers.submit(int).result(PATIENCE) == 0


def test_one_thread_serves_job_after_job() -> None:
    workers = Workers(4, "after")
    for _ in range(20):
        workers.submit(int).result(PATIENCE)
    names = {thread.name for thread in threading.enumerate() if thread.name.startswith("after")}
    # A result is told a moment before its thread is free again.
    assert 1 <= len(names) <= 2
