"""What is done to a token: issue, rotate, revoke. Checking a caller's one is `verification`.

Times are aware datetimes; `now` is an argument so that a deadline can be tested to the instant.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Any, Final, TypedDict

from django.core.exceptions import ValidationError
from django.db import IntegrityError, connections, router, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from mcp_app import signals
from mcp_app.auth.hashing import NewSecret, Secret, generate
from mcp_app.models import Token, TokenSecret
from mcp_app.models.limits import names
from mcp_app.models.tokens import longest_life
from mcp_app.scopes import carried

LONGEST_GRACE: Final = timedelta(days=3650)


class Narrowing(TypedDict):
    """What a token takes from its user's rights."""

    scopes: frozenset[str] | None
    tools: frozenset[str] | None
    reads_only: bool


NOTHING_TAKEN: Final[Narrowing] = {"scopes": None, "tools": None, "reads_only": False}
"""For callers without a token of ours."""


class RotationRefusal(StrEnum):
    """Why a token was not rotated."""

    REVOKED = "revoked"
    EXPIRED = "expired"
    STALE = "stale"
    """Somebody else rotated it since the caller looked."""
    GONE = "gone"
    """Somebody deleted it since the caller looked."""


class AlreadyIssued(Exception):
    """The prefix that was asked for is taken: the same form was answered before."""


class TokenRotationRefused(Exception):
    """A token that cannot be rotated now; `reason` says why, `str()` is a sentence for people."""

    def __init__(self, reason: RotationRefusal) -> None:
        self.reason = reason
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        return {
            RotationRefusal.REVOKED: _("A revoked token cannot be rotated. Issue a new one."),
            RotationRefusal.EXPIRED: _("An expired token cannot be rotated. Issue a new one."),
            RotationRefusal.STALE: _(
                "This token was rotated meanwhile. Nothing was changed: look at it again first."
            ),
            RotationRefusal.GONE: _("This token was deleted meanwhile. Issue a new one."),
        }[self.reason]


def effective_scopes(token: Token) -> frozenset[str]:
    """What the token itself allows. An empty list allows nothing that needs a scope.

    A scope brings what it implies: see `mcp_app.scopes`. One that is no longer declared in
    `MCP_APP["SCOPES"]` allows nothing. What the user may do is asked apart from this, and both are
    needed.
    """
    return carried(names(token.scopes))


def narrowing(token: Token) -> Narrowing:
    """How a token narrows what its user may do, in the words of a `Caller`."""
    return {
        "scopes": effective_scopes(token),
        "tools": None if token.tools is None else names(token.tools),
        "reads_only": token.read_only,
    }


def issue(
    *,
    user: Any,
    name: str,
    scopes: Iterable[str] = (),
    tools: Iterable[str] | None = None,
    read_only: bool = False,
    expires_at: datetime | None = None,
    note: str = "",
    created_by: Any = None,
    now: datetime | None = None,
) -> tuple[Token, Secret]:
    """Create a token with its first secret, whose text exists in the returned value alone.

    Args:
        tools: the only tools it may call, which may be none at all; None for any. With a list it
            reads no resources and gets no prompts.

    Raises:
        ValidationError: an empty or too long name, a scope that is not declared, a tool that
            there is not, an inactive user, an expiry that is past or beyond
            `MCP_APP["TOKEN_MAX_DAYS"]`.
    """
    token = Token(
        user=user,
        name=name,
        scopes=_listed(scopes),
        tools=_listed(tools),
        read_only=read_only,
        expires_at=expires_at,
        note=note,
    )
    return token, save_new(token, by=created_by, now=now)


def _listed(names: Iterable[str] | None) -> Any:
    """As a list; a text stays one, and is refused as none, not taken for a list of letters."""
    return names if names is None or isinstance(names, str) else list(names)


def save_new(
    token: Token, *, by: Any = None, lookup: str | None = None, now: datetime | None = None
) -> Secret:
    """Save a `Token` that was filled in but never saved, with its first secret: see `issue`.

    `lookup` is the prefix to give the secret, for a form that must not be answered twice.

    Raises:
        ValidationError: as `issue`.
        AlreadyIssued: a secret of that prefix exists. Nothing was saved.
    """
    now = now or timezone.now()
    token.created_at, token.created_by = now, by
    token.full_clean()
    token.scopes = sorted(set(token.scopes))
    token.tools = None if token.tools is None else sorted(set(token.tools))
    check_user(token.user)
    check_expiry(token.expires_at, now)
    new = generate(lookup)
    with transaction.atomic(using=_database()):
        token.save()
        _add(token, new, now)
        _announce(signals.token_issued, token=token, by=by)
    return new.secret


def rotate(
    token: Token,
    *,
    grace: timedelta,
    by: Any = None,
    expected_secret_id: int | None = None,
    now: datetime | None = None,
) -> Secret:
    """Add a secret and end the one in use after `grace`; zero ends it at once.

    Name, owner, scopes and expiry stay. At most one predecessor lives on: rotating again within
    a grace ends the older one at once. A grace never puts an earlier end off.

    Of two rotations at once, one wins. Pass `expected_secret_id`, the newest secret the person
    saw, to have "at once" include the time since that page was shown.

    Raises:
        TokenRotationRefused: revoked, expired, or rotated or deleted meanwhile.
        ValidationError: a grace below zero or above ten years.
    """
    now = now or timezone.now()
    check_grace(grace)
    seen = newest_secret_id(token) if expected_secret_id is None else expected_secret_id
    new = generate()
    with transaction.atomic(using=_database()):
        locked = _locked(token)
        check_rotatable(locked, now)
        if newest_secret_id(locked) != seen:
            raise TokenRotationRefused(RotationRefusal.STALE)
        valid_until = _retire(locked, seen, now, now + grace)
        _add(locked, new, now)
        _announce(signals.token_rotated, token=locked, by=by, valid_until=valid_until)
    return new.secret


