"""The keywords of `tool` that stand beside a declaration which says some of them by itself."""

from collections.abc import Collection, Mapping
from typing import Any

from mcp_app.catalog import keywords
from mcp_app.catalog.declaration import Options
from mcp_app.catalog.problems import Problem, Refused


def check_stated(options: Mapping[str, Any], own: Collection[str], says: str, advice: str) -> None:
    """Refuse those that the declaration has as its `own`, and those that mean nothing.

    Args:
        says: who says them by itself, such as `a viewset says by itself`.
    """
    if taken := sorted(options.keys() & own):
        raise Refused(Problem.KEYWORD, f"{says} what {', '.join(taken)} is", advice)
    keywords.check_keywords(options, Options.__annotations__.keys() - own)
