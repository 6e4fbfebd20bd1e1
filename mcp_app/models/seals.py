"""The chain of seals over call events as rows; `audit.seals` makes and verifies them."""

from typing import ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Seal(models.Model):
    """One link: a range of rows that was sealed, or rows that `mcp_prune` removed.

    The key is the place in the chain, so that two writers cannot both append the same link.
    """

    class Kind(models.TextChoices):
        """What a link says of its rows."""

        RANGE = "range", _("Sealed")
        PRUNED = "pruned", _("Pruned")

    number = models.PositiveBigIntegerField(_("number"), primary_key=True)
    kind = models.CharField(_("kind"), max_length=16, choices=Kind.choices)
    first_id = models.BigIntegerField(_("first row"))
    last_id = models.BigIntegerField(_("last row"))
    rows = models.PositiveIntegerField(_("rows"))
    contents = models.BinaryField(_("rows' digests, or keys of those pruned"))
    contents_digest = models.CharField(_("digest of the contents"), max_length=64)
    reason = models.CharField(_("reason"), max_length=255, blank=True)
    created_at = models.DateTimeField(_("when"), default=timezone.now)
    key_id = models.CharField(_("signed with"), max_length=16, blank=True)
    previous = models.CharField(_("previous digest"), max_length=64, blank=True)
    digest = models.CharField(_("digest"), max_length=64)

    class Meta:
        verbose_name = _("seal")
        verbose_name_plural = _("seals")
        ordering: ClassVar = ["-number"]
        indexes: ClassVar = [
            models.Index(fields=["kind", "last_id"], name="mcp_seal_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.number}: {self.first_id}-{self.last_id}"
