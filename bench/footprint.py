"""What mcp_app adds to a Django process with DRF before its first request: time and memory.

Each figure is a fresh process's own, and the median of several that take turns.
"""

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench import processes

_TURNS: Final = 5
_START: Final = (sys.executable, "-m", "bench.servers.start")


@dataclass(frozen=True, slots=True)
class Footprint:
    """CPU seconds until a process is ready, and the MiB that it holds then."""

    seconds: float
    mebibytes: float


def added() -> tuple[Footprint, Footprint]:
    """A Django process with DRF and pydantic, and what mcp_app adds to it."""
    _run("mcp_app")  # so that no turn has to compile what it imports
    turns = [(_run(), _run("mcp_app")) for _ in range(_TURNS)]
    before = _median([plain for plain, _ in turns])
    after = _median([ours for _, ours in turns])
    grown = Footprint(after.seconds - before.seconds, after.mebibytes - before.mebibytes)
    return before, grown


def _run(*arguments: str) -> Footprint:
    seconds, mebibytes = processes.printed([*_START, *arguments], {}).split()
    return Footprint(float(seconds), float(mebibytes))


def _median(footprints: Sequence[Footprint]) -> Footprint:
    return Footprint(
        statistics.median(footprint.seconds for footprint in footprints),
        statistics.median(footprint.mebibytes for footprint in footprints),
    )
