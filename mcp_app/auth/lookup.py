"""Secrets with their tokens and users, by statements that the ORM has compiled once.

Building the query takes the ORM some twenty times as long as running it takes, so its SQL stays
with the connection that it was compiled for. Of the rows nothing is remembered.
"""

from collections.abc import Collection, Sequence
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


def find(lookups: Collection[str]) -> dict[str, TokenSecret]:
    """By lookup, the secrets that there are, each with its token and the token's user.

    They come from the database that is written to: a replica that lags would let a revoked
    token in.
    """
    connection = connections[router.db_for_write(TokenSecret)]
    wanted, most = list(lookups), _SIZES[-1]
    parts = [wanted[start : start + most] for start in range(0, len(wanted), most)]
    rows = [secret for part in parts for secret in _statement(connection, len(part)).run(part)]
    return {secret.lookup: secret for secret in rows}


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
        self._rows = [
            _Row(TokenSecret, ""),
            _Row(Token, "token__"),
            _Row(get_user_model(), "token__user__"),
        ]
        marks = [f"mark {number}" for number in range(size)]
        paths = [path for row in self._rows for path in row.paths]
        query = secrets(connection.alias).filter(lookup__in=marks).values_list(*paths).query
        compiler = query.get_compiler(connection=connection)
        self._sql, parameters = compiler.as_sql()
        # Where a database, or a field of the product's, has parameters of its own: the ORM.
        self._is_plain = sorted(parameters) == sorted(marks)
        columns = [expression for expression, _, _ in compiler.select]
        self._converters = compiler.get_converters(columns)

    def run(self, lookups: Sequence[str]) -> list[TokenSecret]:
        """The secrets of `lookups`, of which there is at least one, as the ORM would make them."""
        if not self._is_plain:
            return list(secrets(self._connection.alias).filter(lookup__in=lookups))
        spare = [lookups[0]] * (self._size - len(lookups))
        with self._connection.cursor() as cursor:
            cursor.execute(self._sql, [*lookups, *spare])
            found = cursor.fetchall()
        return [self._secret(list(values)) for values in found]

    def _secret(self, values: list[Any]) -> TokenSecret:
        self._convert(values)
        secret: TokenSecret
        secret, token, user = (self._made(row, values) for row in self._rows)
        _TOKEN.set_cached_value(secret, token)
        _USER.set_cached_value(token, user)
        return secret

    def _convert(self, values: list[Any]) -> None:
        for index, (functions, expression) in self._converters.items():
            for function in functions:
                values[index] = function(values[index], expression, self._connection)

    def _made(self, row: "_Row", values: list[Any]) -> Any:
        """A model of the next values, which it takes."""
        count = len(row.names)
        own, values[:count] = values[:count], []
        return row.model.from_db(self._connection.alias, row.names, own)


class _Row:
    """The columns of one of the models, and the paths that lead to them."""

    def __init__(self, model: type[Model], path: str) -> None:
        self.model = model
        self.names = [field.attname for field in model._meta.concrete_fields]
        self.paths = [path + name for name in self.names]
