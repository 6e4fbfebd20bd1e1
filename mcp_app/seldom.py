"""Log lines for what may fail at each call: in a process once an interval, with how often since."""

import logging
import threading
import time
from dataclasses import dataclass
from typing import Final

INTERVAL: Final = 60.0
"""Seconds between two lines of one kind, for the same type of error about the same thing."""


@dataclass(slots=True)
class _Said:
    at: float
    unsaid: int = 0
    """How often it has happened since."""


class SeldomLog:
    """One kind of line, which may be due many times in a second."""

    def __init__(self, logger: logging.Logger, level: int) -> None:
        self._logger = logger
        self._level = level
        self._lock = threading.Lock()
        self._said: dict[tuple[str, type[BaseException]], _Said] = {}
        _all.append(self)

    def note(self, message: str, *args: object, error: BaseException, about: str = "") -> None:
        """Log the line and the traceback, unless it is too soon: then it is counted.

        Args:
            about: the one of few things that has failed, each of which has lines of its own.
        """
        key = about, type(error)
        with self._lock:
            now, before = time.monotonic(), self._said.get(key)
            if before is not None and now - before.at < INTERVAL:
                before.unsaid += 1
                return
            self._said[key] = _Said(now)
        if before is not None and before.unsaid:
            message += " (%d more times since this was last logged)"
            args = (*args, before.unsaid)
        self._logger.log(self._level, message, *args, exc_info=error, stacklevel=2)

    def forget(self) -> None:
        """Log the next line whenever it comes, as after a start."""
        with self._lock:
            self._said.clear()


def forget() -> None:
    """Log every kind once more."""
    for log in _all:
        log.forget()


_all: Final[list[SeldomLog]] = []
