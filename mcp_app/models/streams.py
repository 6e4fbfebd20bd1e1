"""What outlives a connection: the events of a stream, for replay, and states that were used."""

from typing import ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class StreamEvent(models.Model):
    """One message of a handshake session's stream, kept for replay for a while.

    `2025-11-25 basic/transports` Resumability: found by its own stream of its own session alone.
    """

    session = models.ForeignKey(
        "mcp_app.Session", on_delete=models.CASCADE, related_name="stream_events"
    )
    stream = models.CharField(_("stream"), max_length=32)
    number = models.PositiveIntegerField(_("number"))
    data = models.TextField(_("message"))
    is_last = models.BooleanField(_("last"), default=False)
    created_at = models.DateTimeField(_("when"), default=timezone.now, db_index=True)

    class Meta:
        verbose_name = _("stream event")
        verbose_name_plural = _("stream events")
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["session", "stream", "number"], name="mcp_stream_event")
        ]

    def __str__(self) -> str:
        return f"{self.stream}.{self.number}"


class SpentState(models.Model):
    """The name of a request state that was used: it is good for one use (`mrtr`)."""

    name = models.CharField(_("name"), max_length=64, unique=True)
    expires_at = models.DateTimeField(_("expires"), db_index=True)

    class Meta:
        verbose_name = _("spent state")
        verbose_name_plural = _("spent states")

    def __str__(self) -> str:
        return self.name
