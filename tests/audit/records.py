"""Call records as dispatch makes them, and a gate that holds the writer."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db.backends.signals import connection_created

from mcp_app.catalog.disclosure import Disclosure
from mcp_app.dispatch.interfaces import CallRecord, Decision, Outcome

WRITER: Final = "mcp_app-audit"
"""The name of the writer's thread."""

PATIENCE: Final = 20
"""Seconds after which a test that waits for another thread fails."""


def call(**changes: Any) -> CallRecord:
    """A successful tool call, but for `changes`."""
    said: dict[str, Any] = {
        "started_at": time.time(),
        "duration": 0.25,
        "method": "tools/call",
        "tool": "list_rooms",
        "source": "token",
        "transport": "http",
        "decision": Decision.ALLOW,
        "outcome": Outcome.OK,
        "correlation_id": "0123456789abcdef0123456789abcdef",
        "arguments": {"limit": 5},
        "protocol_version": "2026-07-28",
    }
    said |= changes
    said.setdefault("disclosure", Disclosure(frozenset(map(str, said["arguments"] or ()))))
    return CallRecord(**said)


class Gate:
    """Sees the writer's statements, and holds the thread before its next one while shut."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.threads: list[int] = []
        """Of the statements, by whom each was run."""
        self.connections = 0
        self.arrived = threading.Event()
        self.open = threading.Event()
        self.open.set()

    def count(self, verb: str) -> int:
        """How many statements begin with `verb`."""
        return sum(statement.startswith(verb) for statement in self.statements)

    def __call__(self, execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        self.arrived.set()
        assert self.open.wait(PATIENCE)
        self.statements.append(sql)
        self.threads.append(threading.get_ident())
        return execute(sql, params, many, context)

    def install(self, connection: Any, **_: Any) -> None:
        """Listen to `connection_created`."""
        # Once it is the writer's, another thread may open it again.
        is_known = self in connection.execute_wrappers
        if is_known or threading.current_thread().name == WRITER:
            self.connections += 1
            if not is_known:
                connection.execute_wrappers.append(self)


@contextmanager
def gate() -> Iterator[Gate]:
    """A gate before every connection that the writer's thread opens."""
    made = Gate()
    connection_created.connect(made.install)
    try:
        yield made
    finally:
        made.open.set()
        connection_created.disconnect(made.install)
