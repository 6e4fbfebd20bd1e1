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
    valid_until = token.secret_used.valid_until if token.secret_used else None
    return min((end for end in (token.ends_at, valid_until) if end is not None), default=None)


def live_sessions() -> QuerySet[Session]:
    """Handshake sessions that neither ended nor idled too long."""
    idle = timezone.now() - settings.session_ttl
    rows: QuerySet[Session] = _rows(Session)
    return rows.filter(ended_at__isnull=True, last_seen_at__gt=idle)


def find_ended(credentials: Iterable[Credential]) -> set[Credential]:
    """Those whose secret, token, user or session is over, by one query for each kind."""
    asked = list(credentials)
    secrets = _of(_rows(TokenSecret).live(), "lookup", (c.token_lookup or None for c in asked))
    bare = (c.token_id for c in asked if not c.token_lookup)
    tokens = _of(_rows(Token).live(), "pk", bare)
    users = _of(_rows(get_user_model()).filter(active()), "pk", (c.user_id for c in asked))
    sessions = _of(live_sessions(), "key", (c.session_id for c in asked))
    return {
        c
        for c in asked
        if _is_over(c.token_lookup or None, secrets)
        or (not c.token_lookup and _is_over(c.token_id, tokens))
        or _is_over(c.user_id, users)
        or _is_over(c.session_id, sessions)
    }


def _rows(model: Any) -> Any:
    """All, from the database that is written to: a replica may not know of an end yet."""
    return model._default_manager.using(router.db_for_write(model))


def _of(rows: QuerySet[Any], name: str, values: Iterable[Any]) -> set[Any]:
    """Those of the values that rows have; no query where there are none."""
    wanted = {value for value in values if value is not None}
    found = rows.order_by().filter(**{f"{name}__in": wanted})
    return set(found.values_list(name, flat=True))


def _is_over(value: Any, live: set[Any]) -> bool:
    return value is not None and value not in live
