"""Knows the suite's legs and how to count what one leg found; knows nothing of servers."""

import json
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from tests.peers.install import environment, node

HERE: Final = Path(__file__).parent
_LIMIT: Final = 240  # seconds a leg


@dataclass(frozen=True)
class Leg:
    """One run of the suite's command line."""

    name: str
    arguments: tuple[str, ...]

    @property
    def expected_failures(self) -> Path:
        """The scenarios that may fail. One that passes all the same is an error: it is stale."""
        return HERE / f"expected-failures-{self.name}.yml"


VERSIONS: Final = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
LEGS: Final = (
    *(Leg(version, ("--suite", "all", "--spec-version", version)) for version in VERSIONS),
    # The scenarios that a revision requires, frozen at its release.
    *(Leg(f"{v}-required", ("--requirements", v)) for v in ("2025-11-25", "2026-07-28")),
    # Without a version: the only way to the extensions.
    Leg("all", ("--suite", "all")),
)


@dataclass(frozen=True)
class Outcome:
    """What one leg found: how many checks came out how, and which scenarios failed unexpectedly."""

    checks: Mapping[str, int]
    unexpected: tuple[str, ...]
    passed: bool
    output: str

    def __str__(self) -> str:
        return "/".join(str(self.checks[status]) for status in ("SUCCESS", "FAILURE", "WARNING"))


@dataclass(frozen=True)
class Suite:
    """The installed suite, pointed at a server that is up; `state` receives its results."""

    peers: Path
    url: str
    token: str
    state: Path

    def run(self, leg: Leg) -> Outcome:
        """Run one leg. It passes if the suite says so and a check was made at all.

        Raises:
            subprocess.TimeoutExpired: the suite hangs.
        """
        out = Path(tempfile.mkdtemp(prefix=f"{leg.name}-", dir=self.state))
        done = subprocess.run(
            self._command(leg, out),
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
        counted = Counter(
            status for path in out.glob("*/checks.json") for status in _statuses(path)
        )
        return Outcome(
            checks=counted,
            unexpected=tuple(sorted(_unexpected(done.stdout))),
            passed=done.returncode == 0 and counted["SUCCESS"] > 0,
            output=done.stdout,
        )

    def _command(self, leg: Leg, out: Path) -> list[str]:
        script = self.peers / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
        return [
            *[str(node(self.peers)), str(script), "server", "--url", self.url, *leg.arguments],
            *["--expected-failures", str(leg.expected_failures), "--output-dir", str(out)],
        ]

    def _environment(self) -> dict[str, str]:
        """The suite sends no Authorization header of its own; the preloaded module adds one."""
        preload = (HERE / "auth-preload.mjs").as_uri()
        return environment(
            self.peers, MCP_TEST_TOKEN=self.token, NODE_OPTIONS=f"--import {preload}", NO_COLOR="1"
        )


def _statuses(path: Path) -> list[str]:
    """How each check of one scenario came out; "SKIPPED" and "INFO" are among them."""
    return [check["status"] for check in json.loads(path.read_text(encoding="utf-8"))]


def _unexpected(output: str) -> list[str]:
    """What the suite lists under that head; a scenario that it does not score is not there."""
    listed = output.partition("Unexpected failures (not in baseline):")[2]
    return re.findall(r"^  ✗ (\S+)$", listed, re.MULTILINE)


def expect_nothing(leg: Leg) -> None:
    """Clear the file, so that a run finds all there is."""
    _write(leg, ())


def expect(leg: Leg, outcome: Outcome) -> None:
    """Expect exactly what failed. What this removes is progress; what it adds needs a reason."""
    _write(leg, outcome.unexpected)


def _write(leg: Leg, scenarios: tuple[str, ...]) -> None:
    text = (
        f"# Scenarios of the leg {leg.name} that may fail; one that passes all the same is stale.\n"
    )
    text += yaml.safe_dump({"server": list(scenarios)})
    leg.expected_failures.write_text(text, encoding="utf-8")
