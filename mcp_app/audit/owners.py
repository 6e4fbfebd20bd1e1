"""Whose a call was: its row has no keys of a user or token that were deleted, even while it ran.

The names stay. A constraint of the database would refuse the row instead; and the database is not
asked for a call so short that hardly anybody can have been deleted meanwhile.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.db import Error, router
from django.db.models import QuerySet

from mcp_app.dispatch.interfaces import CallRecord
from mcp_app.models import CallEvent, Token, TokenSecret
from mcp_app.models.events import last_deletion
from mcp_app.seldom import SeldomLog

_not_known: Final = SeldomLog(logging.getLogger("mcp_app.audit"), logging.WARNING)

LONG: Final = 0.5
"""Seconds from which on a call is asked about, whichever process deletes."""


def may_be_gone(record: CallRecord) -> bool:
    """Whether its user or token may have been deleted since they were let in."""
    return record.started_at <= last_deletion() or (record.duration or 0.0) >= LONG


def forget_deleted(events: Iterable[CallEvent]) -> None:
    """Take the keys that lead nowhere. Where that cannot be found out they stay. Never raises."""
    rows = list(events)
    try:
        _forget(rows, "user_id", get_user_model())
        _forget(rows, "token_id", Token)
    # Not DatabaseError alone: with some drivers a closed connection is an InterfaceError.
    except Error as error:
        _not_known.note("Whether users and tokens of calls still exist is not known", error=error)


def _forget(rows: list[CallEvent], name: str, model: Any) -> None:
    keys = {getattr(row, name) for row in rows} - {None}
    if not keys:
        return
    found = model._base_manager.using(router.db_for_write(model)).filter(pk__in=keys)
    gone = keys - set(found.values_list("pk", flat=True))
    for row in rows:
        if getattr(row, name) in gone:
            setattr(row, name, None)


class Namesakes:
    """The users and tokens there are now that rows of the log may have been of, by their names.

    A token goes by its name and the prefixes of its secrets, a user by the name and by such tokens.
    """

    def __init__(self, rows: QuerySet[CallEvent]) -> None:
        self._rows = {
            key: names
            for key, *names in rows.values_list("pk", "username", "token_name", "token_lookup")
        }
        usernames, token_names, lookups = (
            {names[place] for names in self._rows.values()} - {""} for place in range(3)
        )
        user = get_user_model()
        login = user.USERNAME_FIELD
        self._users = _by_name(user, login, usernames, "pk")
        self._tokens = _by_name(Token, "name", token_names, "pk", "user_id")
        self._secrets = _by_name(TokenSecret, "lookup", lookups, "token_id", "token__user_id")

    def of(self, key: int) -> tuple[set[Any], set[Any]]:
        """The keys of users, and those of tokens, that the row with this key may have had."""
        username, token_name, lookup = self._rows[key]
        tokens = self._tokens[token_name] | self._secrets[lookup]
        users = {user for (user,) in self._users[username]} | {owner for _, owner in tokens}
        return users, {token for token, _ in tokens}


def _by_name(
    model: Any, field: str, names: set[str], *columns: str
) -> defaultdict[str, set[tuple[Any, ...]]]:
    found: defaultdict[str, set[tuple[Any, ...]]] = defaultdict(set)
    rows = model._base_manager.using(router.db_for_write(model)).filter(**{f"{field}__in": names})
    for name, *values in rows.values_list(field, *columns):
        found[name].add(tuple(values))
    return found
