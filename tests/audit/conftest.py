"""A writer of its own for each test."""

from collections.abc import Iterator

import hypothesis
import pytest

from mcp_app.audit.writer import EventWriter
from tests.audit.records import PATIENCE

# How long an example takes says how busy the machine is, and nothing else.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")


@pytest.fixture
def writer() -> Iterator[EventWriter]:
    made = EventWriter()
    yield made
    made.close(PATIENCE)
