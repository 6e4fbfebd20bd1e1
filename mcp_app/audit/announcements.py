"""Who hears of a stored event: the signals and `MCP_APP["ON_CALL"]`. None of them can break a call.

They run in a thread of their own, so that a slow one delays neither a call nor a commit.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from django.db import close_old_connections
from django.dispatch import Signal
from django.utils.module_loading import import_string

from mcp_app.audit.background import Background
from mcp_app.audit.storage import Entry
from mcp_app.conf import settings
from mcp_app.dispatch.interfaces import CallRecord, Outcome
from mcp_app.seldom import SeldomLog
from mcp_app.signals import tool_called, tool_denied

logger: Final = logging.getLogger("mcp_app.audit")
_hook_failed: Final = SeldomLog(logger, logging.ERROR)

MOST_WAITING: Final = 1000
"""Beyond it, events are not announced; they are stored all the same."""

_REFUSED_CALLERS: Final = {Outcome.DENIED, Outcome.THROTTLED, Outcome.UNAUTHENTICATED}
_TEXTS: Final = (
    *("method", "tool", "error_text", "session_id", "token_lookup"),
    *("client_name", "client_version", "protocol_version"),
)
"""What of a record a caller may have written as they liked."""
_NEVER_CALLED: Final = {Outcome.UNKNOWN, Outcome.REFUSED}


class Announcer:
    """Tells the listeners of finished calls, in the order of their commits."""

    def __init__(self) -> None:
        self._background = Background("mcp_app-on-call", self._announce_later, most=50)
        self._dropping = False

    def announce(self, entries: Sequence[Entry], *, now: bool = False) -> None:
        """Announce those of `entries` that are stored and tell of a call's end.

        Args:
            entries: rows in the order they were committed.
            now: in the calling thread, before this returns.
        """
        ended = [entry for entry in entries if entry.stored and entry.event.has_ended]
        if not ended or not _has_listeners():
            return
        for entry in ended:
            if now or not self._queue(entry):
                _announce(entry)

    def close(self, timeout: float | None = None) -> None:
        """Wait until all that is queued has been announced."""
        self._background.close(timeout)

    def _queue(self, entry: Entry) -> bool:
        """False where no thread can run: the process is ending."""
        full = self._background.waiting >= MOST_WAITING
        if full and not self._dropping:
            logger.error("MCP_APP['ON_CALL'] and signal receivers are too slow: events are skipped")
        self._dropping = full
        try:
            if not full:
                self._background.put(entry)
        except RuntimeError:
            return False
        return True

    def _announce_later(self, entries: list[Entry]) -> None:
        close_old_connections()
        for entry in entries:
            _announce(entry)


def _has_listeners() -> bool:
    return bool(settings.ON_CALL) or any(
        # Django asks for a lock to find out that nobody has ever listened.
        signal.receivers and signal.has_listeners(CallRecord)
        for signal in (tool_called, tool_denied)
    )


def _announce(entry: Entry) -> None:
    event = entry.event
    signal = _signal(entry)
    if signal is not None:
        signal.send_robust(CallRecord, record=_as_its_row(entry))
    for hook in settings.ON_CALL:
        try:
            _callable(hook)(event)
        except BaseException as error:
            # Whatever it raises, the thread has others to tell.
            _hook_failed.note("MCP_APP['ON_CALL'] %r failed", hook, error=error, about=repr(hook))


def _as_its_row(entry: Entry) -> CallRecord:
    """The record with the row's texts: receivers get no secret either."""
    record, event = entry.record, entry.event
    texts = {name: getattr(event, name) for name in _TEXTS}
    number = not isinstance(record.request_id, str)
    request_id = record.request_id if number else event.request_id
    return replace(record, arguments=event.arguments, request_id=request_id, **texts)


def _callable(hook: Any) -> Callable[..., Any]:
    found: Callable[..., Any] = import_string(hook) if isinstance(hook, str) else hook
    return found


def _signal(entry: Entry) -> Signal | None:
    """What is announced of a tool call; a refused caller may not have come to name a method."""
    outcome, method = entry.event.outcome, entry.event.method
    if outcome in _REFUSED_CALLERS and method in {"tools/call", ""}:
        return tool_denied
    if outcome not in _NEVER_CALLED | _REFUSED_CALLERS and method == "tools/call":
        return tool_called
    return None
