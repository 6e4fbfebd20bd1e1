"""`python -m bench`: run the targets, print the table, write it where it is kept."""

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench import processes, report
from bench.facts import FACTS, Fact
from bench.peers import PEERS
from bench.rounds import Bench, Round, Running, interleaved
from bench.targets import BASELINES, OURS, Target
from bench.wire import WrongAnswer

TARGETS: Final = {target.name: target for target in (*BASELINES, *OURS, *PEERS)}
_SUITES: Final = {
    "ours": [*(target.name for target in OURS), *FACTS],
    "peers": [target.name for target in PEERS],
}
_PATIENCE: Final = 180.0
"""Seconds that endurance has in a run of everything."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and return the process's exit code."""
    options = _parser().parse_args(arguments)
    names = options.only.split(",") if options.only else _SUITES[options.suite]
    if unknown := sorted(set(names) - set(TARGETS) - set(FACTS)):
        there = ", ".join([*TARGETS, *FACTS])
        print(f"No target {', '.join(unknown)}. There are: {there}", file=sys.stderr)
        return 2
    rows, facts = _measured(names, options)
    print(report.table(TARGETS, rows, facts))
    if not options.only:
        report.keep(options.suite, TARGETS, rows, facts)
    return 0 if rows or facts else 1


def _measured(
    names: Sequence[str], options: argparse.Namespace
) -> tuple[dict[str, list[Round]], list[Fact]]:
    with contextlib.ExitStack() as closing:
        closing.enter_context(processes.on_cores(processes.LOAD_CORE))
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory()))
        running = Running(folder, closing)
        bench = Bench(TARGETS, running, options.seconds)
        rows = _rounds(bench, [name for name in names if name in TARGETS], options.rounds)
        facts: list[Fact] = []
        for name in (name for name in names if name in FACTS):
            _say(name)
            facts += FACTS[name](running, float("inf") if options.only else _PATIENCE)
    return rows, facts


def _rounds(bench: Bench, names: Sequence[str], rounds: int) -> dict[str, list[Round]]:
    ready = [name for name in names if _is_ready(bench, TARGETS[name])]
    rows: dict[str, list[Round]] = {name: [] for name in ready}
    for name, measured in interleaved(bench, ready, rounds, _say):
        rows[name].append(measured)
        _say(f"  {name:24} {measured.ratio:6.3f}   {report.costs(measured)}")
    return rows


def _is_ready(bench: Bench, target: Target) -> bool:
    try:
        for name in dict.fromkeys((target.against, target.name)):
            bench.warm(name)
    except (WrongAnswer, RuntimeError, OSError) as error:
        _say(f"{target.name} is left out: {str(error)[:_SHOWN]}")
        return False
    return True


_SHOWN: Final = 600
"""Characters of what a server said that could not be measured."""


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--suite", choices=sorted(_SUITES), default="ours")
    parser.add_argument("--only", help="names of targets, with commas; nothing is kept")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of one slice; a round has four")
    return parser


if __name__ == "__main__":
    os.chdir(processes.ROOT)
    sys.exit(main())
