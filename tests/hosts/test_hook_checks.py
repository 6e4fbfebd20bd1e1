"""Hooks that would never be awaited stop the process (`mcp_app.E003`)."""

from functools import partial
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.exceptions import ImproperlyConfigured

from mcp_app import checks
from mcp_app.conf import HOOKS


async def later(*given: Any) -> None:
    """Decide too late."""


async def piece_by_piece(*given: Any) -> Any:
    """Decide never."""
    yield


class Later:
    """An object whose call is async."""

    async def __call__(self, *given: Any) -> None:
        """Decide too late."""


class Now:
    """An object that decides at once."""

    def __call__(self, *given: Any) -> None:
        """Decide."""

    async def later(self, *given: Any) -> None:
        """Decide too late."""


PATH = f"{__name__}.later"


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize(
    "hook",
    [later, PATH, piece_by_piece, Later(), Now().later, partial(later, 1)],
    ids=["function", "path", "generator", "object", "method", "partial"],
)
def test_an_async_hook_is_refused(settings: Any, name: str, hook: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, name: hook if name == "ORIGIN_CHECK" else [hook]}
    (error,) = checks.check_hooks()
    assert error.id == "mcp_app.E003"
    assert repr(name) in error.msg
    with pytest.raises(ImproperlyConfigured, match="worker threads"):
        checks.report()


@pytest.mark.parametrize("name", HOOKS)
def test_other_hooks_are_not(settings: Any, name: str) -> None:
    good = [print, len, Now(), Now().__call__, lambda *given: None, async_to_sync(later)]
    for hook in good:
        settings.MCP_APP = {**settings.MCP_APP, name: hook if name == "ORIGIN_CHECK" else [hook]}
        assert checks.check_hooks() == []
