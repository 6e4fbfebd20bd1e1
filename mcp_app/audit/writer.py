"""The recorder: one thread of a process commits, together, what concurrent calls have submitted.

Knows when to write and who waits. How rows are made `storage` knows, what they say `events`.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

from asgiref.sync import sync_to_async
from django.db import connections

from mcp_app.audit import watching
from mcp_app.audit.announcements import Announcer
from mcp_app.audit.background import IDLE_SECONDS, Background
from mcp_app.audit.events import to_event
from mcp_app.audit.storage import Entry, database, store
from mcp_app.audit.transactions import (
    in_test_transaction,
    on_event_loop,
    would_deadlock,
)
from mcp_app.conf import settings
from mcp_app.dispatch.interfaces import CallRecord
from mcp_app.dispatch.receipts import Receipt

logger: Final = logging.getLogger("mcp_app.audit")

MOST_WAITING: Final = 10_000
"""Beyond it, threads that submit write their event themselves."""

_BATCH: Final = 500


@dataclass(slots=True, eq=False)
class _Submission(Entry):
    receipt: Receipt = field(default_factory=Receipt)


class EventWriter:
    """Group commit (`dispatch.interfaces.Recorder`).

    While one transaction is being committed, what is submitted gathers for the next: under load
    many events share a commit, and a lone one waits for nothing but its own. The thread has a
    connection of its own, so that an event outlives the rollback of whoever called. Two callers'
    transactions are special:

    - Inside a Django `TestCase` the event is written at once, in the test's thread. An event loop
      hands it there if `MCP_APP["WORKERS"]` is 0.
    - Inside `atomic()` on SQLite, where the writer has to wait until the caller is through, the
      receipt is settled at once and the event is committed as soon as the database is free.
    """

    def __init__(
        self, *, idle_seconds: float = IDLE_SECONDS, most_waiting: int = MOST_WAITING
    ) -> None:
        self._background: Background[_Submission] = Background(
            "mcp_app-audit",
            lambda batch: self._write(*batch),
            most=_BATCH,
            idle_seconds=idle_seconds,
        )
        self._announcer = Announcer()
        self._most_waiting = most_waiting
        self._overflowing = False
        self._tasks: set[asyncio.Future[None]] = set()

    def submit(self, record: CallRecord) -> Receipt:
        """Hand over `record` as it stands; never raises.

        The receipt is settled when the event is committed (True), or was lost and logged (False).
        """
        receipt = Receipt()
        try:
            submission = _Submission(record, to_event(record), receipt=receipt)
        except Exception:
            logger.exception("Call event %s could not be made", record.correlation_id)
            receipt.settle(False)
        else:
            self._submit_safely(submission)
        return receipt

    def close(self, timeout: float | None = None) -> None:
        """Commit and announce everything submitted, and end the threads until the next event.

        Args:
            timeout: for each of the two threads, in seconds; None waits as long as it takes.
        """
        self._background.close(timeout)
        self._announcer.close(timeout)

    def _submit_safely(self, submission: _Submission) -> None:
        try:
            self._submit(submission)
        except Exception:
            logger.exception("Call event %s was lost", submission.record.correlation_id)
            if not submission.receipt.done():
                submission.receipt.settle(False)

    def _submit(self, submission: _Submission) -> None:
        if on_event_loop():
            self._submit_from_loop(submission)
            return
        alias = database()
        connection = connections[alias]
        if in_test_transaction(connection):
            self._write(submission, announce_now=True)
        elif would_deadlock(connection):
            self._submit_without_waiting(submission)
        elif self._is_full() and not connection.in_atomic_block:
            self._write(submission)
        elif not self._background.do(submission, alias):
            self._queue(submission)

    def _submit_from_loop(self, submission: _Submission) -> None:
        if settings.WORKERS:
            self._queue(submission)
            return
        task = asyncio.ensure_future(sync_to_async(self._submit_safely)(submission))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _submit_without_waiting(self, submission: _Submission) -> None:
        released, submission.receipt = submission.receipt, Receipt()
        self._queue(submission)
        released.settle(True)

    def _queue(self, submission: _Submission) -> None:
        try:
            self._background.put(submission)
        except RuntimeError:
            self._write(submission)

    def _is_full(self) -> bool:
        full = self._background.waiting >= self._most_waiting
        if full and not self._overflowing:
            logger.error("%d call events wait to be stored", self._most_waiting)
        self._overflowing = full
        return full

    def _write(self, *submissions: _Submission, announce_now: bool = False) -> None:
        try:
            store(submissions)
        finally:
            for submission in submissions:
                submission.receipt.settle(submission.stored)
        watching.tell_stored()
        self._announcer.announce(submissions, now=announce_now)
