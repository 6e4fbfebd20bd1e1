"""Tokens and their secrets as rows. How a secret is made or checked only `auth` knows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar, Final

from django.conf import settings as django_settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from mcp_app.conf import settings
from mcp_app.models.limits import refuse_unknown, unknown, validate_scopes, validate_tools
from mcp_app.models.people import active, author

EXPIRING_WITHIN: Final = timedelta(days=7)
_A_CENTURY: Final = 36_500
"""In days: more than that is as good as for ever, and as a date it could not be written."""


class TokenStatus(models.TextChoices):
    """What a token is worth at one moment; `EXPIRING` ones still work, `NO_SECRET` can again."""

    ACTIVE = "active", _("Active")
    EXPIRING = "expiring", _("Expiring soon")
    NO_SECRET = "no_secret", _("No working secret")
    EXPIRED = "expired", _("Expired")
    REVOKED = "revoked", _("Revoked")


def longest_life() -> timedelta | None:
    """How old a token can get, whatever its own expiry: `MCP_APP["TOKEN_MAX_DAYS"]`."""
    days: int | None = settings.TOKEN_MAX_DAYS
    return None if days is None else timedelta(days=min(days, _A_CENTURY))


def unexpired(now: datetime, path: str = "") -> models.Q:
    """Tokens that do not end by themselves until after `now`; `path` leads to them: `token__`."""
    never = models.Q((f"{path}expires_at__isnull", True))
    found = never | models.Q((f"{path}expires_at__gt", now))
    longest = longest_life()
    return found if longest is None else found & models.Q((f"{path}created_at__gt", now - longest))


def unended(now: datetime) -> models.Q:
    """Secrets that do not end themselves until after `now`, whatever their token is worth."""
    return models.Q(valid_until__isnull=True) | models.Q(valid_until__gt=now)


class TokenQuerySet(models.QuerySet["Token"]):
    """Tokens by what they are worth at a moment."""

    def with_status(self, status: str, now: datetime | None = None) -> TokenQuerySet:
        """Only tokens of one `TokenStatus` value at `now`; an unknown status has none."""
        now = now or timezone.now()
        soon = now + EXPIRING_WITHIN
        unrevoked = self.filter(revoked_at__isnull=True)
        secrets = TokenSecret.objects.filter(unended(now), token=models.OuterRef("pk"))
        works = models.Exists(secrets.order_by())
        match status:
            case TokenStatus.REVOKED:
                return self.filter(revoked_at__isnull=False)
            case TokenStatus.EXPIRED:
                return unrevoked.filter(~unexpired(now))
            case TokenStatus.EXPIRING:
                return unrevoked.filter(works, unexpired(now), ~unexpired(soon))
            case TokenStatus.ACTIVE:
                return unrevoked.filter(works, unexpired(soon))
            case TokenStatus.NO_SECRET:
                return unrevoked.filter(~works, unexpired(now))
        return self.none()

    def live(self, now: datetime | None = None) -> TokenQuerySet:
        """Only tokens that admit a call at `now`, if one of their secrets does."""
        alive = unexpired(now or timezone.now())
        return self.filter(alive, active("user__"), revoked_at__isnull=True)

    def with_last_used(self) -> TokenQuerySet:
        """Annotate `last_used_at`, the latest use of any secret, in the same query."""
        latest = (
            TokenSecret.objects.filter(token=models.OuterRef("pk"))
            .order_by()
            .values("token")
            .annotate(latest=models.Max("last_used_at"))
            .values("latest")
        )
        return self.annotate(last_used_at=models.Subquery(latest))


class Token(models.Model):
    """A named right to call tools as one user, narrowed by scopes and limits.

    A user may hold several, each revocable alone. The primary key says nothing of a secret.
    """

    user = models.ForeignKey(
        django_settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="mcp_tokens",
        verbose_name=_("user"),
    )
    name = models.CharField(
        _("name"), max_length=100, help_text=_("What uses it, as in “Claude Code on Ana's laptop”.")
    )
    scopes = models.JSONField(_("scopes"), default=list, blank=True, validators=[validate_scopes])
    tools = models.JSONField(
        _("tools"),
        null=True,
        blank=True,
        validators=[validate_tools],
        help_text=_("The only tools it may call, an empty list for none; without a list, any."),
    )
    read_only = models.BooleanField(
        _("read only"), default=False, help_text=_("It may call nothing but what only reads.")
    )
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True, editable=False)
    note = models.TextField(_("note"), blank=True)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    created_by = author(_("created by"))

    objects = TokenQuerySet.as_manager()

    secret_used: TokenSecret | None = None
    """The secret this very instance was authenticated with; not a column."""

    class Meta:
        verbose_name = _("token")
        verbose_name_plural = _("tokens")
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Name scopes and tools that there are; what the saved row names may stay.

        Raises:
            ValidationError: by field.
        """
        self.scopes = self.scopes or []
        self.tools = None if self.tools is None else self.tools or []
        found = {field: unknown(field, getattr(self, field)) for field in ("scopes", "tools")}
        if any(found.values()):
            stored = Token.objects.filter(pk=self.pk).values(*found).first() or {}
            found = {
                field: names - unknown(field, stored.get(field)) for field, names in found.items()
            }
        refuse_unknown(found)

    @property
    def token_lookup(self) -> str:
        """The public part of the secret in use, or nothing outside an authenticated request."""
        return self.secret_used.lookup if self.secret_used else ""

    @property
    def ends_at(self) -> datetime | None:
        """When it ends by itself: at its expiry, or too old for the settings; None for never."""
        longest = longest_life()
        oldest = None if longest is None else self.created_at + longest
        return min((end for end in (self.expires_at, oldest) if end is not None), default=None)

    @property
    def is_over(self) -> bool:
        """Whether it is revoked or expired: no call is admitted with it any more."""
        ends_at = self.ends_at
        return self.revoked_at is not None or (ends_at is not None and ends_at <= timezone.now())

    def working_secrets(self, now: datetime) -> list[TokenSecret]:
        """Those of its secrets that have not ended at `now`, the newest first.

        Of many tokens at once they are read by `prefetch_related("secrets")`.
        """
        return [one for one in self.secrets.all() if not one.has_ended(now)]

    def status(self, now: datetime | None = None) -> TokenStatus:
        """The token's `TokenStatus` at `now`; it expires at the very instant `ends_at`."""
        now, ends_at = now or timezone.now(), self.ends_at
        if self.revoked_at is not None:
            return TokenStatus.REVOKED
        if ends_at is not None and ends_at <= now:
            return TokenStatus.EXPIRED
        if not self.working_secrets(now):
            return TokenStatus.NO_SECRET
        is_soon = ends_at is not None and ends_at <= now + EXPIRING_WITHIN
        return TokenStatus.EXPIRING if is_soon else TokenStatus.ACTIVE


