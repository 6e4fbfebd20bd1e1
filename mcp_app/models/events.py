"""Call events as rows: who asked for what, and what came of it. `audit` writes them."""

import time
from typing import Any, ClassVar, Final, Self

from django.conf import settings as django_settings
from django.db import models, router, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from mcp_app.conf import settings


class CallDecision(models.TextChoices):
    """What the access checks said."""

    ALLOW = "allow", _("Allowed")
    DENY = "deny", _("Denied")
    CONFIRM = "confirm", _("Asked to confirm")


class CallOutcome(models.TextChoices):
    """How a call ended; the values are those of `dispatch.interfaces.Outcome`."""

    STARTED = "started", _("Started")
    WAITING = "waiting", _("Waits for a yes")
    OK = "ok", _("OK")
    ERROR = "error", _("Tool error")
    DENIED = "denied", _("Denied")
    REFUSED = "refused", _("Bad request")
    UNKNOWN = "unknown", _("Not found")
    INVALID = "invalid", _("Invalid arguments")
    UNAUTHENTICATED = "unauthenticated", _("Unauthenticated")
    THROTTLED = "throttled", _("Throttled")
    CANCELLED = "cancelled", _("Cancelled")
    TIMEOUT = "timeout", _("Timed out")
    ASKED = "asked", _("Asked for input")
    FAILED = "failed", _("Failed")


UNENDED: Final = (CallOutcome.STARTED, CallOutcome.WAITING)
"""Of calls that go on, or whose process was killed."""


class Forgotten(models.QuerySet["CallEvent"]):
    """Events of something that is being deleted, in this database or in another.

    Once that is committed they are changed again: a call that was recorded meanwhile is among them
    then. Where that fails the deletion stands, and the log says so: a key that leads nowhere harms
    none.
    """

    deleted_in: str | None = None

    def _clone(self) -> Self:
        clone: Self = super()._clone()  # type: ignore[misc]  # what `|` copies a queryset with
        clone.deleted_in = self.deleted_in
        return clone

    def update(self, **values: Any) -> int:
        """Change them now, where that is one transaction with the deletion, and after its commit.

        How many is only known of those that are changed now.
        """
        update = super().update

        # Not a partial: Django names what failed by an attribute that partials lack.
        def again() -> None:
            _deletion[0] = time.time()
            update(**values)

        transaction.on_commit(again, using=self.deleted_in, robust=True)
        return update(**values) if self.db == self.deleted_in else 0


_deletion: Final = [0.0]


def last_deletion() -> float:
    """When this process last deleted a user or a token, in seconds since the epoch; 0 if never."""
    return _deletion[0]


def forget(collector: Any, field: Any, rows: Any, using: str) -> None:
    """`SET_NULL` where the events are, which may be another database than the users'."""
    events = settings.AUDIT_DATABASE or router.db_for_write(field.model)
    rows = Forgotten(rows.model, query=rows.query, using=events)
    rows.deleted_in = using
    models.SET_NULL(collector, field, rows, using)


forget.lazy_sub_objs = True  # type: ignore[attr-defined]  # as SET_NULL: nothing is read first


class CallEvent(models.Model):
    """One call. People and tokens may be deleted later: their names stay here.

    Text from a caller arrives trimmed to the column and free of NUL.
    """

    created_at = models.DateTimeField(_("when"), default=timezone.now)
    duration_ms = models.FloatField(_("duration"), null=True, blank=True)
    # The composite indexes below begin with these keys, so the keys need none of their own. No
    # constraint either: a user deleted while the call ran must not take the event along, and the
    # events may stand in a database of their own.
    user = models.ForeignKey(
        django_settings.AUTH_USER_MODEL,
        on_delete=forget,
        null=True,
        blank=True,
        db_index=False,
        db_constraint=False,
        related_name="+",
        verbose_name=_("user"),
    )
    username = models.CharField(_("username"), max_length=254, blank=True)
    token = models.ForeignKey(
        "mcp_app.Token",
        on_delete=forget,
        null=True,
        blank=True,
        db_index=False,
        db_constraint=False,
        related_name="+",
        verbose_name=_("token"),
    )
    token_name = models.CharField(_("token name"), max_length=100, blank=True)
    token_lookup = models.CharField(_("token prefix"), max_length=32, blank=True)
    session_id = models.CharField(_("session"), max_length=64, blank=True)
    request_id = models.CharField(_("request id"), max_length=128, blank=True)
    method = models.CharField(_("method"), max_length=128, blank=True)
    tool = models.CharField(_("tool"), max_length=128, blank=True)
    source = models.CharField(_("authenticated by"), max_length=32, blank=True)
    transport = models.CharField(_("transport"), max_length=16, blank=True)
    decision = models.CharField(
        _("decision"), max_length=16, blank=True, choices=CallDecision.choices
    )
    outcome = models.CharField(_("outcome"), max_length=16, choices=CallOutcome.choices)
    error_class = models.CharField(_("error class"), max_length=255, blank=True)
    error_text = models.TextField(_("error text"), blank=True)
    correlation_id = models.CharField(_("correlation id"), max_length=32, blank=True)
    arguments = models.JSONField(_("arguments"), null=True, blank=True)
    result_bytes = models.PositiveBigIntegerField(_("result size"), null=True, blank=True)
    protocol_version = models.CharField(_("protocol version"), max_length=32, blank=True)
    client_name = models.CharField(_("client"), max_length=200, blank=True)
    client_version = models.CharField(_("client version"), max_length=100, blank=True)
    address = models.GenericIPAddressField(_("address"), null=True, blank=True)

    class Meta:
        verbose_name = _("call")
        verbose_name_plural = _("calls")
        permissions: ClassVar = [
            ("export_callevent", _("Can export calls")),
            ("tail_callevent", _("Can watch calls as they happen")),
            ("stop_callevent", _("Can stop running calls")),
        ]
        # By key and not by time: rows are written in nearly the order of time, and the key
        # costs no index of its own.
        ordering: ClassVar = ["-id"]
        # Ascending, and read backwards: only so SQLite has "newest first" from them unsorted.
        indexes: ClassVar = [
            # By time, with all that the overview counts, so that it reads nothing else. The names
            # of users and tokens would make an entry longer than PostgreSQL takes.
            models.Index(
                fields=[
                    "created_at",
                    "outcome",
                    "decision",
                    "tool",
                    "user",
                    "token",
                    "client_name",
                    "duration_ms",
                ],
                name="mcp_call_when",
            ),
            models.Index(fields=["tool", "created_at"], name="mcp_call_tool"),
            models.Index(fields=["user", "created_at"], name="mcp_call_user"),
            models.Index(fields=["token", "created_at"], name="mcp_call_token"),
            models.Index(fields=["outcome", "created_at"], name="mcp_call_outcome"),
            models.Index(fields=["correlation_id"], name="mcp_call_correlation"),
            models.Index(fields=["token_lookup"], name="mcp_call_lookup"),
        ]

    def __str__(self) -> str:
        return f"{self.tool or self.method} {self.outcome}"

    @property
    def has_ended(self) -> bool:
        """Whether its end is recorded."""
        return self.outcome not in UNENDED
