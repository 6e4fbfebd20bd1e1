"""Whether a caller who was let in would be let in now; for what lasts longer than a request."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Q
from django.utils import timezone

from mcp_app.auth.tokens import narrowing
from mcp_app.conf import settings
from mcp_app.dispatch.context import Caller
from mcp_app.dispatch.listening import Credential
from mcp_app.models import Session, Token

Recall = Callable[[], Caller | None]
"""Makes a caller anew, with today's user, scopes and permissions; None where they are let in no
more."""


def recall(caller: Caller) -> Recall:
    """What takes little to keep while a stream idles: of a token's holder, no rows."""
    if not isinstance(caller.auth, Token):
        return partial(_refreshed, caller)
    return partial(_holder, caller.auth.pk, caller.token_lookup, caller.address)


def _holder(token_id: int, token_lookup: str, address: str) -> Caller | None:
    token = _live_tokens().filter(pk=token_id).first()
    if token is None:
        return None
    return Caller(
        user=token.user,
        auth=token,
        **narrowing(token),
        source="token",
        token_lookup=token_lookup,
        address=address,
    )


def _refreshed(caller: Caller) -> Caller | None:
    if caller.user.pk is None:
        return caller
    user = get_user_model()._default_manager.filter(pk=caller.user.pk).first()
    return replace(caller, user=user) if user is not None and user.is_active else None


def find_ended(credentials: Iterable[Credential]) -> set[Credential]:
    """Those whose token, user or session is over, by one query for each of the three."""
    asked = list(credentials)
    tokens = set(
        _live_tokens().filter(pk__in=_some(c.token_id for c in asked)).values_list("pk", flat=True)
    )
    active = get_user_model()._default_manager.filter(is_active=True)
    users = set(active.filter(pk__in=_some(c.user_id for c in asked)).values_list("pk", flat=True))
    idle = timezone.now() - settings.session_ttl
    live = Session.objects.filter(ended_at__isnull=True, last_seen_at__gt=idle)
    sessions = set(
        live.filter(key__in=_some(c.session_id for c in asked)).values_list("key", flat=True)
    )
    return {
        c
        for c in asked
        if _is_over(c.token_id, tokens)
        or _is_over(c.user_id, users)
        or _is_over(c.session_id, sessions)
    }


def _some(values: Iterable[Any]) -> list[Any]:
    return list({value for value in values if value is not None})


def _is_over(value: Any, live: set[Any]) -> bool:
    return value is not None and value not in live


def _live_tokens() -> Any:
    now = timezone.now()
    unexpired = Q(expires_at__isnull=True) | Q(expires_at__gt=now)
    return Token.objects.filter(
        unexpired, revoked_at__isnull=True, user__is_active=True
    ).select_related("user")
