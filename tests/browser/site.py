"""Knows a live example and how a script in Chromium is sent there; knows no page of it."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests import live
from tests.peers.install import environment, install, node

HERE: Final = Path(__file__).parent
_LIMIT: Final = 240  # seconds a script


@dataclass(frozen=True)
class Site:
    """The example behind a server, as an administrator with a browser has it.

    Attributes:
        origin: where it is.
        password: of the user "admin".
        shots: the folder that pictures go to; `BROWSER_SHOTS` names one that is kept.
        environment: for `manage.py`.
    """

    origin: str
    password: str
    shots: Path
    environment: Mapping[str, str]

    def look(self, pages: Mapping[str, str]) -> list[str]:
        """What is wrong with each page (name: path) in light and dark, at 1280 and 400 pixels.

        That is: a violation that axe-core calls serious or critical, an error in the console (a
        breach of `policy.POLICY` is one), a page wider than its window, a status other than 200.
        """
        wrong: list[str] = self.run("look.mjs", pages=pages, shots=str(self.shots))["wrong"]
        return wrong

    def run(self, script: str, **given: Any) -> dict[str, Any]:
        """What one of the scripts here prints.

        Raises:
            AssertionError: it gave up; the message has what it said.
        """
        known = {"origin": self.origin, "username": "admin", "password": self.password}
        folder = install()
        done = subprocess.run(
            [str(node(folder)), str(HERE / script)],
            env=environment(
                folder, PEERS=str(folder), CHROMIUM=_chromium(), GIVEN=json.dumps(known | given)
            ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
        if done.returncode:
            raise AssertionError(f"{script} exits {done.returncode}:\n{done.stderr}{done.stdout}")
        printed: dict[str, Any] = json.loads(done.stdout)
        return printed

    def manage(self, *arguments: str) -> str:
        """What one `manage.py` command prints."""
        return live.manage(self.environment, *arguments)


def _chromium() -> str:
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    assert found, "no chromium on PATH; CHROMIUM may name one"
    return found
