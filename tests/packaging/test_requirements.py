"""The requirement files and the package say the same; pins are names and versions alone."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements"


def names(lines: list[str]) -> set[str]:
    """The distributions that the lines name, normalized."""
    found = (re.match(r"[A-Za-z0-9._-]+", line) for line in lines if not line.startswith("-"))
    return {re.sub(r"[-_.]+", "-", match[0]).lower() for match in found if match}


def lines(name: str) -> list[str]:
    """The lines of a requirements file that are no comment."""
    text = (REQUIREMENTS / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_the_example_runs_with_what_the_package_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["dependencies"] + project["optional-dependencies"]["daphne"]

    assert names(lines("run.txt")) == names(declared)


@pytest.mark.parametrize("name", ["run.txt", "test.txt", "dev.txt", "bench.txt"])
def test_what_is_required_is_pinned(name: str) -> None:
    assert names(lines(name)) <= names(lines("constraints.txt"))


def test_pins_are_names_and_versions_alone() -> None:
    assert all(
        re.fullmatch(r"[A-Za-z0-9._-]+==[\w.!+]+", line) for line in lines("constraints.txt")
    )


def test_the_lock_file_of_the_node_packages_has_no_download_address() -> None:
    text = (ROOT / "tests" / "peers" / "package-lock.json").read_text(encoding="utf-8")

    assert '"resolved"' not in text
