"""Switches: set one from what is declared, see what is in force, lift it."""

import json
from typing import Any, Final

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from mcp_app.access.switches import same, turn
from mcp_app.admin.affected import affected
from mcp_app.admin.display import moment, two_lines
from mcp_app.admin.entries import Entry, find, find_switched
from mcp_app.admin.lifting import LiftPage
from mcp_app.admin.links import page_url
from mcp_app.catalog.registry import servers
from mcp_app.models import Catalogue, Switch, SwitchKind
from mcp_app.models.switches import declared, noun_of


class SwitchForm(forms.ModelForm):  # type: ignore[type-arg]  # no subscript at run time
    """A server, or one thing of what the servers declare."""

    target = forms.ChoiceField(
        label=_("What"), help_text=_("A whole server for read-only and maintenance.")
    )
    until = forms.DateTimeField(
        label=_("Until"),
        required=False,
        help_text=_("It ends then by itself; empty for never."),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )

    class Meta:
        model = Switch
        fields = ("kind", "reason", "until")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._targets = _targets()
        self.fields["target"].choices = [  # type: ignore[attr-defined]
            ("", "---------"),
            *((str(number), label) for number, (_, label) in enumerate(self._targets)),
        ]
        entry = find(str(self.initial.get("of", "")))
        if entry is not None:
            self.initial["target"] = self._number_of(entry)

    def _number_of(self, entry: Entry) -> str:
        """How the choice says what another page names."""
        wanted = (entry.server.name, noun_of(entry.declared), entry.declared.key)
        named = (str(n) for n, (target, _) in enumerate(self._targets) if target == wanted)
        return next(named, "")

    def clean(self) -> dict[str, Any]:
        """A whole server where the switch is for one, and one thing of it otherwise."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        number, kind = cleaned.get("target"), cleaned.get("kind")
        if number and kind:
            (server, noun, name), _label = self._targets[int(number)]
            if bool(name) != (kind == SwitchKind.OFF):
                self.add_error("target", gettext("That does not go with this switch."))
            self.instance.server, self.instance.noun, self.instance.name = server, noun, name
        return cleaned


def _targets() -> list[tuple[tuple[str, str, str], str]]:
    """What can be switched, with the words for it."""
    found: list[tuple[tuple[str, str, str], str]] = []
    for server in servers():
        found.append(((server.name, "", ""), gettext("the server %s") % server.name))
        for noun, names in declared(server).items():
            found.extend(
                ((server.name, noun, name), f"{server.name}: {noun} {name}")
                for name in sorted(names)
            )
    return found


SURE: Final = "_sure"
"""The field by which a person confirms, with what they were shown."""


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
    readonly_fields = ("since", "set_by", "lifted_at", "lifted_by")
    show_facets = admin.ShowFacets.NEVER

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The form; then who would be affected; and only then it is set."""
        if request.method == "POST" and self.has_add_permission(request):
            form = self.get_form(request, None, change=False)(request.POST)
            if form.is_valid() and request.POST.get(SURE) != _meant(form.instance):
                return self._confirm(request, form.instance)
        answer: HttpResponse = super().add_view(request, form_url, extra_context)
        return answer

    def _confirm(self, request: HttpRequest, switch: Switch) -> HttpResponse:
        said = [(name, v) for name, values in request.POST.lists() for v in values]
        return self.page_response(
            request,
            "admin/mcp_app/switch/confirm.html",
            _("Set this switch?"),
            switch=switch,
            affected=affected(switch),
            replaced=same(switch),
            fields=[(n, v) for n, v in said if n not in (SURE, "csrfmiddlewaretoken")],
            sure=(SURE, _meant(switch)),
            back=self.page_url("changelist"),
            names_callers=request.user.has_perm("mcp_app.view_callevent"),
        )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The form's own, or the whole row."""
        if obj is None:
            return ("kind", "target", "reason", "until")
        whole = ("kind", "server", "noun", "name", "reason", "until", *self.readonly_fields)
        return (*whole, *self.get_readonly_fields(request, obj)[len(self.readonly_fields) :])

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """With a link to what it is for, for those who may follow it."""
        url = self._entry_url(request, obj)
        if not url:
            return self.readonly_fields

        @admin.display(description=_("in the catalogue"))
        def in_catalogue(switch: Switch) -> Any:
            return format_html('<a href="{}">{}</a>', url, switch.name)

        return (*self.readonly_fields, in_catalogue)

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

    @admin.display(description=_("in force"), boolean=True)
    def in_force(self, switch: Switch) -> bool:
        """Whether it refuses calls now."""
        return switch.is_in_force
