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

from bench.rounds import Round
from bench.targets import Target

FOLDER: Final = Path(__file__).parent
_PACKAGES: Final = (
    *("mcp", "django", "djangorestframework", "channels", "pydantic", "orjson", "psycopg"),
    *("uvicorn", "uvloop", "httptools", "daphne", "gunicorn"),
)
_HEAD: Final = (
    "| case | against | ratio (spread) | goal | CPU ms | database | load | median ms | promises |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def table(targets: Mapping[str, Target], rows: Mapping[str, Sequence[Round]]) -> str:
    """The rows as a Markdown table."""
    lines = [_line(targets[name], rounds) for name, rounds in rows.items() if rounds]
    return "\n".join([_HEAD, *lines])


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
    suite: str, targets: Mapping[str, Target], rows: Mapping[str, Sequence[Round]], rounds: int
) -> None:
    """Write `results/<suite>.json` and the table of the same name."""
    document = {
        "suite": suite,
        "rounds": rounds,
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[2],
        "python": platform.python_version(),
        "packages": _versions(),
        "targets": {name: _entry(targets[name], measured) for name, measured in rows.items()},
    }
    folder = FOLDER / "results"
    folder.mkdir(exist_ok=True)
    (folder / f"{suite}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (folder / f"{suite}.md").write_text(table(targets, rows) + "\n", encoding="utf-8")


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
