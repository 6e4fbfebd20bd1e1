"""Knows how the Node peers get onto this machine, once for each change of their lock file.

The packages include a Node 22, since the suite and the Inspector need a newer one than many
machines have; npm and any Node that runs it are all that must be there.
"""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent.parent
FOLDER: Final = ROOT / ".peers"
_FILES: Final = ("package.json", "package-lock.json", ".npmrc")
_LIMIT: Final = 300  # seconds


def install() -> Path:
    """Return the folder that holds the installed packages.

    Raises:
        FileNotFoundError: npm is not on PATH.
        subprocess.CalledProcessError: npm failed; what it printed is shown.
    """
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs may start at once
        stamp = FOLDER / "installed"
        wanted = "".join((HERE / name).read_text() for name in _FILES)
        if not stamp.exists() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            for name in _FILES:
                shutil.copy(HERE / name, FOLDER / name)
            # Not `npm ci`: it refuses a lock file without an optional package for Windows that
            # not every registry has. This installs the locked versions just the same.
            command = ["npm", "install", "--no-save", "--loglevel=error"]
            subprocess.run(command, cwd=FOLDER, check=True, timeout=_LIMIT)
            stamp.write_text(wanted)
    return FOLDER


def node(folder: Path) -> Path:
    """The Node 22 that came with the packages."""
    return folder / "node_modules" / "node" / "bin" / "node"


def environment(folder: Path, **more: str) -> dict[str, str]:
    """An environment in which `node` is that Node, with `more` added."""
    path = f"{node(folder).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return os.environ | {"PATH": path} | more
