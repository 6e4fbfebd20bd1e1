"""Whose job is next: one user's many slow jobs keep nobody waiting behind all of them."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from mcp_app import Context
from mcp_app.testing import MCPClient
from mcp_app.work.crews import Crew
from mcp_app.work.lanes import READ, WRITE, Lane
from mcp_app.work.turns import Turns
from mcp_app.work.workers import Aside, Place, Workers
from tests.interaction import wire
from tests.interaction.conftest import MakeToken, Serve, lanes, make_token, mounted, serve, user
from tests.interaction.tools import server

__all__ = ["lanes", "make_token", "mounted", "serve", "user"]

PATIENCE = 10
NOBODY: dict[Any, int] = {}


def turns(at_work: dict[Any, int], *waiting: tuple[str, str | None]) -> Turns[str]:
    """Items that wait, with their owners."""
    made: Turns[str] = Turns(at_work)
    for item, owner in waiting:
        made.append(item, owner)
    return made


def taken(waiting: Turns[str]) -> str:
    return " ".join(waiting.pop() for _ in range(len(waiting)))


def test_owners_take_turns_and_each_has_its_own_in_order() -> None:
    waiting = turns(NOBODY, ("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("c1", "c"))
    waiting.append("b2", "b")
    assert (len(waiting), sorted(waiting)) == (6, ["a1", "a2", "a3", "b1", "b2", "c1"])
    assert taken(waiting) == "a1 b1 c1 a2 b2 a3"
    assert not waiting


def test_what_is_nobodys_has_its_turn_when_it_came() -> None:
    waiting = turns(NOBODY, ("a1", "a"), ("n1", None), ("a2", "a"), ("n2", None), ("n3", None))
    assert taken(waiting) == "a1 n1 n2 n3 a2"


def test_whoever_has_the_fewest_at_work_is_next() -> None:
    at_work = {"a": 3, "b": 1, "c": 2}
    waiting = turns(at_work, ("a1", "a"), ("b1", "b"), ("b2", "b"), ("c1", "c"))
    assert [waiting.pop(), waiting.pop()] == ["b1", "b2"]
    waiting.append("d1", "d")
    assert taken(waiting) == "d1 c1 a1"


def test_one_that_waits_alone_comes_as_it_is_and_another_behind_it_too() -> None:
    waiting = turns(NOBODY, ("a1", "a"))
    assert (list(waiting), waiting.pop(), len(waiting)) == (["a1"], "a1", 0)
    waiting.append("a2", "a")
    waiting.append("a3", "a")
    assert taken(waiting) == "a2 a3"


@pytest.mark.parametrize("items", [["a1"], ["a1", "b1", "b2"]])
def test_what_was_forgotten_does_not_come(items: list[str]) -> None:
    waiting = turns(NOBODY, *((item, item[0]) for item in items))
    waiting.clear()
    assert (len(waiting), list(waiting)) == (0, [])
    waiting.append("c1")
    assert taken(waiting) == "c1"


def test_few_are_asked_however_many_wait() -> None:
    asked: list[Any] = []

    class AtWork(dict[Any, int]):
        def get(self, owner: Any, default: Any = None) -> Any:
            asked.append(owner)
            return super().get(owner, default)

    waiting: Turns[int] = Turns(AtWork({0: 1, 1: 1}))
    for number in range(1000):
        waiting.append(number, number)
    assert waiting.pop() == 2
    assert asked == [0, 1, 2]


def test_a_job_that_stands_aside_is_not_at_work() -> None:
    workers = Workers(2, "aside")
    place = Place("ana")
    place.begin(workers)
    assert workers.at_work.get("ana", 0) == 1
    with place.lent():
        assert workers.at_work.get("ana", 0) == 0
    assert workers.at_work.get("ana", 0) == 1
    place.give_up()
    assert workers.at_work.get("ana", 0) == 0
    place.end()
    assert workers.at_work.get("ana", 0) == 0
    assert workers.step_aside(Aside.LATE)  # nobody's is counted for nobody
    assert workers.at_work == {}


@pytest.fixture
def release() -> Iterator[threading.Semaphore]:
    """What slow jobs wait for, each for one; at the end all may go."""
    semaphore = threading.Semaphore(0)
    yield semaphore
    semaphore.release(100)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what happens elsewhere."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - threads bring it about
            await asyncio.sleep(0.001)


def waiting_in(lane: Lane) -> Callable[[int], bool]:
    """Whether so many jobs wait for a thread of the lane."""
    crew: Crew = lane._crews.here()
    return lambda count: len(crew._waiting) == count


def test_a_user_whose_jobs_are_slow_leaves_half_of_a_lane_to_another(
    settings: Any, release: threading.Semaphore
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "WORKERS": 4}
    lane, began = Lane("fair"), []

    def job(owner: str) -> None:
        began.append(owner)
        assert release.acquire(timeout=PATIENCE)

    async def main() -> None:
        def submit(owner: str) -> "asyncio.Future[None]":
            return lane.submit(partial(job, owner), Place(owner))

        jobs = [submit("ana") for _ in range(12)]
        await until(lambda: began == ["ana"] * 4)
        jobs += [submit("ben") for _ in range(6)]
        for ended in range(1, 5):
            release.release()
            await until(lambda ended=ended: len(began) == 4 + ended)
        release.release(100)
        await asyncio.gather(*jobs)

    asyncio.run(main())
    # Whoever's job ends, nobody has more than half while both wait.
    assert began[4:6] == ["ben", "ben"]
    assert sorted(began) == ["ana"] * 12 + ["ben"] * 6


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("read_only", [True, False], ids=["reads", "writes"])
def test_the_call_of_another_user_is_next_whoever_called_more_before(
    lanes: None,
    make_token: MakeToken,
    serve: Serve,
    django_user_model: Any,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    release: threading.Semaphore,
    read_only: bool,
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "WORKERS": 2}
    for one in (READ, WRITE):
        monkeypatch.setattr(one, "_workers", None)
    began: list[str] = []

    def slow(ctx: Context) -> str:
        began.append(ctx.user.get_username())
        assert release.acquire(timeout=PATIENCE)
        return "done"

    name = serve(slow, read_only=read_only)
    ben = django_user_model.objects.create_user("ben")
    many, one_call = (MCPClient(make_token(owner), server=server) for owner in (None, ben))

    async def scenario() -> None:
        application, waits = wire.endpoint_application(), waiting_in(READ if read_only else WRITE)
        lines = [wire.call(application, many, name) for _ in range(6)]
        await until(lambda: len(began) == 2 and waits(4))
        lines.append(wire.call(application, one_call, name))
        await until(lambda: waits(5))
        release.release()
        await until(lambda: len(began) == 3)
        release.release(100)
        for line in lines:
            await line.end()

    async_to_sync(scenario)()
    assert began[2] == "ben"
    assert began.count("ben") == 1
    assert len(began) == 7
