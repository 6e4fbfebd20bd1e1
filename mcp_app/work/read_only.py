"""The promise of `read_only=True`, kept: while such a tool runs, its connections refuse to write.

The database itself is switched to reading, at the first cursor: SQLite by `PRAGMA query_only` and
an authorizer, which no SQL can take away; PostgreSQL and MySQL by the session's transaction mode,
so that not even a function called by a SELECT can write, nor COPY or `executescript`, which pass
Django by. PostgreSQL tells when that mode is changed, by whatever function: it is set again, and
the call refused. And no statement runs whose text is not known to read (`statements`): that alone
holds inside a transaction that began before the tool, which a server could not switch back, and on
other databases. Whether a tool is running is a context variable: it follows the tool through
`sync_to_async`.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final
from weakref import WeakSet

from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from mcp_app.catalog.definition import Declaration
from mcp_app.work.statements import MORE, WRITE, beyond_reading


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
_THIS_TRANSACTION: Final = ("SET TRANSACTION READ WRITE", "SET TRANSACTION READ ONLY")
_IDLE: Final = 0  # libpq's PQTRANS_IDLE
_PARAMETER: Final = b"default_transaction_read_only"
"""What PostgreSQL tells its client whenever it changes, since version 14."""
_REFUSED: Final = {
    "postgresql": ("25006",),
    "mysql": ("1792",),
    "sqlite": ("readonly database", "not authorized", "authorization denied"),
}
"""What they say to a write then."""

_MAY_BE_OWN: Final = ("_cursor", "_start_transaction_under_autocommit")
"""Methods in which a backend may run statements by itself: a tenant's search path, a BEGIN."""
_left_reading: Final[WeakSet[Any]] = WeakSet()
"""PostgreSQL's sessions that read only now: a pool may hand one of them to another connection."""

_READS: Final = frozenset(
    [
        *(sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION),
        *(sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_SAVEPOINT),
    ]
)
"""What a statement that only reads may do, as SQLite's authorizer names it."""
_TELLS: Final = frozenset(
    [
        *["table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo"],
        *["foreign_key_list", "foreign_key_check", "integrity_check", "quick_check"],
    ]
)
"""Pragmas that tell of what they are given, and set nothing."""
_ACTS: Final = frozenset(
    ["optimize", "wal_checkpoint", "incremental_vacuum", "shrink_memory", "case_sensitive_like"]
)
"""Pragmas that do something without being given anything."""


class ReadOnlyViolation(Exception):
    """A tool that promised to read only tried to write."""


@contextmanager
def promised(tool: Declaration) -> Iterator[None]:
    """Hold `tool` to its `read_only` for the length of the block."""
    if not tool.read_only:
        yield
        return
    held = (c for c in connections.all(initialized_only=True) if c.in_atomic_block)
    token = _promised.set(_Promise(tool.name, frozenset(map(id, held))))
    try:
        yield
    finally:
        _promised.reset(token)


def install() -> None:
    """Watch every connection, open or to be opened. To be called once, at start-up."""
    connection_created.connect(_watch, dispatch_uid="mcp_app.read_only")
    for connection in connections.all(initialized_only=True):
        _watch(connection)


def _watch(connection: Any, **kwargs: Any) -> None:
    """Put a gate before the connection, once; it sees by itself when a new session begins."""
    if any(isinstance(wrapper, _Gate) for wrapper in connection.execute_wrappers):
        return  # Opened again.
    gate, made = _Gate(connection), type(connection)
    connection.execute_wrappers.insert(0, gate)
    connection.create_cursor = gate.create_cursor
    connection.connect = gate.own("connect")
    for name in _MAY_BE_OWN:
        if getattr(made, name, None) is not getattr(BaseDatabaseWrapper, name, None):
            setattr(connection, name, gate.own(name))


