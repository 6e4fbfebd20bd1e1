"""`python -m bench`: run the targets, print the table, write it where it is kept."""

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import processes, report
from bench.peers import PEERS
from bench.rounds import Bench, Round, Running, interleaved
from bench.targets import BASELINES, OURS, Target
from bench.wire import WrongAnswer


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and return the process's exit code."""
    options = _parser().parse_args(arguments)
    targets = {target.name: target for target in (*BASELINES, *OURS, *PEERS)}
    suite = PEERS if options.suite == "peers" else OURS
    names = options.only.split(",") if options.only else _rows(suite)
    if unknown := sorted(set(names) - set(targets)):
        print(f"No target {', '.join(unknown)}. There are: {', '.join(targets)}", file=sys.stderr)
        return 2
    with contextlib.ExitStack() as closing:
        closing.enter_context(processes.on_cores(processes.LOAD_CORE))
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory()))
        bench = Bench(targets, Running(folder, closing), options.seconds)
        rows = _measure(bench, targets, names, options.rounds)
    print(report.table(targets, rows))
    if not options.only:
        report.keep(options.suite, targets, rows, options.rounds)
    return 0 if rows else 1


def _rows(suite: Sequence[Target]) -> list[str]:
    return [target.name for target in suite]


def _measure(
    bench: Bench, targets: Mapping[str, Target], names: Sequence[str], rounds: int
) -> dict[str, list[Round]]:
    ready = [name for name in names if _is_ready(bench, targets[name])]
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
        _say(f"{target.name} is left out: {error}")
        return False
    return True


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--suite", choices=("ours", "peers"), default="ours")
    parser.add_argument("--only", help="names of targets, with commas; writes no results")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of one slice; a round has four")
    return parser


if __name__ == "__main__":
    os.chdir(processes.ROOT)
    sys.exit(main())
