"""What requests without a good credential leave in the call log: so many rows, and their number.

Counted by each process for itself: to turn a flood away must not cost more than its answers. It
knows nothing of who may call.
"""

import atexit
import os
import secrets
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_app.address import network_of
from mcp_app.conf import settings
from mcp_app.dispatch.dispatcher import new_record
from mcp_app.dispatch.interfaces import CallRecord, Outcome
from mcp_app.dispatch.receipts import Receipt
from mcp_app.rates.window import Rate
from mcp_app.transports import shutdown
from mcp_app.transports.recording import recorder

ADDRESSES: Final = 10
"""So many addresses, and so many tokens, may use up their rows at one process; then there are none
for others."""

_PATIENCE: Final = 1.0
"""Seconds that a stop waits at most for the number to be committed."""


@dataclass(slots=True, eq=False)
class _Window:
    rate: Rate
    began: float = field(default_factory=time.time)
    clock: float = field(default_factory=time.monotonic)
    rows: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By the token that their secret once was of, else by the network that they came from."""
    stored: Counter[str] = field(default_factory=Counter)
    """The same of all tokens, and of all networks."""
    left_out: int = 0
    address: str | None = None
    """Whose those were that were left out, if it was one."""

    @property
    def left(self) -> float:
        """Seconds until it is over."""
        return self.clock + self.rate.seconds - time.monotonic()

    def fits(self, address: str | None, token: Any) -> bool:
        """Count one request; whether it may leave a row of its own.

        No flood of guesses crowds out the rows of a secret that was genuine: revoked or leaked, its
        use is what an administrator looks for.
        """
        place = ("network", network_of(address)) if token is None else ("token", str(token.pk))
        kind, limit = place[0], self.rate.limit
        if self.rows[place] < limit and self.stored[kind] < ADDRESSES * limit:
            self.rows[place] += 1
            self.stored[kind] += 1
            return True
        self.address = address if self.left_out == 0 or address == self.address else None
        self.left_out += 1
        return False

    def record(self) -> CallRecord:
        """The row that stands for all that have none."""
        record = new_record(correlation_id=secrets.token_hex(16))
        record.started_at, record.duration = self.began, 0.0
        record.outcome, record.address = Outcome.UNAUTHENTICATED, self.address
        record.error_text = (
            f"{self.left_out} more within {self.rate.seconds:g} seconds have no rows of their own"
        )
        return record


class Strangers:
    """The rows that one process has stored for nobody, in the window that is open."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Count from nothing, as a new process does."""
        self._lock = threading.Lock()
        self._window: _Window | None = None

    def may_leave_row(self, record: CallRecord) -> bool:
        """Whether it is somebody's, or one of those of nobody that are recorded one by one."""
        if record.source or settings.UNAUTHENTICATED_ROWS is None:
            return True
        with self._lock:
            window = self._window
            if window is None or (window.left <= 0 and not window.left_out):
                window = self._window = _Window(Rate.parse(settings.UNAUTHENTICATED_ROWS))
            fits = window.fits(record.address, record.token)
            if window.left_out == 1 and not fits:
                self._close_later(window)
        return fits

    def tell(self) -> None:
        """End the window now, and record how many were left out of it."""
        if (window := self._window) is not None:
            self._close(window)

    def tell_before_stop(self) -> None:
        """The same in the midst of whatever the main thread does, and wait until it is committed.

        A thread of its own does it: the main one may be counting.
        """
        if (window := self._window) is not None and window.left_out:
            telling = threading.Thread(target=self._tell_and_wait, daemon=True)
            telling.start()
            telling.join(_PATIENCE)

    def _tell_and_wait(self) -> None:
        if (window := self._window) is not None and (told := self._close(window)) is not None:
            told.result(_PATIENCE)

    def _close(self, window: _Window) -> Receipt | None:
        with self._lock:
            if self._window is not window:
                return None
            self._window = None
        return recorder().submit(window.record()) if window.left_out else None

    def _close_later(self, window: _Window) -> None:
        timer = threading.Timer(max(window.left, 0.0), self._close, [window])
        timer.daemon = True
        timer.start()


strangers: Final = Strangers()
atexit.register(strangers.tell)
shutdown.before_stop(strangers.tell_before_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=strangers.forget)
