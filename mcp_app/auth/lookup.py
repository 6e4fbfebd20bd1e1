"""Secrets with their tokens and users, many by one compiled statement."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from datetime import date, datetime
from functools import partial
from types import NoneType
from typing import Any, Final
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from mcp_app.compiled import Columns, Select, kept
from mcp_app.models import Token, TokenSecret

Maker = Callable[[Sequence[Any]], Any]

_SIZES: Final = (1, 4, 16, 64)
"""How many secrets the statements ask for: the first that is enough is run."""
_TOKEN: Final = TokenSecret._meta.get_field("token")
_USER: Final = Token._meta.get_field("user")
_LOOKUP: Final = [field.name for field in TokenSecret._meta.concrete_fields].index("lookup")
_UNCHANGEABLE: Final = frozenset({NoneType, bool, int, float, str, bytes, datetime, date, UUID})


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
    return kept(connection, ("secrets", size), lambda: _Statement(connection, size))


class _Statement:
    """A SELECT of so many lookups on one connection."""

    def __init__(self, connection: BaseDatabaseWrapper, size: int) -> None:
        self._alias = connection.alias
        self._size = size
        self._parts = [
            Columns(TokenSecret),
            Columns(Token, "token__"),
            Columns(get_user_model(), "token__user__"),
        ]
        self._token = len(self._parts[0].names)
        self._user = self._token + len(self._parts[1].names)
        marks = [f"mark {number}" for number in range(size)]
        paths = [path for part in self._parts for path in part.paths]
        rows = secrets(self._alias).filter(lookup__in=marks).values_list(*paths)
        self._select = Select(connection, rows, marks)

    def run(self, lookups: Sequence[str]) -> dict[str, Callable[[], TokenSecret]]:
        """By lookup, what makes the secret as the ORM would; of `lookups` there is at least one."""
        if not self._select.is_plain:
            rows = secrets(self._alias).filter(lookup__in=lookups)
            return {secret.lookup: partial(deepcopy, secret) for secret in rows}
        spare = [lookups[0]] * (self._size - len(lookups))
        found = self._select.run([*lookups, *spare])
        makers = [part.maker(self._alias) for part in self._parts]
        return {row[_LOOKUP]: self._maker(makers, self._select.converted(row)) for row in found}

    def _maker(self, makers: list[Maker], values: list[Any]) -> Callable[[], TokenSecret]:
        changeable = [i for i, value in enumerate(values) if type(value) not in _UNCHANGEABLE]
        return partial(self._secret, makers, values, changeable)

    def _secret(self, makers: list[Maker], shared: list[Any], changeable: list[int]) -> TokenSecret:
        """Made of one row's values, of which others may be made, too."""
        values = list(shared)
        for index in changeable:
            values[index] = deepcopy(values[index])
        make_secret, make_token, make_user = makers
        secret: TokenSecret = make_secret(values[: self._token])
        token = make_token(values[self._token : self._user])
        user = make_user(values[self._user :])
        _TOKEN.set_cached_value(secret, token)
        _USER.set_cached_value(token, user)
        return secret
