"""Whether a caller who was let in would be let in now; for what lasts longer than a request."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib.auth import get_user_model
from django.db import router
from django.db.models import QuerySet
from django.utils import timezone

from mcp_app.auth.tokens import narrowing
from mcp_app.conf import settings
from mcp_app.dispatch.context import Caller
from mcp_app.dispatch.listening import Credential
from mcp_app.models import Session, Token, TokenSecret
from mcp_app.models.people import active

Recall = Callable[[], Caller | None]
"""Makes a caller anew, with today's user, scopes and permissions; None where they are let in no
more."""


def recall(caller: Caller) -> Recall:
    """What takes little to keep while a stream idles: of a token's holder, no rows."""
    if not isinstance(caller.auth, Token):
        return partial(_refreshed, caller)
    return partial(_holder, caller.auth.pk, caller.token_lookup, caller.address)


def _holder(token_id: int, token_lookup: str, address: str) -> Caller | None:
    token = _live_token(token_id, token_lookup)
    if token is None or not token.user.is_active:
        return None
    return Caller(
        user=token.user,
        auth=token,
        **narrowing(token),
        source="token",
        token_lookup=token_lookup,
        address=address,
    )


def _live_token(token_id: int, token_lookup: str) -> Token | None:
    """The token as it is now, if the secret that was used is good for one more request."""
    tokens = _rows(Token).live().select_related("user").filter(pk=token_id)
    if token_lookup:
        secrets = _rows(TokenSecret).live().filter(lookup=token_lookup)
        tokens = tokens.filter(pk__in=secrets.values("token"))
    found: Token | None = tokens.first()
    return found


def _refreshed(caller: Caller) -> Caller | None:
    if caller.user.pk is None:
        return caller
    user = _rows(get_user_model()).filter(pk=caller.user.pk).first()
    return replace(caller, user=user) if user is not None and user.is_active else None


def ends_at(token: Token) -> datetime | None:
    """When the secret that a token came with ends by itself, as far as that is known now."""
    return _earliest(token, token.secret_used)


def _earliest(token: Token, secret: TokenSecret | None) -> datetime | None:
    valid_until = secret.valid_until if secret else None
    return min((end for end in (token.ends_at, valid_until) if end is not None), default=None)


def live_sessions() -> QuerySet[Session]:
    """Handshake sessions that neither ended nor idled too long."""
    idle = timezone.now() - settings.session_ttl
    rows: QuerySet[Session] = _rows(Session)
    return rows.filter(ended_at__isnull=True, last_seen_at__gt=idle)


def find_standing(credentials: Iterable[Credential]) -> dict[Credential, datetime | None]:
    """Those whose secret, token, user and session are not over, each with when it ends by itself.

    By one query for each kind. An end may have been moved since the credential was presented.
    """
    asked = list(credentials)
    secrets = _ends_of_secrets(c.token_lookup or None for c in asked)
    tokens = _ends_of_tokens(c.token_id for c in asked if not c.token_lookup)
    users = _of(_rows(get_user_model()).filter(active()), "pk", (c.user_id for c in asked))
    sessions = _of(live_sessions(), "key", (c.session_id for c in asked))
    return {
        c: secrets[c.token_lookup] if c.token_lookup else tokens[c.token_id]
        for c in asked
        if (c.token_lookup in secrets if c.token_lookup else c.token_id in tokens)
        and c.user_id in users
        and c.session_id in sessions
    }


def _rows(model: Any) -> Any:
    """All, from the database that is written to: a replica may not know of an end yet."""
    return model._default_manager.using(router.db_for_write(model))


def _ends_of_secrets(lookups: Iterable[str | None]) -> dict[str | None, datetime | None]:
    """Those of the secrets that are live, and when each ends; nothing never does."""
    rows = _among(_rows(TokenSecret).live().select_related("token"), "lookup", lookups)
    return {None: None} | {secret.lookup: _earliest(secret.token, secret) for secret in rows}


def _ends_of_tokens(ids: Iterable[int | None]) -> dict[int | None, datetime | None]:
    """The same of tokens."""
    rows = _among(_rows(Token).live(), "pk", ids)
    return {None: None} | {token.pk: token.ends_at for token in rows}


def _of(rows: QuerySet[Any], name: str, values: Iterable[Any]) -> set[Any]:
    """Those of the values that rows have, and None; no query where there are none."""
    return {None, *_among(rows, name, values).values_list(name, flat=True)}


def _among(rows: QuerySet[Any], name: str, values: Iterable[Any]) -> QuerySet[Any]:
    wanted = {value for value in values if value is not None}
    return rows.order_by().filter(**{f"{name}__in": wanted})
