"""The switches that are in force at a server, read by a compiled statement: for several requests
that wait at the same time by one, and for each of them no earlier than it came.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from django.conf import settings as django_settings
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from mcp_app.compiled import Columns, Select, kept
from mcp_app.models import Switch
from mcp_app.models.switches import SwitchQuerySet

_FRESH: Final = 0.05
"""Seconds for which rows that were read stand for the rows as they are."""
_SERVER_MARK: Final = "mark of the server"
_MARK: Final = datetime(1970, 1, 2, 3, 4, 5, 678901)


class Announced:
    """What was read of one server's switches for one request, ahead of it."""

    __slots__ = ("_read_at", "_rows", "server")

    def __init__(self, server: str) -> None:
        self.server = server
        self._rows: list[Switch] | None = None
        self._read_at = 0.0

    def found(self, rows: list[Switch], read_at: float) -> None:
        """Note rows that were read no earlier than `read_at`, of `time.monotonic()`."""
        self._rows, self._read_at = rows, read_at

    def take(self) -> list[Switch]:
        """The rows, once, where they were read only just now; else as they are by now."""
        rows, self._rows = self._rows, None
        if rows is None or time.monotonic() - self._read_at >= _FRESH:
            return read(self.server)
        return rows


def look_up(waiting: Sequence[Announced]) -> None:
    """Read for all of them, each server once. Switches are not changed by who reads them."""
    for server in {announced.server for announced in waiting}:
        read_at = time.monotonic()
        rows = read(server)
        for announced in waiting:
            if announced.server == server:
                announced.found(rows, read_at)


def read(server: str) -> list[Switch]:
    """Those in force now, by the database that is written to: a replica that lags would let a call
    through.
    """
    connection = connections[router.db_for_write(Switch)]
    return kept(connection, "switches", lambda: _Statement(connection)).run(server, timezone.now())


def in_force(alias: str, server: str, now: datetime) -> SwitchQuerySet:
    """What the statement is compiled from, and tested against."""
    return Switch.objects.using(alias).in_force(now).filter(server=server).order_by("-id")


class _Statement:
    """The SELECT on one connection."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._alias = connection.alias
        self._moment: Any = connection.ops.adapt_datetimefield_value
        self._columns = Columns(Switch)
        mark = _MARK.replace(tzinfo=UTC) if django_settings.USE_TZ else _MARK
        rows = in_force(self._alias, _SERVER_MARK, mark).values_list(*self._columns.names)
        self._select = Select(connection, rows, [_SERVER_MARK, self._moment(mark)])

    def run(self, server: str, now: datetime) -> list[Switch]:
        if not self._select.is_plain:
            return list(in_force(self._alias, server, now))
        found = self._select.run([server, self._moment(now)])
        converted = self._select.converted
        return [self._columns.made(self._alias, converted(row)) for row in found]