class TokenSecretQuerySet(models.QuerySet["TokenSecret"]):
    """Secrets by whether they are good at a moment."""

    def live(self, now: datetime | None = None) -> TokenSecretQuerySet:
        """Only secrets that admit a call at `now`."""
        now = now or timezone.now()
        unrevoked = models.Q(token__revoked_at__isnull=True)
        owned = unrevoked & active("token__user__")
        return self.filter(unended(now), unexpired(now, "token__"), owned)


class TokenSecret(models.Model):
    """One secret of a token: its public lookup part and the digest of the whole text."""

    token = models.ForeignKey(
        Token, on_delete=models.CASCADE, related_name="secrets", verbose_name=_("token")
    )
    lookup = models.CharField(_("prefix"), max_length=12, unique=True)
    # Wider than SHA-256 needs, so that another algorithm needs no migration.
    digest = models.CharField(max_length=128)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    valid_until = models.DateTimeField(_("valid until"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True)
    last_used_ip = models.GenericIPAddressField(_("last used from"), null=True, blank=True)

    objects = TokenSecretQuerySet.as_manager()

    class Meta:
        verbose_name = _("secret")
        verbose_name_plural = _("secrets")
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return f"mcp_{self.lookup}_…"

    @property
    def ends_at(self) -> datetime | None:
        """When it ends by itself: at its own end, or with its token before; None for never."""
        ends = (self.valid_until, self.token.ends_at)
        return min((end for end in ends if end is not None), default=None)

    def has_ended(self, now: datetime) -> bool:
        """Whether it is over itself at `now`, whatever its token is worth."""
        return self.valid_until is not None and self.valid_until <= now
