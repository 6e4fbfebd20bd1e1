"""What is no ratio to a baseline: start-up and memory, endurance, a second process."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final

from bench import footprint, load, processes
from bench.rounds import Running
from bench.targets import DOOR, OURS, Server, Target, uvicorn
from bench.wire import request

CALLS: Final = 200_000
SETTLED: Final = 20_000
"""Calls after which memory is to stay as it is."""
_LOOK: Final = 2.0
"""Seconds between two looks at the memory."""
_THROUGHPUT: Final = 3.0
"""Seconds of load for one figure of throughput, of which there are several."""
_TURNS: Final = 3
_CONNECTIONS: Final = 32


@dataclass(frozen=True, slots=True)
class Fact:
    """One figure: what it is of, how it reads, and whether it is within its goal.

    `reached` is None where the run was too short to tell.
    """

    title: str
    value: float
    text: str
    goal: str
    reached: bool | None


def footprints(running: Running, patience: float) -> list[Fact]:
    """The time that imports take and the memory that they leave."""
    before, added = footprint.added()
    beside = f"beside {before.seconds:.2f} s of Django, DRF and pydantic"
    held = f"beside {before.mebibytes:.0f} MiB"
    return [
        Fact(
            "importing mcp_app, CPU",
            added.seconds,
            f"{added.seconds:.2f} s {beside}",
            "≤ 0.15 s",
            added.seconds <= 0.15,
        ),
        Fact(
            "memory of mcp_app",
            added.mebibytes,
            f"{added.mebibytes:.1f} MiB {held}",
            "≤ 15 MiB",
            added.mebibytes <= 15,
        ),
    ]


def endurance(running: Running, patience: float) -> list[Fact]:
    """Memory through many calls in one process, or through as many as `patience` allows."""
    target = _ours("asgi-sqlite")
    pid, port, headers = running.start(target.server)
    asked = request(target.question, port, target.server.path, headers)
    done, settled, highest, end = 0, 0.0, 0.0, monotonic() + patience
    while done < CALLS and monotonic() < end:
        done += load.run(port, asked, target.connections, _LOOK, done).answers
        if done >= SETTLED:
            held = processes.memory(processes.tree(pid))
            settled, highest = settled or held, max(highest, held)
    if not settled:
        return []
    growth = highest / settled - 1
    return [
        Fact(
            "memory through many calls",
            growth,
            f"+{100 * growth:.1f}% of {settled:.0f} MiB between call {SETTLED:,} and {done:,}",
            f"≤ 5% up to {CALLS:,}",
            (growth <= 0.05) if done >= CALLS or growth > 0.05 else None,
        )
    ]


def second_process(running: Running, patience: float) -> list[Fact]:
    """Answers a second of two processes on the machine's cores, over those of one."""
    one = _ours("asgi-postgresql")
    command = (*uvicorn(DOOR), "--workers", "2")
    both = replace(one, server=Server(command, database="postgresql", every_core=True))
    singles, doubles, shares = [], [], []
    with processes.on_cores(set(processes.CORES)):
        for _ in range(_TURNS):
            singles.append(_throughput(running, one)[0])
            answers, share = _throughput(running, both)
            doubles.append(answers)
            shares.append(share)
    ratio = sum(doubles) / sum(singles)
    taken = f"{sum(shares) / len(shares):.0%}"
    return [
        Fact(
            "two processes on two cores over one, PostgreSQL, answers a second",
            ratio,
            f"{ratio:.2f}; load and database share the cores, the load took {taken} of one",
            "≥ 1.6",
            ratio >= 1.6,
        )
    ]


def _throughput(running: Running, target: Target) -> tuple[float, float]:
    _, port, headers = running.start(target.server)
    asked = request(target.question, port, target.server.path, headers)
    load.run(port, asked, _CONNECTIONS, 0.5, next(_numbers))
    done = load.run(port, asked, _CONNECTIONS, _THROUGHPUT, next(_numbers))
    return done.answers / done.wall, done.cpu / done.wall


def _ours(name: str) -> Target:
    return next(target for target in OURS if target.name == name)


_numbers: Final = itertools.count(0, 1_000_000)

FACTS: Final[Mapping[str, Callable[[Running, float], list[Fact]]]] = {
    "footprint": footprints,
    "endurance": endurance,
    "processes": second_process,
}
