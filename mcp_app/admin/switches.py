"""Switches: set one from what is declared, see what is in force, lift it."""

import json
from typing import Any, Final

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from mcp_app.access.switches import same, turn
from mcp_app.admin.affected import affected
from mcp_app.admin.display import mark, moment, moment_of, two_lines
from mcp_app.admin.entries import find, find_switched
from mcp_app.admin.lifting import LiftPage
from mcp_app.admin.links import back_url, followed, page_url
from mcp_app.admin.switch_form import SwitchForm, shown_end
from mcp_app.models import Catalogue, Switch, SwitchKind

ASKED: Final = {
    SwitchKind.OFF: _("Switch off %(name)s?"),
    SwitchKind.READ_ONLY: _("Make the server %(server)s read-only?"),
    SwitchKind.MAINTENANCE: _("Close the server %(server)s for maintenance?"),
}
DONE_BY: Final = {
    SwitchKind.OFF: _("Switch off"),
    SwitchKind.READ_ONLY: _("Make it read-only"),
    SwitchKind.MAINTENANCE: _("Close it"),
}
"""What the buttons say that do it."""
UNTIL: Final = moment_of("until", _("until"))
STORY: Final = (
    moment_of("since", _("since")),
    "set_by",
    moment_of("lifted_at", _("lifted")),
    "lifted_by",
)
SURE: Final = "_sure"
"""The field by which a person confirms, with what they were shown."""


def _purpose(request: HttpRequest) -> str:
    """What the form is for, where the page before it said so."""
    entry = find(request.GET.get("of", ""))
    if entry is None or request.GET.get("kind") != SwitchKind.OFF:
        return gettext("Set a switch")
    return gettext("Switch off %(name)s") % {"name": entry.declared.key}


def _meant(switch: Switch) -> str:
    """What a person agrees to: the choice is a number, which may mean another thing by then."""
    return json.dumps([switch.kind, switch.server, switch.noun, switch.name])


@admin.register(Switch)
class SwitchAdmin(LiftPage):
    """Set and lifted, never edited: what was in force when stays true."""

    form = SwitchForm
    list_display = ("what", "told", "set_since", "ends", "in_force")
    list_filter = ("kind", "server")
    list_select_related = ("set_by", "lifted_by")
    search_fields = ("name", "reason")
    actions = ("lift_switches",)
    show_facets = admin.ShowFacets.NEVER

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The form; then who would be affected; and only then it is set."""
        if request.method == "POST" and self.has_add_permission(request):
            form = self.get_form(request, None, change=False)(request.POST)
            if form.is_valid() and request.POST.get(SURE) != _meant(form.instance):
                return self._confirm(request, form.instance)
        context = {"title": _purpose(request), **(extra_context or {})}
        answer: HttpResponse = super().add_view(request, form_url, context)
        return answer

    def _confirm(self, request: HttpRequest, switch: Switch) -> HttpResponse:
        said = request.POST.dict() | shown_end(switch)
        kind = SwitchKind(switch.kind)
        return self.page_response(
            request,
            "admin/mcp_app/switch/confirm.html",
            ASKED[kind] % {"name": switch.name, "server": switch.server},
            switch=switch,
            affected=affected(switch),
            replaced=same(switch),
            fields=[(n, v) for n, v in said.items() if n not in (SURE, "csrfmiddlewaretoken")],
            sure=(SURE, _meant(switch)),
            act=DONE_BY[kind],
            back=back_url(request, self.model),
            names_callers=request.user.has_perm("mcp_app.view_callevent"),
        )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The form's own, or the whole row."""
        if obj is None:
            return ("kind", "target", "reason", "ending", "until")
        known = ("kind", "server", "noun", "name", "reason", UNTIL, *STORY)
        return (*followed(request, self.model, known), *self._ways(request, obj))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """What is known of one beside its columns."""
        known = followed(request, self.model, STORY)
        return (UNTIL, *known, *self._ways(request, obj))

    def _ways(self, request: HttpRequest, switch: Switch | None) -> tuple[Any, ...]:
        """A link to what it is for, for those who may follow it."""
        url = self._entry_url(request, switch)
        if not url:
            return ()

        @admin.display(description=_("in the catalogue"))
        def in_catalogue(switch: Switch) -> Any:
            return format_html('<a href="{}">{}</a>', url, switch.name)

        return (in_catalogue,)

    def _entry_url(self, request: HttpRequest, switch: Switch | None) -> str:
        entry = find_switched(switch.server, switch.noun, switch.name) if switch else None
        return page_url(request, Catalogue, "entry", {"of": entry.reference}) if entry else ""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Lift it and set another instead."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Rows are the history."""
        return False

    def save_model(self, request: HttpRequest, obj: Switch, form: Any, change: bool) -> None:
        """Set it in the place of one for the same."""
        obj.set_by = request.user
        turn(obj)

    @admin.action(description=_("Lift selected switches"), permissions=["lift"])
    def lift_switches(self, request: HttpRequest, queryset: QuerySet[Switch]) -> None:
        """End those in force."""
        live = [switch for switch in queryset if switch.is_in_force]
        for switch in live:
            self.lift(request, switch)
        said = ngettext("%(n)d switch lifted.", "%(n)d switches lifted.", len(live))
        self.message_user(request, said % {"n": len(live)}, messages.SUCCESS)

    @admin.display(description=_("switch"))
    def what(self, switch: Switch) -> Any:
        """What it refuses, and where."""
        named = f"{switch.noun} {switch.name}".strip()
        kind = switch.get_kind_display()
        return two_lines(f"{named}: {kind}" if named else kind, switch.server)

    @admin.display(description=_("reason"), ordering="reason")
    def told(self, switch: Switch) -> str:
        """What callers are told."""
        return switch.reason

    @admin.display(description=_("since"), ordering="since")
    def set_since(self, switch: Switch) -> Any:
        """When it was set, and by whom."""
        return two_lines(moment(switch.since, seconds=False), switch.set_by or "")

    @admin.display(description=_("end"), ordering="until")
    def ends(self, switch: Switch) -> Any:
        """When it ends, or was lifted, and by whom."""
        if switch.lifted_at is not None:
            by = _("lifted by %s") % switch.lifted_by if switch.lifted_by else _("lifted")
            return two_lines(moment(switch.lifted_at, seconds=False), by)
        if switch.until is None:
            return _("until it is lifted")
        by = _("ends by itself") if switch.is_in_force else _("ended by itself")
        return two_lines(moment(switch.until, seconds=False), by)

    @admin.display(description=_("state"))
    def in_force(self, switch: Switch) -> Any:
        """Whether it refuses calls now."""
        if switch.is_in_force:
            return mark("warn", _("in force"))
        return mark("dull", _("lifted") if switch.lifted_at else _("ended"))
