"""Which whole servers are in maintenance or read-only, told above the app's pages in one query."""

from dataclasses import dataclass

from django.db import router
from django.http import HttpRequest

from mcp_app.admin.links import address
from mcp_app.admin.pages import registered
from mcp_app.models import Switch, SwitchKind


@dataclass(frozen=True, slots=True)
class Closure:
    """A switch in force for a whole server, and its page; empty for who may not see that."""

    switch: Switch
    url: str

    @property
    def is_maintenance(self) -> bool:
        """Whether nothing runs; otherwise what only reads does."""
        return bool(self.switch.kind == SwitchKind.MAINTENANCE)


def closures(request: HttpRequest) -> list[Closure]:
    """Those in force now, the latest first, for people who may open one of the pages."""
    rows = Switch.objects.using(router.db_for_write(Switch)).in_force()
    whole = rows.filter(kind__in=(SwitchKind.MAINTENANCE, SwitchKind.READ_ONLY))
    held = registered(request).get(Switch)
    may_see = held is not None and held.has_view_permission(request)
    return [
        Closure(one, address(held, "change", {}, one.pk) if held and may_see else "")
        for one in whole
    ]
