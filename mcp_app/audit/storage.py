"""Where event rows are made: one transaction a batch, and row by row where a batch fails.

Knows the ORM and its errors. Knows nothing of threads.
"""

import json
import logging
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db import OperationalError, connections, router
from django.db.transaction import atomic

from mcp_app.audit.events import FINISHED
from mcp_app.audit.insertion import MOST_TOGETHER, insert
from mcp_app.audit.owners import forget_deleted, may_be_gone
from mcp_app.conf import settings
from mcp_app.dispatch.interfaces import CallRecord
from mcp_app.models import CallEvent
from mcp_app.seldom import SeldomLog

logger: Final = logging.getLogger("mcp_app.audit")
_not_stored: Final = SeldomLog(logger, logging.ERROR)

LOCK_SECONDS: Final = 30.0
"""How long a batch waits for an SQLite database that somebody else writes to."""

LONGEST_CALL: Final = timedelta(days=1)
"""A row without an end of that age is never changed any more, and may be sealed."""

_LOCK_PAUSE: Final = 0.02


@dataclass(slots=True, eq=False)
class Entry:
    """A row to be written, and the record it was made of, which learns the row's key."""

    record: CallRecord
    event: CallEvent
    stored: bool = False


def database() -> str:
    """The alias of the database that events are written to."""
    alias: str | None = settings.AUDIT_DATABASE
    return alias or router.db_for_write(CallEvent)


def store(entries: Sequence[Entry]) -> None:
    """Commit the rows together and set `stored` on each entry whose row stands. Never raises.

    A record that comes twice is written once, as it was last. A row that spoils its batch is lost
    alone. Lost rows go to the log, redacted as they are.
    """
    newest = {id(entry.record): entry for entry in entries}
    rows = list(newest.values())
    if doubtful := [row.event for row in rows if may_be_gone(row.record)]:
        forget_deleted(doubtful)
    try:
        _store(rows, database())
    except Exception as error:
        _log_lost([row for row in rows if not row.stored], error)
    for entry in entries:
        entry.stored = newest[id(entry.record)].stored


def _store(rows: Sequence[Entry], alias: str) -> None:
    was_open = connections[alias].connection is not None
    try:
        _commit(rows, alias)
    except Exception as error:
        # A connection that the server closed meanwhile is worth a new one; where none could be
        # opened, or a lock never came free, a second attempt would only double the wait.
        if is_locked(error, alias) or not (_is_usable(alias) or was_open):
            raise
        _store_each(rows, alias)


def _store_each(rows: Sequence[Entry], alias: str) -> None:
    for row in rows:
        try:
            _commit([row], alias)
        except Exception as error:
            if not _is_usable(alias):
                raise
            _log_lost([row], error)


def _commit(rows: Sequence[Entry], alias: str) -> None:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            with nullcontext() if _is_one_statement(rows, alias) else atomic(using=alias):
                _write(rows, alias)
            break
        except OperationalError as error:
            if not is_locked(error, alias) or time.monotonic() > deadline:
                raise
            time.sleep(_LOCK_PAUSE)
    for row in rows:
        row.record.pk, row.stored = row.event.id, True


def _is_one_statement(rows: Sequence[Entry], alias: str) -> bool:
    """Whether the rows are all made by a statement that is its own transaction.

    The BEGIN and COMMIT around it would be two further trips to the database.
    """
    connection = connections[alias]
    if len(rows) > MOST_TOGETHER or any(row.record.pk is not None for row in rows):
        return False
    if not connection.features.can_return_rows_from_bulk_insert:
        return False
    return connection.get_autocommit() and not connection.in_atomic_block


def _write(rows: Sequence[Entry], alias: str) -> None:
    """The one place where rows are made; the caller has opened a transaction, if it takes one."""
    new = []
    for row in rows:
        # Also forgets the key of an attempt that was rolled back.
        row.event.id = row.record.pk
        if row.record.pk is None or _outlived(row.record) or not _update(row.event, alias):
            row.event.id = None
            new.append(row.event)
    if connections[alias].features.can_return_rows_from_bulk_insert:
        insert(new, alias)
        return
    # MySQL tells the key of one new row at a time.
    for event in new:
        event.save(using=alias, force_insert=True)


def _outlived(record: CallRecord) -> bool:
    """Whether the row may have been sealed as it stands: the end gets one of its own."""
    return record.duration is not None and record.duration >= LONGEST_CALL.total_seconds() - 3600


def _update(event: CallEvent, alias: str) -> bool:
    """Change the row of a call that goes on; False when somebody deleted it meanwhile."""
    changes = {name: getattr(event, name) for name in FINISHED}
    return bool(CallEvent._base_manager.using(alias).filter(pk=event.pk).update(**changes))


def _is_usable(alias: str) -> bool:
    """Whether the connection is open and answers; one that does not is closed."""
    connection = connections[alias]
    if connection.connection is None:
        return False
    if connection.is_usable():
        return True
    connection.close()
    return False


def is_locked(error: Exception, alias: str) -> bool:
    """Whether SQLite gave up waiting for another writer."""
    is_sqlite = connections[alias].vendor == "sqlite"
    return is_sqlite and isinstance(error, OperationalError) and "locked" in str(error)


def _log_lost(rows: Sequence[Entry], error: Exception) -> None:
    _not_stored.note("Could not store %d call events", len(rows), error=error)
    for row in rows:
        logger.error("Lost call event: %s", _text(row.event))


def _text(event: CallEvent) -> str:
    values = {field.attname: getattr(event, field.attname) for field in event._meta.concrete_fields}
    return json.dumps({name: value for name, value in values.items() if value}, default=str)
