"""What is said when the counters are away: once in a while, not once a call."""

import logging
from typing import Final

from mcp_app.seldom import SeldomLog

_uncounted: Final = SeldomLog(logging.getLogger("mcp_app.rates"), logging.ERROR)


def note(error: Exception) -> None:
    """Log that limits could not be counted."""
    _uncounted.note("Limits cannot be counted: %s", type(error).__name__, error=error)
