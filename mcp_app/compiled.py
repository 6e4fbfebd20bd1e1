"""SELECTs that the ORM has compiled once, run on Django's cursor. No row is remembered.

Building a query takes the ORM some twenty times as long as running it takes, so the SQL stays with
the connection that it was compiled for, and ends with it.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache, partial
from inspect import getattr_static
from typing import Any, Final, TypeVar

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.sqlite3.base import SQLiteCursorWrapper
from django.db.models import Model, QuerySet
from django.db.models.base import ModelState
from django.db.models.fields.related_descriptors import ForeignKeyDeferredAttribute
from django.db.models.query_utils import DeferredAttribute
from django.db.models.signals import post_init, pre_init

Kept = TypeVar("Kept")
Made = TypeVar("Made", bound=Model)

_KEPT: Final = "_mcp_app_compiled"


def kept(connection: BaseDatabaseWrapper, key: Hashable, make: Callable[[], Kept]) -> Kept:
    """What was made for a connection under `key`, by the first who asked there."""
    there: dict[Hashable, Any] = vars(connection).setdefault(_KEPT, {})
    if key not in there:
        there[key] = make()
    found: Kept = there[key]
    return found


def fetched(
    connection: BaseDatabaseWrapper, sql: str, values: Sequence[Any]
) -> list[Sequence[Any]]:
    """The rows that a statement gives, as the driver gives them."""
    with connection.cursor() as cursor:
        driver: Any = getattr(cursor, "cursor", None)
        if type(driver) is SQLiteCursorWrapper:
            # Django looks through a text for its placeholders as long as SQLite looks for rows.
            vars(driver)["convert_query"] = _converted
        cursor.execute(sql, values)
        found: list[Sequence[Any]] = cursor.fetchall()
    return found


@lru_cache(maxsize=256)
def _converted(query: str, *, param_names: None = None) -> str:
    """What Django makes of a text that has `%s` for each value, remembered."""
    convert: Any = SQLiteCursorWrapper.convert_query
    made: str = convert(None, query, param_names=param_names)
    return made


class Columns:
    """The columns of one model, in order, and the paths that lead to them in a query."""

    def __init__(self, model: type[Model], path: str = "") -> None:
        self.model = model
        self.names = [field.attname for field in model._meta.concrete_fields]
        self.paths = [path + name for name in self.names]

    def made(self, alias: str, values: Sequence[Any]) -> Any:
        """The row that the values are of, as the ORM makes it."""
        return self.maker(alias)(values)

    def maker(self, alias: str) -> Callable[[Sequence[Any]], Any]:
        """What makes rows of this database as `made` does; for now, not to be kept."""
        make = self._made if _is_simple(self.model) else self._made_by_orm
        return partial(make, alias)

    def _made(self, alias: str, values: Sequence[Any]) -> Any:
        row = self.model.__new__(self.model)
        state = ModelState()
        state.adding, state.db = False, alias
        own = vars(row)
        own["_state"] = state
        own.update(zip(self.names, values, strict=True))
        return row

    def _made_by_orm(self, alias: str, values: Sequence[Any]) -> Any:
        return self.model.from_db(alias, self.names, values)


def new(model: type[Made], values: Mapping[str, Any]) -> Made:
    """A row that is not saved, from a value for each column: much faster than by `__init__`."""
    if not _is_simple(model):
        return model(**values)
    row = model.__new__(model)
    vars(row).update(values, _state=ModelState())
    return row


def _is_simple(model: type[Model]) -> bool:
    """Whether no code but Django's has a say in how rows are made, and nobody listens to it."""
    is_heard = (pre_init.receivers and pre_init.has_listeners(model)) or (
        post_init.receivers and post_init.has_listeners(model)
    )
    return not is_heard and _is_made_by_django(model)


@lru_cache(maxsize=64)
def _is_made_by_django(model: type[Model]) -> bool:
    own = (vars(cls).keys() for cls in model.__mro__ if cls not in (Model, object))
    attributes = (getattr_static(model, field.attname) for field in model._meta.concrete_fields)
    return all(names.isdisjoint(_MAKING) for names in own) and all(
        type(attribute) in _STORING for attribute in attributes
    )


_MAKING: Final = frozenset({"__init__", "__new__", "__setattr__", "from_db"})
_STORING: Final = (DeferredAttribute, ForeignKeyDeferredAttribute)
"""What of a row's attributes only keeps what it is given."""


class Select:
    """One SELECT on one connection.

    Args:
        rows: a query of values, with a mark in the place of each value that is still to come.
        marks: the marks as the database is given them; no two are the same.
    """

    def __init__(
        self, connection: BaseDatabaseWrapper, rows: QuerySet[Any, Any], marks: Sequence[Any]
    ) -> None:
        self._connection = connection
        compiler = rows.query.get_compiler(connection=connection)
        self._sql, parameters = compiler.as_sql()
        # Where a database, or a field of the product's, has parameters of its own: the ORM.
        self.is_plain = sorted(map(repr, parameters)) == sorted(map(repr, marks))
        self._order = [marks.index(mark) for mark in parameters] if self.is_plain else []
        columns = [expression for expression, _, _ in compiler.select]
        self._conversions = [
            (index, function, expression)
            for index, (functions, expression) in compiler.get_converters(columns).items()
            for function in functions
        ]

    def run(self, values: Sequence[Any]) -> list[Sequence[Any]]:
        """The rows, as the driver gives them, for values in the order of the marks."""
        return fetched(self._connection, self._sql, [values[place] for place in self._order])

    def converted(self, row: Sequence[Any]) -> list[Any]:
        """A row's values as the ORM gives them."""
        values, connection = list(row), self._connection
        for index, function, expression in self._conversions:
            values[index] = function(values[index], expression, connection)
        return values
