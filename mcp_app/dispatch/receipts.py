"""What a recorder gives for an event: whether its row stands, known once it is committed.

A `concurrent.futures.Future` does more than that, and costs a call three times as much.
"""

import logging
import threading
from collections.abc import Callable
from typing import Final

logger: Final = logging.getLogger("mcp_app.audit")


class Receipt:
    """Whether one event is stored: unknown at first, then True, or False where it was lost.

    Any thread may wait for it, or have itself called; it cannot be cancelled and holds no
    exception.
    """

    __slots__ = ("_hear", "_lock", "_stored")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stored: bool | None = None
        self._hear: list[Callable[[Receipt], None]] = []

    def settle(self, stored: bool) -> None:
        """Say how it ended, once, and call those who wanted to hear of it, in this thread."""
        with self._lock:
            self._stored = stored
            hear, self._hear = self._hear, []
        for callback in hear:
            _call(callback, self)

    def done(self) -> bool:
        """Whether it is known."""
        return self._stored is not None

    def result(self, timeout: float | None = None) -> bool:
        """Whether the event is stored; waits until that is known.

        Args:
            timeout: in seconds; None waits for as long as it takes.

        Raises:
            TimeoutError: it is not known by then.
        """
        if self._stored is None:
            known = threading.Event()
            self.add_done_callback(lambda _: known.set())
            if not known.wait(timeout):
                raise TimeoutError("The event is not committed yet.")
        assert self._stored is not None, "who is called knows how it ended"
        return self._stored

    def add_done_callback(self, callback: "Callable[[Receipt], None]") -> None:
        """Call it once that is known, in the thread that settles it; at once if it is known."""
        with self._lock:
            if self._stored is None:
                self._hear.append(callback)
                return
        _call(callback, self)


def _call(callback: Callable[[Receipt], None], receipt: Receipt) -> None:
    try:
        callback(receipt)
    except Exception:
        # Others wait for what the thread that settles it does next.
        logger.exception("Whoever waits for a call event failed")
