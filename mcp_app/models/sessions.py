"""Handshake sessions as rows, so that any process serves them; `auth.sessions` has the rules."""

from typing import ClassVar

from django.conf import settings as django_settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Session(models.Model):
    """What `initialize` agreed on, bound to the token that asked (`2025-11-25 basic/lifecycle`).

    The key names the session and proves nothing: every request still carries a credential.
    """

    key = models.CharField(_("session id"), max_length=64, unique=True)
    token = models.ForeignKey(
        "mcp_app.Token",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="sessions",
        verbose_name=_("token"),
    )
    user = models.ForeignKey(
        django_settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="mcp_sessions",
        verbose_name=_("user"),
    )
    protocol_version = models.CharField(_("protocol version"), max_length=32)
    client_name = models.CharField(_("client"), max_length=200, blank=True)
    client_version = models.CharField(_("client version"), max_length=100, blank=True)
    capabilities = models.JSONField(_("capabilities"), default=dict, blank=True)
    log_level = models.CharField(_("log level"), max_length=16, blank=True)
    subscriptions = models.JSONField(_("subscribed resources"), default=list, blank=True)
    roots = models.JSONField(_("roots"), null=True, blank=True)
    address = models.GenericIPAddressField(_("address"), null=True, blank=True)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    last_seen_at = models.DateTimeField(_("last seen"), default=timezone.now, db_index=True)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)

    class Meta:
        verbose_name = _("session")
        verbose_name_plural = _("sessions")
        ordering: ClassVar = ["-id"]
        permissions: ClassVar = [
            ("watch_session", _("Can see who is connected")),
            ("end_session", _("Can end sessions and streams")),
        ]

    def __str__(self) -> str:
        return self.client_name or self.key[:8]
