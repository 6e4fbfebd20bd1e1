"""Installs each peer in an environment of its own under `.peers/`, so that no pins meet.

`python -m bench.environments` installs all of them; one that is there already is left alone.
"""

import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.processes import ROOT

FOLDER: Final = ROOT / ".peers"
_REQUIREMENTS: Final = Path(__file__).parent / "environments"
_TYPESCRIPT: Final = Path(__file__).parent / "servers" / "peers" / "typescript"
_LIMIT: Final = 600  # seconds
_PIP: Final = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet")


def folder(name: str) -> Path:
    """Where the environment of a peer is, installed or not."""
    return FOLDER / f"bench-{name}"


def python(name: str) -> str:
    """The interpreter of a peer's environment."""
    return str(folder(name) / "bin" / "python")


def install(name: str) -> None:
    """Make the environment of `environments/<name>.txt`, unless that very one is there.

    Raises:
        subprocess.CalledProcessError: a package cannot be had.
    """
    requirements = _REQUIREMENTS / f"{name}.txt"
    if _is_installed(name, requirements):
        return
    venv.create(folder(name), with_pip=True, clear=True)
    _run([python(name), *_PIP, "-r", str(requirements)], ROOT)
    _note(name, requirements)


def install_typescript() -> None:
    """The same for the TypeScript server, by npm."""
    target, manifest = folder("typescript"), _TYPESCRIPT / "package.json"
    target.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "server.mjs"):
        shutil.copy(_TYPESCRIPT / name, target / name)
    if _is_installed("typescript", manifest):
        return
    _run(["npm", "install", "--no-package-lock", "--loglevel=error"], target)
    _note("typescript", manifest)


def _is_installed(name: str, wanted: Path) -> bool:
    stamp = folder(name) / "installed"
    return stamp.exists() and stamp.read_text() == wanted.read_text()


def _note(name: str, wanted: Path) -> None:
    (folder(name) / "installed").write_text(wanted.read_text())


def _run(command: list[str], where: Path) -> None:
    subprocess.run(command, cwd=where, check=True, timeout=_LIMIT)


def main() -> int:
    """Install all; a peer that cannot be had is named, and left out of the run."""
    names = [path.stem for path in sorted(_REQUIREMENTS.glob("*.txt"))]
    done = [_tried(name, install) for name in names]
    done.append(_tried("typescript", lambda _: install_typescript()))
    return 0 if all(done) else 1


def _tried(name: str, act: Callable[[str], None]) -> bool:
    print(f"Installing {name} into {folder(name).relative_to(ROOT)}", flush=True)
    try:
        act(name)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"{name} could not be installed: {error}", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
