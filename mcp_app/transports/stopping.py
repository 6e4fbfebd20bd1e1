"""Stops a call in its caller's stead, in whichever process it runs.

A call can be found so while it goes on and its row is in the log, by its correlation id.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from mcp_app.dispatch.services import Inbound
from mcp_app.transports.bus import bus
from mcp_app.transports.inquiry import Said, inquire, respond_to

RUNNING_TOPIC: Final = "calls.running"
"""Where it is asked who runs a call, and asked for its end."""

PATIENCE: Final = 2.0
"""Seconds that processes have to say that they run a call."""

_running: Final[dict[str, Callable[[str], None]]] = {}
"""By correlation id, what stops a call of this process."""


@contextmanager
def stoppable(inbound: Inbound, *, in_log: bool) -> Iterator[None]:
    """Let a call be stopped for the length of the block, where its row is in the log."""
    if not in_log:
        yield
        return
    # Nothing else that a WSGI process does has it hear the others.
    bus.listen()
    key = inbound.record.correlation_id
    _running[key] = inbound.cancellation.stop
    try:
        yield
    finally:
        del _running[key]


def find(correlation_id: str) -> dict[str, Any] | None:
    """What the process that runs a call says, "process" its name; None where none says so.

    Not on an event loop.
    """
    return _ask(correlation_id, by="")


def stop(correlation_id: str, by: str) -> dict[str, Any] | None:
    """As `find`, and the call is asked to stop, and will say by whom."""
    return _ask(correlation_id, by=by)


def connect() -> None:
    """Answer for the calls of this process."""
    respond_to(RUNNING_TOPIC, _answer)


def _ask(correlation_id: str, *, by: str) -> dict[str, Any] | None:
    question = {"call": correlation_id, "by": by}
    found = inquire(RUNNING_TOPIC, question, seconds=PATIENCE, enough=1)
    return found[0] if found else None


def _answer(question: Said) -> Said | None:
    end = _running.get(question["call"])
    if end is None:
        return None
    if question["by"]:
        end(question["by"])
    return {"call": question["call"]}
