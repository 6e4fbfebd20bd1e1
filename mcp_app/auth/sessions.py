"""Handshake sessions in the database, found again only by the credential that opened them.

A session holds what `initialize` agreed on and grants nothing: scopes and permissions are asked on
each request. Bound to the token and not to a secret's bytes, it outlives a rotation; bound to the
token and not to its user alone, a weaker token cannot join it.
"""

import logging
import re
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import Error, connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import CharField, QuerySet
from django.utils import timezone

from mcp_app.auth.hashing import SECRET
from mcp_app.compiled import Columns, Select, kept
from mcp_app.conf import settings
from mcp_app.dispatch.context import Caller
from mcp_app.dispatch.interfaces import SessionState
from mcp_app.models import Session, Token
from mcp_app.seldom import SeldomLog

_not_written: Final = SeldomLog(logging.getLogger("mcp_app.auth"), logging.WARNING)

SEEN_INTERVAL: Final = timedelta(seconds=60)
_MARK: Final = "mark of the key"
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{43}")


class DatabaseSessions:
    """A `SessionStore` over the `Session` model; any process can serve any session."""

    def create(
        self,
        caller: Caller,
        version: str,
        client: Mapping[str, Any],
        capabilities: Mapping[str, Any],
    ) -> SessionState:
        """Open a session for the caller; the client's texts are trimmed to what is stored."""
        session = Session.objects.create(
            key=secrets.token_urlsafe(32),
            **_owner(caller),
            protocol_version=version,
            client_name=_trimmed(client.get("name"), "client_name"),
            client_version=_trimmed(client.get("version"), "client_version"),
            capabilities=_without_nul(dict(capabilities)),
            address=caller.address or None,
        )
        _end_oldest(caller)
        return _state(session)

    def find(self, session_id: str, caller: Caller) -> SessionState | None:
        """The caller's live session; None if unknown, ended, idle too long or another's."""
        now = timezone.now()
        session = _found(session_id)
        if session is None or not _is_live(session, caller, now):
            return None
        _note_seen(session, now)
        return _state(session)

    def end(self, session_id: str, caller: Caller) -> bool:
        """End the caller's session; False if `find` would not have found it."""
        now = timezone.now()
        return bool(_live(session_id, caller, now).update(ended_at=now))

    def update(self, session_id: str, **changes: Any) -> None:
        """Write what `dispatch.interfaces.SessionStore.update` names."""
        Session.objects.filter(key=session_id, ended_at__isnull=True).update(
            **_without_nul(changes)
        )


def _end_oldest(caller: Caller) -> None:
    """Keep a token's live sessions to their number: a client that loses one makes another.

    Callers without a credential are nobody in particular: they end no session of each other's.
    """
    owner = _owner(caller)
    if owner == {"token_id": None, "user_id": None}:
        return
    own = _sessions().filter(**owner, ended_at__isnull=True).order_by("-pk")
    surplus = list(own.values_list("pk", flat=True)[settings.SESSION_LIMIT :][:100])
    if surplus:
        Session.objects.filter(pk__in=surplus).update(ended_at=timezone.now())


def _found(session_id: str) -> Session | None:
    """Whosesoever it is, by a statement compiled once a connection."""
    if not _KEY.fullmatch(session_id):
        return None
    connection = connections[router.db_for_write(Session)]
    return kept(connection, "sessions", lambda: _Statement(connection)).run(session_id)


def _is_live(session: Session, caller: Caller, now: datetime) -> bool:
    """Of one that was read what `_live` asks of rows."""
    owner = {"token_id": session.token_id, "user_id": session.user_id}
    is_open = session.ended_at is None and session.last_seen_at > now - settings.session_ttl
    return is_open and owner == _owner(caller)


class _Statement:
    """The SELECT of one session on one connection."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._alias = connection.alias
        self._columns = Columns(Session)
        rows = _sessions().filter(key=_MARK).values_list(*self._columns.paths)
        self._select = Select(connection, rows, [_MARK])

    def run(self, key: str) -> Session | None:
        if not self._select.is_plain:
            return _sessions().filter(key=key).first()
        for row in self._select.run([key]):
            found: Session = self._columns.made(self._alias, self._select.converted(row))
            return found
        return None


def _live(session_id: str, caller: Caller, now: datetime) -> QuerySet[Session]:
    # What could not be one of our ids never reaches SQL: a NUL would be an error there.
    if not _KEY.fullmatch(session_id):
        return Session.objects.none()
    return _sessions().filter(
        key=session_id,
        **_owner(caller),
        ended_at__isnull=True,
        last_seen_at__gt=now - settings.session_ttl,
    )


def _sessions() -> QuerySet[Session]:
    # The database that is written to: a replica that lags would not know a session yet.
    return Session.objects.using(router.db_for_write(Session)).order_by()


def _note_seen(session: Session, now: datetime) -> None:
    """Move the idle clock at most once an interval; a failure to write fails no call."""
    before = now - min(SEEN_INTERVAL, settings.session_ttl / 2)
    if session.last_seen_at > before:
        return
    try:
        with transaction.atomic(using=router.db_for_write(Session)):
            _sessions().filter(pk=session.pk, last_seen_at__lte=before).update(last_seen_at=now)
    # Not DatabaseError alone: with some drivers a closed connection is an InterfaceError.
    except Error as error:
        _not_written.note("Session %s: last use not written.", session.pk, error=error)


def _owner(caller: Caller) -> dict[str, Any]:
    """The columns that bind a session; a caller without one of our tokens is its user alone."""
    token = caller.auth if isinstance(caller.auth, Token) else None
    return {"token_id": token.pk if token else None, "user_id": caller.user.pk}


def _state(session: Session) -> SessionState:
    return SessionState(
        session_id=session.key,
        version=session.protocol_version,
        client_name=session.client_name,
        client_version=session.client_version,
        capabilities=session.capabilities,
        log_level=session.log_level,
        subscriptions=tuple(session.subscriptions),
        roots=tuple(session.roots) if session.roots is not None else None,
    )


def _trimmed(text: Any, field: str) -> str:
    column = Session._meta.get_field(field)
    assert isinstance(column, CharField)
    return _clean(text)[: column.max_length] if isinstance(text, str) else ""


def _without_nul(value: Any) -> Any:
    """The JSON value with texts that every database stores."""
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, Mapping):
        return {_clean(str(key)): _without_nul(item) for key, item in value.items()}
    return [_without_nul(item) for item in value] if isinstance(value, list) else value


def _clean(text: str) -> str:
    plain = text.replace("\0", "").encode("utf-8", "replace").decode()
    # Some clients are set up by pasting; a secret must not stand in a row in clear.
    return SECRET.sub("[redacted]", plain)
