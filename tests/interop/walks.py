"""Other people's clients as scripts that walk through every feature and print what they saw."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.interop.clients import LEGACY, MODERN
from tests.peers.install import environment, install, node
from tests.peers.python_peers import interpreter

SCRIPTS: Final = Path(__file__).parent / "scripts"
_LIMIT: Final = 60  # seconds a client


@dataclass(frozen=True)
class Walk:
    """One client in one mode, and the revision that it should arrive at."""

    script: str
    mode: str
    version: str

    def __str__(self) -> str:
        return f"{Path(self.script).stem}-{self.mode}"

    def run(self, url: str, token: str) -> dict[str, Any]:
        """What the client saw.

        Raises:
            AssertionError: it gave up; the message has what it said.
        """
        program = _PROGRAMS.get(self.script, _node)()
        done = subprocess.run(
            [*program, str(SCRIPTS / self.script)],
            env=environment(
                install(),
                PEERS=str(install()),
                URL=url,
                TOKEN=token,
                MODE=self.mode,
                NAME=str(self),
                PYTHONPATH="",
            ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
        if done.returncode:
            raise AssertionError(f"{self} exits {done.returncode}:\n{done.stderr}{done.stdout}")
        seen: dict[str, Any] = json.loads(done.stdout)
        return seen


def _node() -> list[str]:
    return [str(node(install()))]


def _python(name: str) -> Callable[[], list[str]]:
    return lambda: [str(interpreter(name)), "-W", "ignore"]


_PROGRAMS: Final[dict[str, Callable[[], list[str]]]] = {
    "python_v2.py": lambda: [sys.executable, "-W", "ignore"],
    "python_v1.py": _python("python-v1"),
    "fastmcp_v4.py": _python("fastmcp-v4"),
}

WALKS: Final = (
    Walk("python_v1.py", "legacy", LEGACY),
    *(
        Walk(script, mode, LEGACY if mode == "legacy" else MODERN)
        for script in ("python_v2.py", "fastmcp_v4.py", "typescript_v2.mjs")
        for mode in ("legacy", "auto", MODERN)
    ),
    Walk("typescript_v1.mjs", "legacy", LEGACY),
)