def revoke(token: Token, *, by: Any = None, now: datetime | None = None) -> bool:
    """End a token and all its secrets with the next request. False if it was revoked before."""
    now = now or timezone.now()
    with transaction.atomic(using=_database()):
        unrevoked = Token.objects.using(_database()).filter(pk=token.pk, revoked_at__isnull=True)
        changed = bool(unrevoked.update(revoked_at=now))
        if changed:
            token.revoked_at = now
            _announce(signals.token_revoked, token=token, by=by)
    return changed


def end_secret(token: Token, lookup: str, *, by: Any = None, now: datetime | None = None) -> bool:
    """End one secret with the next request; the token keeps its others. False if it had ended."""
    now = now or timezone.now()
    with transaction.atomic(using=_database()):
        secrets = TokenSecret.objects.using(_database()).filter(token=token.pk, lookup=lookup)
        changed = bool(_end(secrets, now))
        if changed:
            _announce(signals.token_secret_ended, token=token, lookup=lookup, by=by)
    return changed


def newest_secret_id(token: Token) -> int | None:
    """The id of the secret that a rotation would end, or None for a token that has none."""
    secrets = TokenSecret.objects.using(_database()).filter(token=token.pk)
    return secrets.order_by("-id").values_list("id", flat=True).first()


def check_user(user: Any) -> None:
    """Raise `ValidationError` for a user who could not use a token."""
    if not user.is_active:
        raise ValidationError({"user": _("This user is not active.")}, code="inactive")


def check_grace(grace: timedelta) -> None:
    """Raise `ValidationError` for a grace below zero or above ten years."""
    if not timedelta(0) <= grace <= LONGEST_GRACE:
        raise ValidationError(_("A grace period is between 0 seconds and ten years."), code="grace")


def check_expiry(
    expires_at: datetime | None, now: datetime, issued_at: datetime | None = None
) -> None:
    """Raise `ValidationError` for an expiry that is past, or later than the settings allow.

    `issued_at` is when the token was issued, if that is not now.
    """
    longest = longest_life()
    if expires_at is not None and timezone.is_naive(expires_at) != timezone.is_naive(now):
        raise ValidationError({"expires_at": _("An expiry has its time zone.")}, code="naive")
    if expires_at is not None and expires_at <= now:
        raise ValidationError({"expires_at": _("The expiry is in the past.")}, code="past")
    if longest is not None and (expires_at is None or expires_at > (issued_at or now) + longest):
        message = _("A token expires within %(days)d days here.") % {"days": longest.days}
        raise ValidationError({"expires_at": message}, code="too_late")


def check_rotatable(token: Token, now: datetime) -> None:
    """Raise `TokenRotationRefused` for a revoked or expired token."""
    if token.revoked_at is not None:
        raise TokenRotationRefused(RotationRefusal.REVOKED)
    if token.ends_at is not None and token.ends_at <= now:
        raise TokenRotationRefused(RotationRefusal.EXPIRED)


def _database() -> str:
    return router.db_for_write(Token)


def _locked(token: Token) -> Token:
    """The row as it is now, held until the transaction ends."""
    tokens = Token.objects.using(_database()).filter(pk=token.pk)
    if not connections[_database()].features.has_select_for_update:
        # SQLite ignores the row lock below; there the first write takes the lock of the database.
        tokens.update(name=F("name"))
    locked = tokens.select_for_update().first()
    if locked is None:
        raise TokenRotationRefused(RotationRefusal.GONE)
    return locked


def _retire(token: Token, newest: int | None, now: datetime, deadline: datetime) -> datetime:
    """End those there are; gives when the newest of them ends, which may be before the deadline."""
    secrets = TokenSecret.objects.using(_database()).filter(token=token)
    _end(secrets.exclude(pk__in=[newest]), now)
    _end(secrets.filter(pk__in=[newest]), deadline)
    ends = secrets.filter(pk__in=[newest]).values_list("valid_until", flat=True)
    return min(end for end in (deadline, token.ends_at, *ends) if end is not None)


def _end(secrets: QuerySet[TokenSecret], at: datetime) -> int:
    """Let them end at `at`, unless they end sooner. How many now end then."""
    later = Q(valid_until__isnull=True) | Q(valid_until__gt=at)
    return secrets.filter(later).update(valid_until=at)


def _add(token: Token, new: NewSecret, now: datetime) -> None:
    secret = TokenSecret(token=token, lookup=new.lookup, digest=new.digest, created_at=now)
    try:
        with transaction.atomic(using=_database()):
            secret.save(force_insert=True)
    except IntegrityError as error:
        raise AlreadyIssued(new.lookup) from error


def _announce(signal: Any, *, token: Token, **arguments: Any) -> None:
    send = partial(signal.send_robust, sender=Token, token=token, **arguments)
    transaction.on_commit(send, using=_database())
