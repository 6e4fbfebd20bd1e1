"""Secrets with their tokens and users, by statements that the ORM has compiled once.

Building the query takes the ORM some twenty times as long as running it takes, so its SQL stays
with the connection that it was compiled for. Of the rows nothing is remembered.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model, QuerySet

from mcp_app.models import Token, TokenSecret

_SIZES: Final = (1, 4, 16, 64)
"""How many secrets the statements ask for: the first that is enough is run."""
_KEPT: Final = "_mcp_app_secrets"
"""Where a connection has its statements, so that they end with it."""
_TOKEN: Final = TokenSecret._meta.get_field("token")
_USER: Final = Token._meta.get_field("user")
_LOOKUP: Final = [field.name for field in TokenSecret._meta.concrete_fields].index("lookup")


def find(lookups: Sequence[str]) -> list[TokenSecret | None]:
    """The secret of each lookup with its token and the token's user; None where there is none.

    What is asked for twice is given twice, as objects of their own: nobody shares a user. The rows
    come from the database that is written to: a replica that lags would let a revoked token in.
    """
    connection = connections[router.db_for_write(TokenSecret)]
    wanted, most = list(dict.fromkeys(lookups)), _SIZES[-1]
    found: dict[str, Callable[[], TokenSecret]] = {}
    for start in range(0, len(wanted), most):
        part = wanted[start : start + most]
        found |= _statement(connection, len(part)).run(part)
    return [found[lookup]() if lookup in found else None for lookup in lookups]


def secrets(alias: str) -> QuerySet[TokenSecret]:
    """What the statements are compiled from, and tested against."""
    return TokenSecret.objects.using(alias).select_related("token__user").order_by()


def _statement(connection: BaseDatabaseWrapper, count: int) -> "_Statement":
    size = next(size for size in _SIZES if size >= count)
    kept: dict[int, _Statement] = vars(connection).setdefault(_KEPT, {})
    if size not in kept:
        kept[size] = _Statement(connection, size)
    return kept[size]


class _Statement:
    """A SELECT of so many lookups on one connection."""

    def __init__(self, connection: BaseDatabaseWrapper, size: int) -> None:
        self._connection = connection
        self._size = size
        self._parts = [
            _Part(TokenSecret, ""),
            _Part(Token, "token__"),
            _Part(get_user_model(), "token__user__"),
        ]
        marks = [f"mark {number}" for number in range(size)]
        paths = [path for part in self._parts for path in part.paths]
        query = secrets(connection.alias).filter(lookup__in=marks).values_list(*paths).query
        compiler = query.get_compiler(connection=connection)
        self._sql, parameters = compiler.as_sql()
        # Where a database, or a field of the product's, has parameters of its own: the ORM.
        self._is_plain = sorted(parameters) == sorted(marks)
        columns = [expression for expression, _, _ in compiler.select]
        self._converters = compiler.get_converters(columns)

    def run(self, lookups: Sequence[str]) -> dict[str, Callable[[], TokenSecret]]:
        """By lookup, what makes the secret as the ORM would; of `lookups` there is at least one."""
        if not self._is_plain:
            rows = secrets(self._connection.alias).filter(lookup__in=lookups)
            return {secret.lookup: partial(deepcopy, secret) for secret in rows}
        spare = [lookups[0]] * (self._size - len(lookups))
        with self._connection.cursor() as cursor:
            cursor.execute(self._sql, [*lookups, *spare])
            found = cursor.fetchall()
        return {values[_LOOKUP]: partial(self._secret, values) for values in found}

    def _secret(self, row: Sequence[Any]) -> TokenSecret:
        values = list(row)
        self._convert(values)
        secret: TokenSecret
        secret, token, user = (self._made(part, values) for part in self._parts)
        _TOKEN.set_cached_value(secret, token)
        _USER.set_cached_value(token, user)
        return secret

    def _convert(self, values: list[Any]) -> None:
        for index, (functions, expression) in self._converters.items():
            for function in functions:
                values[index] = function(values[index], expression, self._connection)

    def _made(self, part: "_Part", values: list[Any]) -> Any:
        """A model of the next values, which it takes."""
        count = len(part.names)
        own, values[:count] = values[:count], []
        return part.model.from_db(self._connection.alias, part.names, own)


class _Part:
    """The columns of one of the models, and the paths that lead to them."""

    def __init__(self, model: type[Model], path: str) -> None:
        self.model = model
        self.names = [field.attname for field in model._meta.concrete_fields]
        self.paths = [path + name for name in self.names]
