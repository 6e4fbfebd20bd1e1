"""Says what was measured: a table of ratios for people, JSON for programs."""

import importlib.metadata
import json
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from bench.facts import Fact
from bench.rounds import Round
from bench.targets import Target

FOLDER: Final = Path(__file__).parent
_RESULTS: Final = FOLDER / "results"
_TITLES: Final = {"ours": "mcp_app", "peers": "Other people's servers"}
_ABOUT: Final = """\
# What a call costs

Written by `make bench` and `make bench-peers`; the rounds themselves are in `results/`.

- A server is one process on one core. The load, which checks each answer, runs on the other, beside
  PostgreSQL. CPU is what the operating system counted, user and system time, for all processes of
  a server.
- A row's ratio is its CPU time an answer (for streams of 1,000 events: an event) over that of the
  target it is *against*, measured in slices that alternate in the order baseline, target, target,
  baseline. It is the median of the rounds, with the least and the greatest. Where a row says
  latency, it is the ratio of median latencies.
- **A** is the official SDK: modern revision, JSON, a sync tool `add`, uvicorn; no token, nothing
  recorded. It is started as its documentation has it, and ours as docs/performance.md has it, with
  `gc.freeze()`.
- *database* is the CPU time that PostgreSQL's own processes spent an answer, *load* the share of
  its core that the load took. Times are this machine's; only ratios of one run compare."""
_PACKAGES: Final = (
    *("mcp", "django", "djangorestframework", "channels", "pydantic", "orjson", "psycopg"),
    *("uvicorn", "uvloop", "httptools", "daphne", "gunicorn"),
)
_FACTS_HEAD: Final = "| what | figure | goal |\n|---|---|---|"
_HEAD: Final = (
    "| case | against | ratio (spread) | goal | CPU ms | database | load | median ms | promises |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def table(
    targets: Mapping[str, Target], rows: Mapping[str, Sequence[Round]], facts: Sequence[Fact] = ()
) -> str:
    """The rows, and the facts under them, as Markdown tables."""
    lines = [_line(targets[name], rounds) for name, rounds in rows.items() if rounds]
    ratios = [_HEAD, *lines] if lines else []
    figures = [_FACTS_HEAD, *map(_fact, facts)] if facts else []
    return "\n".join([*ratios, *([""] if ratios and figures else []), *figures])


def _fact(fact: Fact) -> str:
    verdict = {True: "reached", False: "missed", None: "not told by so short a run"}[fact.reached]
    return f"| {fact.title} | {fact.text} | {fact.goal}: {verdict} |"


def _line(target: Target, rounds: Sequence[Round]) -> str:
    ratio = statistics.median(measured.ratio for measured in rounds)
    cells = (
        f"`{target.name}` {target.title}",
        f"`{target.against}`",
        f"{_figure(ratio)} {_spread(rounds)}",
        _verdict(ratio, target.goal),
        f"{1e3 * _middle(rounds, 'server_cpu', 'units'):.3f}",
        f"{1e3 * _middle(rounds, 'database_cpu', 'units'):.3f}",
        f"{100 * _middle(rounds, 'load_cpu', 'wall'):.0f}%",
        f"{1e3 * statistics.median(measured.target.latency for measured in rounds):.1f}",
        target.promise,
    )
    return f"| {' | '.join(cells)} |"


def _verdict(ratio: float, goal: float | None) -> str:
    if goal is None:
        return ""
    return f"≤ {goal:g}: {'reached' if ratio <= goal else 'missed'}"


def _spread(rounds: Sequence[Round]) -> str:
    ratios = [measured.ratio for measured in rounds]
    return f"({_figure(min(ratios))} … {_figure(max(ratios))})"


def _figure(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.4f}"


def _middle(rounds: Sequence[Round], above: str, below: str) -> float:
    middle: float = statistics.median(
        getattr(measured.target, above) / getattr(measured.target, below) for measured in rounds
    )
    return middle


def costs(measured: Round) -> str:
    """One round in words, for who watches the run."""
    ours, theirs = measured.target, measured.baseline
    return (
        f"{1e3 * ours.cost:.3f} / {1e3 * theirs.cost:.3f} ms CPU, "
        f"{1e3 * ours.latency:.1f} / {1e3 * theirs.latency:.1f} ms, "
        f"{ours.answers} / {theirs.answers} answers, "
        f"load {100 * ours.load_cpu / ours.wall:.0f}%"
    )


def keep(
    suite: str,
    targets: Mapping[str, Target],
    rows: Mapping[str, Sequence[Round]],
    facts: Sequence[Fact],
) -> None:
    """Write `results/<suite>.json`, and `RESULTS.md` with the latest table of each suite."""
    document = {
        "suite": suite,
        "cores": os.cpu_count(),
        "load_average": os.getloadavg(),
        "python": platform.python_version(),
        "packages": _versions(),
        "table": table(targets, rows, facts),
        "targets": {name: _entry(targets[name], measured) for name, measured in rows.items()},
        "facts": [asdict(fact) for fact in facts],
    }
    _RESULTS.mkdir(exist_ok=True)
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (_RESULTS / f"{suite}.json").write_text(text + "\n", encoding="utf-8")
    (FOLDER / "RESULTS.md").write_text(_page(), encoding="utf-8")


def _page() -> str:
    kept = [(suite, _RESULTS / f"{suite}.json") for suite in _TITLES]
    sections = [_section(suite, path) for suite, path in kept if path.exists()]
    return "\n\n".join([_ABOUT, *sections]) + "\n"


def _section(suite: str, path: Path) -> str:
    document = json.loads(path.read_text(encoding="utf-8"))
    versions = ", ".join(f"{name} {version}" for name, version in document["packages"].items())
    busy = document["load_average"][2]
    where = f"Python {document['python']}, {document['cores']} cores, load average {busy:.1f}"
    ran = f"{where}; {versions}."
    return "\n\n".join([f"## {_TITLES[suite]}", ran, document["table"]])


def _entry(target: Target, rounds: Sequence[Round]) -> dict[str, Any]:
    return {
        "title": target.title,
        "against": target.against,
        "promise": target.promise,
        "goal": target.goal,
        "measure": target.measure,
        "connections": target.connections,
        "ratios": [round(measured.ratio, 4) for measured in rounds],
        "rounds": [asdict(measured) for measured in rounds],
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
