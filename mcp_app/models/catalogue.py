"""What the servers declare, as a model that permissions and the admin can speak of: no table."""

from typing import ClassVar

from django.utils.translation import gettext_lazy as _

from mcp_app.models.switches import Switch


class Catalogue(Switch):
    """Tools, resources and prompts are declared in code; rows are kept of what is switched off.

    A proxy, for the permissions alone: nothing asks it for rows.
    """

    class Meta:
        proxy = True
        verbose_name = _("catalogue")
        verbose_name_plural = _("catalogue")
        default_permissions = ("view",)
        permissions: ClassVar = [
            ("explain_catalogue", _("Can see what others may call, and why")),
            ("try_catalogue", _("Can try tools, as themselves")),
        ]
