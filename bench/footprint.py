"""What mcp_app adds to a Django process with DRF before its first request: time and memory.

Each figure is a fresh process's own, and the median of several that take turns. What they import
was compiled before, as an installer does it, whatever the machine says of that.
"""

import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench import processes

_TURNS: Final = 5
_START: Final = (sys.executable, "-m", "bench.servers.start")
_BOTH: Final[tuple[tuple[str, ...], ...]] = ((), ("mcp_app",))


@dataclass(frozen=True, slots=True)
class Footprint:
    """CPU seconds until a process is ready, and the MiB that it holds then."""

    seconds: float
    mebibytes: float


def added() -> tuple[Footprint, Footprint]:
    """A Django process with DRF and pydantic, and what mcp_app adds to it."""
    with tempfile.TemporaryDirectory() as compiled:
        environment = compiling_into(compiled)
        for arguments in _BOTH:
            _run(arguments, environment)
        turns = [[_run(arguments, environment) for arguments in _BOTH] for _ in range(_TURNS)]
    before = _median([plain for plain, _ in turns])
    after = _median([ours for _, ours in turns])
    grown = Footprint(after.seconds - before.seconds, after.mebibytes - before.mebibytes)
    return before, grown


def compiling_into(folder: str) -> dict[str, str]:
    """An environment in which what is imported is compiled once for all."""
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder}


def _run(arguments: Sequence[str], environment: Mapping[str, str]) -> Footprint:
    seconds, mebibytes = processes.printed([*_START, *arguments], environment).split()
    return Footprint(float(seconds), float(mebibytes))


def _median(footprints: Sequence[Footprint]) -> Footprint:
    return Footprint(
        statistics.median(footprint.seconds for footprint in footprints),
        statistics.median(footprint.mebibytes for footprint in footprints),
    )
