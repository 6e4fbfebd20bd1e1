"""What tokens need from time to time: secrets that are due for a rotation, and rows that are dead.

Nothing here happens by itself; `manage.py mcp_token due` and `purge` do it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from django.db import router
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Least

from mcp_app.conf import settings
from mcp_app.models import Token, TokenSecret
from mcp_app.models.tokens import longest_life, unexpired

_AT_ONCE: Final = 500
"""Rows deleted in one transaction."""


class DueReason(StrEnum):
    """Why a secret is due."""

    EXPIRES = "expires"
    """Its token expires soon."""
    GRACE = "grace ends"
    """It was rotated, was used since, and ends soon: whoever uses it will be cut off."""
    OLD = "old"
    """It is older than `MCP_APP["ROTATE_AFTER_DAYS"]`."""


@dataclass(frozen=True, slots=True)
class Due:
    """One secret that somebody should look after."""

    token: Token
    secret: TokenSecret
    reason: DueReason
    ends_at: datetime | None
    """When it ends by itself, if it does."""


def due(within: timedelta, now: datetime) -> Iterator[Due]:
    """The secrets that work now and are due, the soonest to end first."""
    live: QuerySet[TokenSecret] = TokenSecret.objects.live(now)
    secrets = live.select_related("token", "token__user")
    for secret in secrets.order_by(_ends_at().asc(nulls_last=True), "pk").iterator(_AT_ONCE):
        reason = _reason(secret, within, now)
        if reason is not None:
            yield Due(secret.token, secret, reason, secret.ends_at)


def _ends_at() -> Least:
    """The earliest of a secret's ends that there are: its `ends_at`, for the database."""
    ends: list[Any] = [F("valid_until"), F("token__expires_at")]
    longest = longest_life()
    if longest is not None:
        ends.append(F("token__created_at") + longest)
    return Least(*(Coalesce(end, *(other for other in ends if other is not end)) for end in ends))


def _reason(secret: TokenSecret, within: timedelta, now: datetime) -> DueReason | None:
    soon, token = now + within, secret.token
    if token.ends_at is not None and token.ends_at <= soon:
        return DueReason.EXPIRES
    if secret.valid_until is not None:
        return DueReason.GRACE if secret.valid_until <= soon and _is_used(secret) else None
    most: int | None = settings.ROTATE_AFTER_DAYS
    if most is not None and secret.created_at <= now - timedelta(days=most):
        return DueReason.OLD
    return None


def _is_used(secret: TokenSecret) -> bool:
    """Whether it was used since another took its place."""
    newer = TokenSecret.objects.filter(token=secret.token_id, pk__gt=secret.pk)
    since = newer.order_by("pk").values_list("created_at", flat=True).first()
    return since is not None and secret.last_used_at is not None and secret.last_used_at > since


@dataclass(frozen=True, slots=True)
class Purged:
    """How many rows were, or would be, deleted."""

    tokens: int
    secrets: int
    """Of tokens that stay."""


def purge(before: datetime, *, dry_run: bool = False) -> Purged:
    """Delete tokens that were dead before a moment, and dead secrets of the others.

    Call events keep the names that they have.
    """
    database = router.db_for_write(Token)
    dead = Q(revoked_at__lte=before) | ~unexpired(before)
    tokens = Token.objects.using(database).filter(dead)
    secrets = TokenSecret.objects.using(database).filter(valid_until__lte=before)
    secrets = secrets.exclude(token__in=tokens)
    if dry_run:
        return Purged(tokens.count(), secrets.count())
    return Purged(_delete(tokens), _delete(secrets))


def _delete(rows: "QuerySet[Token] | QuerySet[TokenSecret]") -> int:
    count = 0
    while keys := list(rows.order_by().values_list("pk", flat=True)[:_AT_ONCE]):
        rows.model._default_manager.using(rows.db).filter(pk__in=keys).delete()
        count += len(keys)
    return count
