"""Switches as rows: what an administrator has turned off, why, and until when."""

from datetime import datetime
from typing import ClassVar

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_app.catalog.definition import Declaration
from mcp_app.catalog.registry import MCPServer, servers
from mcp_app.catalog.resources import ResourceTemplate
from mcp_app.models.people import author


class SwitchKind(models.TextChoices):
    """What a switch refuses."""

    OFF = "off", _("off")
    READ_ONLY = "read_only", _("read-only server")
    MAINTENANCE = "maintenance", _("maintenance")


class SwitchNoun(models.TextChoices):
    """What kind of thing is switched off by its name."""

    TOOL = "tool", _("tool")
    RESOURCE = "resource", _("resource")
    PROMPT = "prompt", _("prompt")


class SwitchQuerySet(models.QuerySet["Switch"]):
    """Switches."""

    def in_force(self, now: datetime | None = None) -> "SwitchQuerySet":
        """Neither lifted nor, by now, past their end, which no longer belongs to them.

        `since` is not asked: the clock of another process may be ahead.
        """
        is_open = Q(until__isnull=True) | Q(until__gt=now or timezone.now())
        return self.filter(is_open, lifted_at__isnull=True)


class Switch(models.Model):
    """One tool, resource or prompt turned off, or a whole server made read-only or closed.

    Rows are kept once they are lifted: with `LogEntry` they are the history.
    """

    kind = models.CharField(_("switch"), max_length=16, choices=SwitchKind.choices)
    server = models.CharField(_("server"), max_length=200, default="default")
    noun = models.CharField(
        _("kind"), max_length=16, choices=SwitchNoun.choices, blank=True, default=""
    )
    name = models.CharField(
        _("name"),
        max_length=500,
        blank=True,
        default="",
        help_text=_("The name of a tool or prompt, or the URI of a resource."),
    )
    reason = models.CharField(
        _("reason"), max_length=300, help_text=_("Callers are told it, word for word.")
    )
    since = models.DateTimeField(_("since"), default=timezone.now, editable=False)
    until = models.DateTimeField(
        _("until"), null=True, blank=True, help_text=_("It ends then by itself; empty for never.")
    )
    set_by = author(_("set by"))
    lifted_at = models.DateTimeField(_("lifted"), null=True, blank=True, editable=False)
    lifted_by = author(_("lifted by"))

    objects = SwitchQuerySet.as_manager()

    class Meta:
        verbose_name = _("switch")
        verbose_name_plural = _("switches")
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(
                fields=["server"], condition=Q(lifted_at__isnull=True), name="mcp_switch_open"
            )
        ]

    def __str__(self) -> str:
        named = f"{self.get_kind_display()}: {self.name or self.server}"
        if self.is_in_force:
            return named
        over = gettext("lifted") if self.lifted_at is not None else gettext("ended")
        return f"{named} ({over})"

    @property
    def is_in_force(self) -> bool:
        """Whether it refuses calls now."""
        return self.lifted_at is None and (self.until is None or self.until > timezone.now())

    def clean(self) -> None:
        """Name what there is, and end in the future.

        Raises:
            ValidationError: by field.
        """
        wrong: dict[str, ValidationError] = {}
        server = next((one for one in servers() if one.name == self.server), None)
        if server is None:
            wrong[NON_FIELD_ERRORS] = ValidationError(_("There is no such server."))
        elif self.kind != SwitchKind.OFF:
            self.noun = self.name = ""
        elif self.name not in declared(server).get(self.noun, ()):
            wrong[NON_FIELD_ERRORS] = ValidationError(_("Nothing of that kind and name exists."))
        if self.until is not None and self.until <= timezone.now():
            wrong["until"] = ValidationError(_("That is past already."))
        if wrong:
            raise ValidationError(wrong)


def noun_of(declaration: Declaration) -> str:
    """What a switch calls it: a template is switched as the resources that it makes."""
    is_template = isinstance(declaration, ResourceTemplate)
    return SwitchNoun.RESOURCE.value if is_template else declaration.noun


def declared(server: MCPServer) -> dict[str, list[str]]:
    """The names that a switch may have on a server, by the kind of thing."""
    return {
        SwitchNoun.TOOL.value: list(server.tools),
        SwitchNoun.RESOURCE.value: [*server.resources, *server.templates],
        SwitchNoun.PROMPT.value: list(server.prompts),
    }
