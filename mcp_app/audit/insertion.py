"""New rows of call events, many by one INSERT that the ORM has compiled once a connection.

Of a row the ORM makes SQL anew each time; here the SQL stays, and each value is prepared as its
field prepares it.
"""

from collections.abc import Hashable, Sequence
from datetime import datetime
from functools import lru_cache
from operator import itemgetter
from types import NoneType
from typing import Any, Final

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import (
    BigIntegerField,
    CharField,
    DateTimeField,
    Field,
    FloatField,
    ForeignKey,
    GenericIPAddressField,
    TextField,
)
from django.db.models.sql import InsertQuery

from mcp_app.compiled import fetched, kept
from mcp_app.models import CallEvent

MOST_TOGETHER: Final = 32
"""Rows of one statement: SQLite takes 999 values at once."""
_FIELDS: Final = [field for field in CallEvent._meta.concrete_fields if not field.primary_key]
_PLAIN: Final = {CharField: str, TextField: str, FloatField: float}
"""What such a field hands on as it is; every field hands on None."""
_RECURRING: Final = (ForeignKey, GenericIPAddressField, BigIntegerField)
"""Fields whose values come again and again."""
_REMEMBERED: Final = 1024
"""Such values that one statement knows as its driver takes them."""
_values_of: Final = itemgetter(*(field.attname for field in _FIELDS))


def insert(events: Sequence[CallEvent], alias: str) -> None:
    """Make the rows, and tell each event its key. The caller has opened a transaction,
    unless one statement is enough.
    """
    connection = connections[alias]
    for start in range(0, len(events), MOST_TOGETHER):
        _insert(events[start : start + MOST_TOGETHER], connection)


def _insert(events: Sequence[CallEvent], connection: BaseDatabaseWrapper) -> None:
    statement = kept(connection, ("insert", len(events)), lambda: _Insert(connection, len(events)))
    if not statement.is_plain:
        CallEvent._base_manager.using(connection.alias).bulk_create(events)
        return
    for event, key in zip(events, statement.run(events), strict=True):
        event.id = key
        event._state.adding, event._state.db = False, connection.alias


class _Insert:
    """The INSERT of so many rows on one connection."""

    def __init__(self, connection: BaseDatabaseWrapper, count: int) -> None:
        self._connection = connection
        self._sql, parameters = _compiled(connection, count)
        self._prepared = lru_cache(_REMEMBERED, typed=True)(self._prepare)
        # PostgreSQL is given the values of each column together (UNNEST), others row by row.
        self._by_column = all(isinstance(parameter, list) for parameter in parameters)
        wanted = len(_FIELDS) if self._by_column else len(_FIELDS) * count
        # Where a database adds something of its own: the ORM.
        self.is_plain = len(parameters) == wanted

    def run(self, events: Sequence[CallEvent]) -> list[Any]:
        """The keys of the new rows, in order."""
        rows = [self._values(vars(event)) for event in events]
        values: list[Any]
        if self._by_column:
            values = [list(column) for column in zip(*rows, strict=True)]
        else:
            values = [value for row in rows for value in row]
        return [key for (key,) in fetched(self._connection, self._sql, values)]

    def _values(self, event: dict[str, Any]) -> list[Any]:
        """As the driver is given them."""
        values = list(_values_of(event))
        recurring, others = _to_prepare(tuple(map(type, values)))
        for place in recurring:
            values[place] = self._prepared(place, values[place])
        for place in others:
            values[place] = self._prepare(place, values[place])
        return values

    def _prepare(self, place: int, value: Any) -> Any:
        field = _FIELDS[place]
        # Such moments are made for these columns, and need no look at what they are.
        if isinstance(field, DateTimeField) and isinstance(value, datetime):
            return field.get_db_prep_value(value, self._connection, prepared=True)
        return field.get_db_prep_save(value, self._connection)


@lru_cache(maxsize=256)
def _to_prepare(types: tuple[type, ...]) -> tuple[list[int], list[int]]:
    """Where in a row of such values those stand that their fields do not hand on as they are:
    those that recur, and the others.
    """
    places = [
        place
        for place, (field, kind) in enumerate(zip(_FIELDS, types, strict=True))
        if kind not in (_PLAIN.get(type(field)), NoneType)
    ]
    recurring = [place for place in places if _recurs(_FIELDS[place], types[place])]
    return recurring, [place for place in places if place not in recurring]


def _recurs(field: "Field[Any, Any]", kind: type) -> bool:
    return isinstance(field, _RECURRING) and issubclass(kind, Hashable)


def _compiled(connection: BaseDatabaseWrapper, count: int) -> tuple[str, Sequence[Any]]:
    query = InsertQuery(CallEvent)
    query.insert_values(_FIELDS, [CallEvent() for _ in range(count)])
    compiler: Any = query.get_compiler(connection=connection)
    compiler.returning_fields = [CallEvent._meta.pk]
    ((sql, parameters),) = compiler.as_sql()
    return sql, parameters
