"""Knows how databases are emptied after a test that committed.

Django's flush truncates each table and then makes every content type and permission again; both
together take longer than most tests. Here rows are deleted, and those two tables are left alone as
long as they have what they had at first.
"""

from collections.abc import Callable
from typing import Any, Final

from django.core.management import call_command
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

KEPT: Final = ("django_content_type", "auth_permission")
Rows = list[tuple[Any, ...]]


def empties() -> Callable[[Any], None]:
    """What empties the databases of a test case from now on, when they are as after `migrate`."""
    databases = {
        connection.alias: _Database(connection)
        for connection in connections.all()
        if connection.vendor != "unknown"  # as a default database that is {} says
    }

    def empty(case: Any) -> None:
        for name in case._databases_names(include_mirrors=False):
            databases[name].empty()

    return empty


class _Database:
    """One database, its tables and what the kept ones had."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._alias = connection.alias
        tables = connection.introspection.django_table_names(
            only_existing=True, include_views=False
        )
        quote = connection.ops.quote_name
        # The names are Django's, of the models that there are.
        self._kept = [
            f"SELECT * FROM {quote(name)} ORDER BY id"  # noqa: S608
            for name in KEPT
            if name in tables
        ]
        names = [quote(name) for name in tables if name not in KEPT]
        self._statements = [f"DELETE FROM {name}" for name in names]  # noqa: S608
        if connection.vendor == "postgresql":
            # What a thread is about to commit is waited for, as TRUNCATE would.
            lock = f"LOCK TABLE {', '.join(names)} IN SHARE ROW EXCLUSIVE MODE"
            self._statements = ["; ".join([lock, *self._statements])]
        self._first = self._rows()

    def empty(self) -> None:
        connection = connections[self._alias]
        with transaction.atomic(self._alias), connection.cursor() as cursor:
            for statement in self._statements:
                cursor.execute(statement)
        if self._rows() != self._first:
            call_command("flush", verbosity=0, interactive=False, database=self._alias)
            self._first = self._rows()

    def _rows(self) -> list[Rows]:
        found = []
        with connections[self._alias].cursor() as cursor:
            for query in self._kept:
                cursor.execute(query)
                found.append(cursor.fetchall())
        return found
