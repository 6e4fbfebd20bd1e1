"""Knows how a Python peer gets an environment of its own, once for each change of its pins."""

import fcntl
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.peers.install import FOLDER, HERE

_LIMIT: Final = 300  # seconds


def interpreter(name: str) -> Path:
    """The Python of the environment that `<name>.txt` beside this file pins.

    Raises:
        subprocess.CalledProcessError: pip failed; what it printed is shown.
    """
    FOLDER.mkdir(exist_ok=True)
    folder, pins = FOLDER / name, HERE / f"{name}.txt"
    python = folder / "bin" / "python"
    with (FOLDER / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs may start at once
        stamp = folder / "installed"
        if not stamp.exists() or stamp.read_text() != pins.read_text():
            _run(sys.executable, "-m", "venv", "--clear", str(folder))
            _run(str(python), "-m", "pip", "install", "--quiet", "--requirement", str(pins))
            stamp.write_text(pins.read_text())
    return python


def _run(*command: str) -> None:
    subprocess.run(command, check=True, timeout=_LIMIT)
