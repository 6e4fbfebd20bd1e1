"""What tests of several kinds of tools share."""

from collections.abc import Iterator
from typing import Any

import pytest

from mcp_app.testing import DOORS, Door, inline_workers


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> Door:
    """Each door in turn."""
    return request.param


@pytest.fixture
def players_mounted(settings: Any) -> Iterator[None]:
    """The tools over players, at each door."""
    settings.ROOT_URLCONF = "tests.integrations.players"
    with inline_workers():
        yield
