"""Whether a presented secret is good now, by one query. It knows no request and no HTTP."""

import ipaddress
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from django.db import Error, connections, router, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from mcp_app.auth.hashing import matches, parse
from mcp_app.auth.lookup import find
from mcp_app.conf import settings
from mcp_app.models import Token, TokenSecret
from mcp_app.seldom import SeldomLog

_not_written: Final = SeldomLog(logging.getLogger("mcp_app.auth"), logging.WARNING)

_TOKEN: Final = TokenSecret._meta.get_field("token")


class Invalid(StrEnum):
    """Why a credential is refused. For the log and the audit: a caller is never told."""

    MALFORMED = "malformed"
    UNKNOWN = "unknown"
    MISMATCH = "mismatch"
    REVOKED = "revoked"
    ROTATED = "rotated"
    EXPIRED = "expired"
    INACTIVE = "user inactive"


class CredentialsInvalid(Exception):
    """A credential that is not good now.

    `secret` is the row it belongs to where it is known to be genuine, else None; `lookup` is what
    the text claimed.
    """

    def __init__(
        self, reason: Invalid, lookup: str = "", secret: TokenSecret | None = None
    ) -> None:
        self.reason = reason
        self.lookup = lookup
        self.secret = secret
        super().__init__(reason.value)


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """A token that was presented with a good secret; `token.user` is loaded."""

    token: Token
    secret: TokenSecret


@sensitive_variables("text", "digest")
def verify(
    text: str,
    *,
    now: datetime | None = None,
    address: str | None = None,
    known: TokenSecret | None = None,
) -> VerifiedToken:
    """Find the token that a secret's text belongs to, and note its use.

    Args:
        known: the secret with its token and user, where it was read since the text came.

    Raises:
        CredentialsInvalid: with the reason. A text of the wrong form costs no query.
    """
    now = now or timezone.now()
    parsed = parse(text)
    if parsed is None:
        raise CredentialsInvalid(Invalid.MALFORMED)
    lookup, digest = parsed
    secret = known if known is not None and known.lookup == lookup else find([lookup])[0]
    if secret is None or not matches(secret.digest, digest):
        raise CredentialsInvalid(Invalid.MISMATCH if secret else Invalid.UNKNOWN, lookup)
    if reason := objection(secret, now):
        raise CredentialsInvalid(reason, lookup, secret)
    _note_use(secret, now, address)
    return VerifiedToken(_used(secret), secret)


def _used(secret: TokenSecret) -> Token:
    """The secret's token, which knows it from now on."""
    token = secret.token
    token.secret_used = secret
    # Rows that knew each other would outlive their request, until the garbage collector came by.
    _TOKEN.delete_cached_value(secret)
    return token


def objection(secret: TokenSecret, now: datetime) -> Invalid | None:
    """Why a genuine secret is not good at a moment; None where it is."""
    token = secret.token
    if token.revoked_at is not None:
        return Invalid.REVOKED
    if secret.valid_until is not None and now >= secret.valid_until:
        return Invalid.ROTATED
    if token.ends_at is not None and now >= token.ends_at:
        return Invalid.EXPIRED
    return None if token.user.is_active else Invalid.INACTIVE


def _note_use(secret: TokenSecret, now: datetime, address: str | None) -> None:
    """Write the last use at most once an interval, and never fail the call over it."""
    before = now - timedelta(seconds=settings.LAST_USED_INTERVAL)
    if secret.last_used_at is not None and secret.last_used_at > before:
        return
    database = router.db_for_write(TokenSecret)
    due = Q(last_used_at__isnull=True) | Q(last_used_at__lte=before)
    rows = TokenSecret.objects.using(database).filter(due, pk=secret.pk)
    try:
        # A savepoint where the caller has a transaction, so that a refusal does not break it.
        with transaction.atomic(using=database):
            if _is_free(rows):
                rows.update(last_used_at=now, last_used_ip=_ip(address))
    # Not DatabaseError alone: with some drivers a closed connection is an InterfaceError.
    except Error as error:
        _not_written.note("Secret %s: last use not written.", secret, error=error)


def _is_free(rows: "QuerySet[TokenSecret]") -> bool:
    """Whether the row can be written without waiting for who holds it, where that can be asked.

    Who holds it notes a use as well, or rotates the token and may take long.
    """
    if not connections[rows.db].features.has_select_for_update_skip_locked:
        return True
    return bool(rows.select_for_update(skip_locked=True).order_by().values_list("pk"))


def _ip(address: str | None) -> str | None:
    try:
        return str(ipaddress.ip_address(address)) if address else None
    except ValueError:
        return None
