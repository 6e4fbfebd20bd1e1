"""A page as it is read: its words, without its tags."""

import html
import re


def words(page: str) -> str:
    """The text of a page on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())
