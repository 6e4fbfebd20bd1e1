"""The README says what is so."""

import re
from pathlib import Path

import pytest

from mcp_app.conf import DEFAULTS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_setting_has_its_row_and_no_other_has() -> None:
    rows = re.findall(r"^\| (`[A-Z_`, ]+`) \|", README, re.MULTILINE)

    assert {name for row in rows for name in re.findall(r"[A-Z_]+", row)} == set(DEFAULTS)


def test_it_is_read_in_ten_minutes() -> None:
    assert 120 <= len(README.splitlines()) <= 200


@pytest.mark.parametrize("command", ["run", "test", "check", "help", "conformance", "interop"])
def test_the_commands_that_it_names_are_there(command: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert f"`make {command}`" in README or f"\nmake {command} " in README
    assert re.search(rf"^{command}:", makefile, re.MULTILINE)


def test_the_paths_that_it_names_are_there() -> None:
    paths = re.findall(
        r"`((?:mcp_app|project|requirements)/[\w./]*|CHANGELOG\.md|LICENSE)`", README
    )

    assert len(paths) > 5
    assert [path for path in paths if not (ROOT / path).exists()] == []
