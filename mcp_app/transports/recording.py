"""The one recorder of call events of this process, and the way to put another in its place."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from mcp_app.audit.writer import EventWriter
from mcp_app.dispatch.interfaces import Recorder

_current: Final[list[Recorder]] = [EventWriter()]


def recorder() -> Recorder:
    """Where call events go."""
    return _current[-1]


@contextmanager
def recording_to(other: Recorder) -> Iterator[None]:
    """Send call events elsewhere for a while, as a test does."""
    _current.append(other)
    try:
        yield
    finally:
        _current.remove(other)
