"""Measures targets in slices that alternate with their baseline, so that a noisy machine cancels.

A slice pair reads baseline, target, target, baseline: what drifts evenly through it is in both.
The ratio of a round is the target's CPU time a unit (or its latency) over the baseline's.
"""

import contextlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import load, processes
from bench.databases import Databases
from bench.load import Load
from bench.processes import printed
from bench.sessions import open_session
from bench.targets import Server, Target
from bench.wire import Request, request

_WARM: Final = 0.5
"""Seconds of load that are not counted."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one target did in one round: times in seconds."""

    answers: int
    units: int
    wall: float
    server_cpu: float
    database_cpu: float
    load_cpu: float
    latency: float

    @property
    def cost(self) -> float:
        """CPU seconds of the server's processes a unit."""
        return self.server_cpu / self.units


@dataclass(frozen=True, slots=True)
class Round:
    """A target beside its baseline."""

    target: Sample
    baseline: Sample
    ratio: float


class Running:
    """The servers of a run: each is started once, whoever asks for it."""

    def __init__(self, folder: Path, closing: contextlib.ExitStack) -> None:
        self._folder = folder
        self._closing = closing
        self.databases = Databases(folder, closing)
        self._started: dict[str, tuple[int, int, dict[str, str]]] = {}

    def start(self, server: Server) -> tuple[int, int, dict[str, str]]:
        """Process id, port and the headers that the server wants with each request."""
        key = repr(server)
        if key not in self._started:
            self._started[key] = self._start(server)
        return self._started[key]

    def _start(self, server: Server) -> tuple[int, int, dict[str, str]]:
        port = processes.free_port()
        environment, headers = {**server.environment, "PORT": str(port)}, {}
        if server.database:
            own, token = self.databases.of(server.database)
            environment |= own
            headers["authorization"] = f"Bearer {token}"
        if server.prepare:
            state = self._folder / f"peer-{port}"
            state.mkdir()
            environment["BENCH_STATE"] = str(state)
            token = printed(server.prepare, environment)
            headers["authorization"] = f"Bearer {token}"
        command = [part.format(port=port) for part in server.command]
        log = self._folder / f"server-{port}.log"
        cores = set(processes.CORES) if server.every_core else processes.SERVER_CORE
        pid = self._closing.enter_context(processes.running(command, port, environment, log, cores))
        return pid, port, headers


class Bench:
    """Targets by name, with their servers up and warm."""

    def __init__(self, targets: Mapping[str, Target], running: Running, seconds: float) -> None:
        self._targets = targets
        self._running = running
        self._seconds = seconds
        self._requests: dict[str, Request] = {}
        self._asked = 0

    def warm(self, name: str) -> None:
        """Start the target's server and see it answer.

        Raises:
            WrongAnswer: it does not answer what it is asked.
            RuntimeError: it does not start.
        """
        target = self._targets[name]
        _, port, headers = self._running.start(target.server)
        if target.question.session:
            headers = open_session(port, target.server.path, headers)
        self._requests[name] = request(target.question, port, target.server.path, headers)
        self._slice(name, _WARM)

    def round(self, name: str) -> Round:
        """One pair of slices of the target and of its baseline."""
        target = self._targets[name]
        slices = [self.sample(which) for which in (target.against, name, name, target.against)]
        ours, theirs = _joined(slices[1:3]), _joined([slices[0], slices[3]])
        if target.measure == "latency":
            return Round(ours, theirs, ours.latency / theirs.latency)
        return Round(ours, theirs, ours.cost / theirs.cost)

    def sample(self, name: str) -> Sample:
        """One slice of the target alone."""
        target = self._targets[name]
        pids = processes.tree(self._running.start(target.server)[0])
        asks_postgresql = target.server.database == "postgresql"
        behind = self._running.databases.processes() if asks_postgresql else []
        before, database_before = processes.cpu(pids), processes.cpu(behind)
        done = self._slice(name, self._seconds)
        return Sample(
            answers=done.answers,
            units=done.answers * target.units,
            wall=done.wall,
            server_cpu=processes.cpu(pids) - before,
            # One that ended meanwhile has no time any more.
            database_cpu=max(processes.cpu(behind) - database_before, 0.0),
            load_cpu=done.cpu,
            latency=done.latency,
        )

    def _slice(self, name: str, seconds: float) -> Load:
        target = self._targets[name]
        _, port, _ = self._running.start(target.server)
        done = load.run(port, self._requests[name], target.connections, seconds, self._asked)
        self._asked += done.answers
        return done


def _joined(samples: Sequence[Sample]) -> Sample:
    latency = sum(sample.latency for sample in samples) / len(samples)
    return Sample(
        answers=sum(sample.answers for sample in samples),
        units=sum(sample.units for sample in samples),
        wall=sum(sample.wall for sample in samples),
        server_cpu=sum(sample.server_cpu for sample in samples),
        database_cpu=sum(sample.database_cpu for sample in samples),
        load_cpu=sum(sample.load_cpu for sample in samples),
        latency=latency,
    )


def interleaved(
    bench: Bench, names: Sequence[str], rounds: int, say: Callable[[str], None]
) -> Iterator[tuple[str, Round]]:
    """Each target once a round, in an order of the round's own."""
    for number in range(rounds):
        order = list(names)
        random.Random(number).shuffle(order)  # noqa: S311
        say(f"round {number + 1} of {rounds}")
        for name in order:
            yield name, bench.round(name)
