"""Tells those who watch the call log, in whichever process, that there is something to see.

Whoever watches says so on the bus again and again; a process that has not heard it for a while
tells nothing, and then storing events costs it nothing. A watcher must look by itself now and
then: not every process hears the bus.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp_app.audit import watching
from mcp_app.transports.bus import bus

WATCHED_TOPIC: Final = "calls.watched"
"""Where it is told that somebody watches."""
STORED_TOPIC: Final = "calls.stored"
"""Where it is told that events were stored. They are read from the database."""

RENEWAL: Final = 5.0
"""Seconds between two words of a watcher."""
_PATIENCE: Final = 3 * RENEWAL
"""Seconds of silence after which nobody watches any more."""
_GATHERING: Final = 0.1
"""Seconds, at least, between two announcements."""


def _announce() -> None:
    bus.publish(STORED_TOPIC, {})


class Beacon:
    """Lit while somebody watches; `announce` is then called when events were stored."""

    def __init__(self, announce: Callable[[], None] = _announce) -> None:
        self._announce = announce
        self._lock = threading.Lock()
        self._until = 0.0
        self._told_at = 0.0
        self._owing: threading.Timer | None = None

    def light(self, topic: str, message: Mapping[str, Any]) -> None:
        """Somebody watches. From any thread."""
        self._until = time.monotonic() + _PATIENCE
        watching.watch(self._stored)

    def put_out(self) -> None:
        """Nobody watches any more, for all that this process knows."""
        self._until = 0.0

    @property
    def is_lit(self) -> bool:
        """Whether somebody watches, as far as this process has heard."""
        return time.monotonic() < self._until

    def _stored(self) -> None:
        """Events were stored: tell of it now, or soon together with what follows."""
        now = time.monotonic()
        if now >= self._until:
            watching.unwatch(self._stored)
            return
        with self._lock:
            wait = self._told_at + _GATHERING - now
            if wait <= 0:
                self._told_at = now
            elif self._owing is None:
                self._owing = self._later(wait)
        if wait <= 0:
            self._announce()

    def _later(self, seconds: float) -> threading.Timer | None:
        timer = threading.Timer(seconds, self._pay)
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:
            return None  # the process is ending; who watches looks by itself
        return timer

    def _pay(self) -> None:
        with self._lock:
            self._owing, self._told_at = None, time.monotonic()
        self._announce()


beacon: Final = Beacon()
"""This process's."""


def connect() -> None:
    """Listen for watchers, within this process and from those that are heard."""
    bus.subscribe(WATCHED_TOPIC, listener=beacon.light)


def say_watched() -> None:
    """Somebody watches here."""
    bus.publish(WATCHED_TOPIC, {})
