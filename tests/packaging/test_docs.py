"""What the pages of docs/ point at is there."""

import re
from pathlib import Path

import pytest

from mcp_app.catalog.uris import UriTemplate

DOCS = Path(__file__).parents[2] / "docs"
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)[^)]*\)")


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target


def test_each_picture_is_shown_and_told_in_words() -> None:
    text = "".join(page.read_text() for page in DOCS.glob("*.md"))
    shown = dict(re.findall(r"!\[([^\]]{20,})\]\((pictures/[^)]+)\)", text))
    assert sorted(shown.values()) == sorted(
        f"pictures/{path.name}" for path in (DOCS / "pictures").iterdir()
    )


URIS = re.findall(
    r"^\| `([^`]+)` \| `([^`]+)` \| ([^|]+) \|$", (DOCS / "resources.md").read_text(), re.MULTILINE
)


def test_the_uris_that_are_explained_are_found() -> None:
    assert len(URIS) > 10


@pytest.mark.parametrize(("template", "uri", "told"), URIS, ids=[row[1] for row in URIS])
def test_what_is_said_of_a_uri_is_what_it_means(template: str, uri: str, told: str) -> None:
    said = dict(re.findall(r"`(\w+)` is `([^`]+)`", told))
    values = UriTemplate(template).match(uri)
    assert values == (None if told.startswith("no match") else said)


PROMISES = re.findall(
    r"^\| (?!promise|---)([^|]+) \| ([^|]+) \| ([^|]+) \|$",
    (DOCS / "security.md").read_text(),
    re.MULTILINE,
)


@pytest.mark.parametrize(
    ("promise", "places", "tests"), PROMISES, ids=[f"row {n}" for n in range(len(PROMISES))]
)
def test_each_promise_of_security_names_code_and_tests_that_are_there(
    promise: str, places: str, tests: str
) -> None:
    root = DOCS.parent
    for place in re.findall(r"`([^`]+)`", places):
        assert (root / "mcp_app" / place).exists(), promise
    named = re.findall(r"`([^`]+)`", tests)
    assert named or tests == "the same", promise
    for test in named:
        path = root / "tests" / test
        files = path.rglob("test_*.py") if path.is_dir() else [path]
        assert any("def test_" in file.read_text() for file in files), promise


def test_no_promise_of_security_is_left_out() -> None:
    lines = (DOCS / "security.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| ") and line.count(" | ") == 2]
    assert len(PROMISES) == len([row for row in rows if not row.startswith("| promise |")])
