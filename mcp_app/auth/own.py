"""What users may issue for themselves: the limits that an administrator set, and the one way in.

The limits are `ACCOUNT_SCOPES`, `ACCOUNT_MAX_DAYS` and `ACCOUNT_TOKENS` of `MCP_APP`. They hold for
a rotation, too: who rotates reads the secret, and what an administrator issued may be wider.
"""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import connections, router, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import AlreadyIssued, rotate, save_new
from mcp_app.conf import settings
from mcp_app.models import Token, TokenSecret
from mcp_app.scopes import carried


class BeyondLimits(Exception):
    """A token that its user could not have issued; `str()` is a sentence for people."""

    def __init__(self) -> None:
        super().__init__(
            _(
                "This token may do more, or lives longer, than you may give yourself. "
                "Ask an administrator to rotate it."
            )
        )


def allowed_scopes() -> frozenset[str]:
    """What users may give their own tokens."""
    return carried(settings.ACCOUNT_SCOPES)


def longest_days() -> int | None:
    """How many days such a token lives at most; None for any number."""
    limits = (settings.ACCOUNT_MAX_DAYS, settings.TOKEN_MAX_DAYS)
    return min((days for days in limits if days is not None), default=None)


def count(user: Any) -> int:
    """How many tokens that a user issued are alive."""
    tokens = Token.objects.using(_database()).filter(user=user.pk, created_by=user.pk)
    return tokens.live().count()


def check_limits(token: Token, issued_at: datetime) -> None:
    """Raise `ValidationError` by field for a token that is wider, or lives longer, than allowed."""
    if wider := sorted(set(token.scopes) - allowed_scopes()):
        message = _("You may not give yourself %(scopes)s.") % {"scopes": ", ".join(wider)}
        raise ValidationError({"scopes": message}, code="scope")
    days = longest_days()
    if days is not None and _lives_longer(token, issued_at + timedelta(days=days)):
        message = _("Your tokens expire within %(days)d days.") % {"days": days}
        raise ValidationError({"expires_at": message}, code="too_late")


def is_within_limits(token: Token) -> bool:
    """Whether its user could have issued it."""
    try:
        check_limits(token, token.created_at)
    except ValidationError:
        return False
    return True


def refuse_wider(token: Token) -> None:
    """Raise `BeyondLimits` for a token that its user could not have issued."""
    if not is_within_limits(token):
        raise BeyondLimits


def issue_own(token: Token, *, lookup: str, now: datetime | None = None) -> Secret:
    """Save a token that was filled in, as `auth.tokens.save_new`, for the one whose token it is.

    Raises:
        ValidationError: beyond a limit, or not possible for anybody. Of two at once that would
            exceed the number together, one is refused.
        AlreadyIssued: as `save_new`, also where that token was the last one allowed.
    """
    now = now or timezone.now()
    check_limits(token, now)
    with transaction.atomic(using=_database()):
        token.user = _held(token.user)
        if TokenSecret.objects.using(_database()).filter(lookup=lookup).exists():
            raise AlreadyIssued(lookup)
        if count(token.user) >= settings.ACCOUNT_TOKENS:
            message = _("You have %(n)d tokens, which is as many as you may. Revoke one first.")
            raise ValidationError(message % {"n": settings.ACCOUNT_TOKENS}, code="too_many")
        return save_new(token, by=token.user, lookup=lookup, now=now)


def rotate_own(token: Token, *, grace: timedelta, expected_secret_id: int | None) -> Secret:
    """Rotate, as `auth.tokens.rotate`, for the one whose token it is.

    Raises:
        BeyondLimits: the token is wider than its user may issue.
        TokenRotationRefused: as `rotate`.
    """
    refuse_wider(token)
    return rotate(token, grace=grace, by=token.user, expected_secret_id=expected_secret_id)


def _lives_longer(token: Token, end: datetime) -> bool:
    return token.expires_at is None or token.expires_at > end


def _database() -> str:
    return router.db_for_write(Token)


def _held(user: Any) -> Any:
    """The user as they are now, held until the transaction ends: nobody else counts meanwhile."""
    users = get_user_model()._base_manager.using(_database()).filter(pk=user.pk)
    if not connections[_database()].features.has_select_for_update:
        # SQLite ignores the row lock below; there the first write takes the lock of the database.
        name = get_user_model().USERNAME_FIELD
        users.update(**{name: F(name)})
    return users.select_for_update().get()
