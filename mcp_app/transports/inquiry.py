"""Asks all processes something over the bus, and waits a short time for those that answer.

For people at a page: who does not answer may be dead, busy, or not listening to the bus.
"""

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp_app.transports.bus import Subscription, bus, is_shared

Said = Mapping[str, Any]
Respond = Callable[[Said], Said | None]
"""From any thread, and without blocking, what this process says; None for nothing."""

_MOST: Final = 1000
"""Answers that are kept."""


def process_name() -> str:
    """What an administrator can find this process by: its host's name and its number."""
    return f"{socket.gethostname()}:{os.getpid()}"


def respond_to(topic: str, respond: Respond) -> Subscription:
    """Have this process answer what is asked under a topic."""

    def listener(_: str, question: Said) -> None:
        said = respond(question)
        if said is not None:
            bus.publish(question["reply"], {"process": process_name(), **said})

    return bus.subscribe(topic, listener=listener)


def inquire(
    topic: str, question: Said, *, seconds: float, enough: int | None = None
) -> list[dict[str, Any]]:
    """What the processes answer. Not on an event loop.

    Args:
        seconds: how long other processes are waited for; without any, this one has answered at
            once.
        enough: so many answers end the wait.
    """
    inquiry = _Inquiry(enough)
    with bus.subscribe(inquiry.topic, listener=inquiry.hear):
        bus.wait_to_hear()
        bus.publish(topic, {**question, "reply": inquiry.topic})
        return inquiry.answers(seconds if is_shared() else 0.0)


class _Inquiry:
    def __init__(self, enough: int | None) -> None:
        self.topic = f"answers:{uuid.uuid4().hex}"
        self._enough = _MOST if enough is None else enough
        self._answers: dict[str, dict[str, Any]] = {}
        """By the process that says it, which is heard once."""
        self._changed = threading.Condition()

    def hear(self, _: str, said: Said) -> None:
        with self._changed:
            if len(self._answers) < _MOST:
                self._answers[said["process"]] = dict(said)
            self._changed.notify()

    def answers(self, seconds: float) -> list[dict[str, Any]]:
        deadline = time.monotonic() + seconds
        with self._changed:
            while len(self._answers) < self._enough:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            return list(self._answers.values())
