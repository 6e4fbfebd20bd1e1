"""What is done when the process is asked to stop, before the server's own handler hears of it.

There is no lifespan to rely on, and a server may end by the signal itself, so that nothing of
`atexit` runs: the signal is heard beside the server's own handler.
"""

import logging
import os
import signal
import threading
from collections.abc import Callable
from typing import Any, Final

logger: Final = logging.getLogger("mcp_app")

_acts: Final[dict[Callable[[], object], None]] = {}
"""In the order that they were given in."""
_hearing: Final[set[int]] = set()
"""The process that has begun to hear the signals: its id, or none."""


def before_stop(act: Callable[[], object]) -> None:
    """Have `act` called in the main thread, which may be anywhere then; it must not take long."""
    _acts[act] = None


def hear() -> None:
    """Begin to hear the signals, in the main thread of a server that has its own handlers now.

    From any other thread, and once that has happened, nothing comes of it.
    """
    if os.getpid() in _hearing or threading.current_thread() is not threading.main_thread():
        return
    hear_anew()
    _hearing.add(os.getpid())


def hear_anew() -> None:
    """The same, where the server may have put handlers of its own in the place of these."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        own = signal.getsignal(number)
        if callable(own) and not getattr(own, "hears_for_mcp_app", False):
            signal.signal(number, _beside(own))


def _beside(own: Callable[[int, Any], Any]) -> Callable[[int, Any], Any]:
    def handler(number: int, frame: Any) -> Any:
        for act in tuple(_acts):
            try:
                act()
            except Exception:
                logger.exception("What is due before a stop failed")
        return own(number, frame)

    handler.hears_for_mcp_app = True  # type: ignore[attr-defined]
    return handler
