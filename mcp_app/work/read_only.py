"""The promise of `read_only=True`, kept: while such a tool runs, its connections refuse to write.

The database itself is switched to reading, at the first cursor: SQLite by `PRAGMA query_only`,
PostgreSQL and MySQL by the session's transaction mode, so that not even a function called by a
SELECT can write, nor COPY or `executescript`, which pass Django by. Inside a transaction that began
before the tool, which a server could not switch back, and on other databases, a statement is judged
by its first words. Whether a tool is running is a context variable: it follows the tool through
`sync_to_async`.
"""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from django.db import DatabaseError, connections
from django.db.backends.signals import connection_created

from mcp_app.catalog.definition import Declaration
from mcp_app.work.connections import opened


@dataclass(frozen=True, slots=True)
class _Promise:
    """The tool that runs, and the connections that somebody else holds in a transaction."""

    name: str
    held: frozenset[int]


_promised: Final[ContextVar[_Promise | None]] = ContextVar("mcp_app_read_only_tool", default=None)

_SWITCHES: Final = {
    "sqlite": ("PRAGMA query_only = OFF", "PRAGMA query_only = ON"),
    "postgresql": (
        "SET default_transaction_read_only = off",
        "SET default_transaction_read_only = on",
    ),
    "mysql": ("SET SESSION TRANSACTION READ WRITE", "SET SESSION TRANSACTION READ ONLY"),
}
_THIS_TRANSACTION: Final = "SET TRANSACTION READ ONLY"
_IDLE: Final = 0  # libpq's PQTRANS_IDLE
_REFUSED: Final = ("25006", "1792", "readonly database")
"""What PostgreSQL, MySQL and SQLite say to a write then."""

_FIRST_WORD: Final = re.compile(r"(?:[\s(]|--[^\n]*(?:\n|$)|/\*.*?\*/)*([a-z]+)", re.I | re.S)
_HARMLESS: Final = frozenset(
    [
        *["select", "with", "values", "table", "explain", "show", "describe", "desc", "pragma"],
        *["set", "begin", "start", "savepoint", "release", "rollback", "commit", "end"],
        *["declare", "fetch", "move", "close"],
    ]
)
_MAY_HOLD_MORE: Final = frozenset({"with", "explain"})
_WRITES: Final = re.compile(
    r"\b(?:insert\s+into|replace\s+into|merge\s+into|delete\s+from|truncate\b|drop\s|alter\s"
    r"|create\s|update\s+(?:only\s+)?\S+(?:\s+as)?(?:\s+\w+)?\s+set)\b",
    re.I,
)


_UNLOCKS: Final = re.compile(r"query_only|transaction_read_only|\bread\s+write\b", re.I)
_SETS: Final = re.compile(r"^\W*(?:set|pragma|begin|start)\b|set_config", re.I)


class ReadOnlyViolation(Exception):
    """A tool that promised to read only tried to write."""


def promised(tool: Declaration) -> AbstractContextManager[None]:
    """Hold `tool` to its `read_only` for the length of the block."""
    return _Promised(tool.name) if tool.read_only else nullcontext()


class _Promised:
    __slots__ = ("_name", "_token")

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        held = frozenset(id(c) for c in opened() if c.in_atomic_block)
        self._token = _promised.set(_Promise(self._name, held))

    def __exit__(self, *raised: object) -> None:
        _promised.reset(self._token)


def install() -> None:
    """Watch every connection, open or to be opened. To be called once, at start-up."""
    connection_created.connect(_watch, dispatch_uid="mcp_app.read_only")
    for connection in connections.all(initialized_only=True):
        _watch(connection)


def _watch(connection: Any, **kwargs: Any) -> None:
    """A new session of the database begins as it always does: free to write."""
    gate = _Gate(connection)
    others = [w for w in connection.execute_wrappers if not isinstance(w, _Gate)]
    connection.execute_wrappers[:] = [gate, *others]
    connection.create_cursor = gate.create_cursor


class _Gate:
    """Stands before every cursor and every statement of one database session."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._reads_only = False

    def create_cursor(self, name: str | None = None) -> Any:
        """As the connection's class makes one, of a session that does what it may now."""
        self._prepare()
        return type(self._connection).create_cursor(self._connection, name)

    def __call__(
        self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any
    ) -> Any:
        promise = self._prepare()
        if promise is None:
            return execute(sql, params, many, context)
        if _may_write(sql):
            raise _violation(promise.name)
        if self._connection.vendor == "sqlite" and sql.startswith("BEGIN"):
            sql = "BEGIN"  # IMMEDIATE, where a project asks for it, would lock for writing
        try:
            return execute(sql, params, many, context)
        except DatabaseError as error:
            if _is_refusal(error):
                raise _violation(promise.name) from error
            raise

    def _prepare(self) -> _Promise | None:
        """Switch the session, where it has to be and can; the promise that holds now."""
        promise = _promised.get()
        if (promise is not None) != self._reads_only:
            self._switch(promise)
        return promise

    def _switch(self, promise: _Promise | None) -> None:
        connection, reads_only = self._connection, promise is not None
        statements = _SWITCHES.get(connection.vendor)
        if statements is None:
            return
        statement = statements[reads_only]
        if connection.in_atomic_block and connection.vendor != "sqlite":
            if promise is None or not self._begins_now(promise):
                return
            statement = _THIS_TRANSACTION
        # The driver's own cursor: Django's would ask at this gate again.
        with closing(connection.connection.cursor()) as cursor:
            cursor.execute(statement)
        self._reads_only = reads_only and statement != _THIS_TRANSACTION

    def _begins_now(self, promise: _Promise) -> bool:
        """Whether the transaction is the tool's own, and its first statement is still to come."""
        connection = self._connection
        if connection.vendor != "postgresql" or id(connection) in promise.held:
            return False
        return bool(connection.connection.info.transaction_status == _IDLE)


def _violation(name: str) -> ReadOnlyViolation:
    return ReadOnlyViolation(f"The tool {name} is declared read-only and tried to write.")


def _is_refusal(error: DatabaseError) -> bool:
    told = f"{getattr(error.__cause__, 'sqlstate', '')} {error}"
    return any(sign in told for sign in _REFUSED)


def _may_write(sql: Any) -> bool:
    text = sql if isinstance(sql, str) else sql.as_string()  # psycopg's composed statements
    match = _FIRST_WORD.match(text)
    word = match[1].lower() if match else ""
    if word not in _HARMLESS or (_UNLOCKS.search(text) and _SETS.search(text)):
        return True
    more = word in _MAY_HOLD_MORE or ";" in text
    return more and _WRITES.search(text) is not None
