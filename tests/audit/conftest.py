"""A writer of its own for each test."""

from collections.abc import Iterator

import pytest

from mcp_app.audit.writer import EventWriter
from tests.audit.records import PATIENCE


@pytest.fixture
def writer() -> Iterator[EventWriter]:
    made = EventWriter()
    yield made
    made.close(PATIENCE)
