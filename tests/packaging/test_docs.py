"""What the pages of docs/ point at is there."""

import re
from pathlib import Path

import pytest

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
