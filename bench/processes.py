"""Runs a server as a process on chosen cores, and reads what it costs from the operating system."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.load import HOST

ROOT: Final = Path(__file__).resolve().parent.parent
CORES: Final = sorted(os.sched_getaffinity(0))
SERVER_CORE: Final = {CORES[0]}
LOAD_CORE: Final = {CORES[-1]}
_TICK: Final = 1 / os.sysconf("SC_CLK_TCK")
_COMMAND: Final = 120.0  # seconds
_START: Final = 60.0  # seconds until a server must listen
_STOP: Final = 10.0  # seconds until one that was asked to stop is killed


def free_port() -> int:
    """A port that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def tree(pid: int) -> list[int]:
    """The process and all that it started, while they live."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in task.read_text().split():
                found += tree(int(child))
    return found


def cpu(pids: Sequence[int]) -> float:
    """User and system time of the processes in seconds, to a hundredth each."""
    return sum(_ticks(pid) for pid in pids) * _TICK


def _ticks(pid: int) -> int:
    with contextlib.suppress(OSError):
        # The name in brackets may hold spaces; utime and stime are the 14th and 15th field.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    return 0


def memory(pids: Sequence[int]) -> float:
    """Resident memory in MiB; what processes share counts once (PSS)."""
    return sum(_proportional(pid) for pid in pids) / 1024


def _proportional(pid: int) -> int:
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        if found := re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE):
            return int(found[1])
    return 0


@contextlib.contextmanager
def on_cores(cores: set[int]) -> Iterator[None]:
    """Run on these cores, and start processes on them."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def printed(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run a command to its end and return what it printed.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=_COMMAND,
    )
    return done.stdout.strip()


@contextlib.contextmanager
def running(
    command: Sequence[str], port: int, environment: Mapping[str, str], log: Path, cores: set[int]
) -> Iterator[int]:
    """The process id of a server that listens on `port`; it is stopped when the block ends.

    Raises:
        RuntimeError: it ended, or did not listen in time; the message has its log.
    """
    with log.open("wb") as output:
        with on_cores(cores):
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            _await_listening(process, port, log)
            yield process.pid
        finally:
            _stop(process)


def _await_listening(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} does not listen on {port}:\n{log.read_text()}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
