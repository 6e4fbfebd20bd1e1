"""What is said when the counters are away: once in a while, not once a call."""

import logging
import threading
import time
from typing import Final

logger: Final = logging.getLogger("mcp_app.rates")

INTERVAL: Final = 60.0
"""Seconds between two lines."""

_lock: Final = threading.Lock()
_said = -INTERVAL


def note(error: Exception) -> None:
    """Log that limits could not be counted. Called while the exception is handled."""
    global _said
    with _lock:
        now = time.monotonic()
        if now - _said < INTERVAL:
            return
        _said = now
    logger.error("Limits cannot be counted: %s", type(error).__name__, exc_info=error)
