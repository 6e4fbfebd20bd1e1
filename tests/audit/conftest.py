"""A writer of its own for each test."""

from collections.abc import Iterator

import pytest

from mcp_app.audit.writer import EventWriter
from mcp_app.transports.recording import recorder
from tests.audit.records import PATIENCE


@pytest.fixture(autouse=True)
def idle_recorder() -> None:
    """No thread of the process's own recorder is left over from tests that made calls."""
    recorder().close(PATIENCE)  # type: ignore[attr-defined]


@pytest.fixture
def writer() -> Iterator[EventWriter]:
    made = EventWriter()
    yield made
    made.close(PATIENCE)