class _Gate:
    """Stands before every cursor and every statement of one connection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._session: Any = None
        self._reads_only = False
        self._does_anyway = False
        self._is_own = False

    def own(self, name: str) -> Callable[..., Any]:
        """A method of the connection's class: its statements are the project's, not the tool's."""
        connection, method = self._connection, getattr(type(self._connection), name)

        @wraps(method)
        def run(*args: Any, **kwargs: Any) -> Any:
            before, self._is_own = self._is_own, True
            try:
                return method(connection, *args, **kwargs)
            finally:
                self._is_own = before

        return run

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
        if self._is_own:
            if self._connection.vendor == "sqlite" and sql.startswith("BEGIN"):
                sql = "BEGIN"  # IMMEDIATE, where a project asks for it, would lock for writing
        elif beyond := self._beyond_reading(sql, params):
            raise _violation(promise.name, beyond)
        try:
            answer = execute(sql, params, many, context)
        except DatabaseError as error:
            if _is_refusal(error, self._connection.vendor):
                raise _violation(promise.name) from error
            raise
        self._check(promise)
        return answer

    def _beyond_reading(self, sql: Any, params: Any) -> str | None:
        connection = self._connection
        # psycopg has composed statements.
        text = sql if isinstance(sql, str) else sql.as_string(connection.connection)
        is_framed = not connection.autocommit
        return beyond_reading(text, connection.vendor, params is not None, is_framed)

    def _prepare(self) -> _Promise | None:
        """Switch the session, where it has to be and can; the promise that holds now."""
        promise = _promised.get()
        if self._connection.connection is not self._session:
            self._session = self._connection.connection
            self._reads_only = self._session in _left_reading
        if (promise is not None) != self._reads_only:
            self._switch(promise)
        elif promise is not None:
            self._check(promise)
        return promise

    def _check(self, promise: _Promise) -> None:
        """That no statement, by whatever function, has let PostgreSQL write again."""
        if self._reads_only and _told(self._connection) == "off":
            self._run(_SWITCHES["postgresql"][True])
            raise _violation(promise.name, MORE)

    def _switch(self, promise: _Promise | None) -> None:
        connection, reads_only = self._connection, promise is not None
        statements = _SWITCHES.get(connection.vendor)
        if statements is None:
            return
        if reads_only:
            self._does_anyway = _told(connection) == "on"
        if self._does_anyway:
            self._reads_only = reads_only
            return
        if connection.vendor == "postgresql" and not connection.autocommit:
            # What is set for the session would begin with the next transaction only.
            if self._begins_now(promise):
                self._run(_THIS_TRANSACTION[reads_only])
            return
        if connection.vendor == "mysql" and reads_only and not connection.autocommit:
            return
        self._run(statements[reads_only])
        self._reads_only = reads_only
        if connection.vendor == "postgresql":
            (_left_reading.add if self._reads_only else _left_reading.discard)(self._session)

    def _run(self, statement: str) -> None:
        """On the driver's own cursor: Django's would ask at this gate again."""
        session = self._connection.connection
        if self._connection.vendor == "sqlite" and self._reads_only:
            session.set_authorizer(None)
        with closing(session.cursor()) as cursor:
            cursor.execute(statement)
        if self._connection.vendor == "sqlite" and not self._reads_only:
            session.set_authorizer(self._authorized)

    def _authorized(self, action: int, first: str | None, second: str | None, *more: Any) -> int:
        """What SQLite asks of all that it compiles, whoever wrote it; `PRAGMA` cannot undo it."""
        if action == sqlite3.SQLITE_TRANSACTION:
            allowed = self._is_own or first != "BEGIN"
        elif action == sqlite3.SQLITE_PRAGMA:
            allowed = first not in _ACTS and (second is None or first in _TELLS)
        else:
            allowed = action in _READS
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    def _begins_now(self, promise: _Promise | None) -> bool:
        """Whether the first statement of a transaction on PostgreSQL is still to come: the tool's
        own, or somebody else's where none runs.
        """
        if promise is not None and id(self._connection) in promise.held:
            return False
        return bool(self._connection.connection.info.transaction_status == _IDLE)


def _told(connection: Any) -> str | None:
    """What PostgreSQL has told last of the transactions to come. Asks nothing."""
    if connection.vendor != "postgresql":
        return None
    session = connection.connection
    if hasattr(session, "pgconn"):  # psycopg 3, whose `info` is slower
        told = session.pgconn.parameter_status(_PARAMETER)
        return told.decode() if told else None
    return str(session.info.parameter_status(_PARAMETER.decode()))


def _violation(name: str, beyond: str = WRITE) -> ReadOnlyViolation:
    return ReadOnlyViolation(f"The tool {name} is declared read-only and tried to {beyond}.")


def _is_refusal(error: DatabaseError, vendor: str) -> bool:
    told = f"{getattr(error.__cause__, 'sqlstate', '')} {error}"
    return any(sign in told for sign in _REFUSED.get(vendor, ()))
