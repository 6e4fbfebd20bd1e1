"""Explain: each gate of a call for one user, and a token of theirs, with pass or fail and why."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import Group, PermissionsMixin
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from mcp_app.access.explanation import Gate
from mcp_app.access.lacking import having_one_of
from mcp_app.admin.links import change_url
from mcp_app.admin.pages import Page, PagesAdmin
from mcp_app.admin.subjects import EntryForm
from mcp_app.transports.subjects import gates_of


class ExplainPage(PagesAdmin):
    """The page, for those who may see what others may call."""

    def pages(self) -> list[Page]:
        """With that page."""
        page = Page(
            slug="explain",
            title=_("Explain"),
            about=_(
                "For a user, and a token of theirs: each gate of a call, pass or fail, and why."
            ),
            view=self.explain_view,
            permission="explain",
        )
        return [*super().pages(), page]

    def has_explain_permission(self, request: HttpRequest) -> bool:
        """A permission of its own, beside that to see the catalogue: it tells of other people."""
        allowed = request.user.has_perm("mcp_app.explain_catalogue")
        return bool(allowed and self.has_view_permission(request))

    def explain_view(self, request: HttpRequest) -> HttpResponse:
        """The gates for whom and what the address names."""
        form = EntryForm(request.GET)
        gates = []
        if form.is_valid():
            entry, caller = form.cleaned_data["of"], form.caller
            gates = gates_of(entry.declared, caller, entry.server, form.secret)
        return self.page_response(
            request,
            "admin/mcp_app/catalogue/explain.html",
            _("Explain"),
            form=form,
            gates=gates,
            shut=next((gate for gate in gates if gate.passed is False), None),
            open=sum(gate.passed is None and not gate.by_token for gate in gates),
            by_token=sum(gate.by_token for gate in gates),
            people=_people(request, form, gates) if gates else (),
        )


def _people(
    request: HttpRequest, form: EntryForm, gates: Sequence[Gate]
) -> list[tuple[Any, list[SafeString]]]:
    """Where what the gates ask for can be changed: links, for those who may see the pages.

    That are the user, the token that was chosen, the user's groups, and the groups that have what
    the user was asked for in vain.
    """
    user, secret = form.caller.user, form.secret
    lacked = {name for gate in gates for name in gate.lacks}
    groups = Group.objects.none()
    if isinstance(user, PermissionsMixin):
        groups = Group.objects.filter(user=user.pk).order_by("name")
    having = having_one_of(lacked).exclude(pk__in=groups.values("pk")).order_by("name")
    found = [
        (_("The user"), [(user, user.get_username())]),
        (_("The token"), [(secret.token, secret.token.name)] if secret else []),
        (_("Groups of the user"), [(group, group.name) for group in groups]),
        (_("Groups that have what the user lacks"), [(each, each.name) for each in having]),
    ]
    linked = [(said, [_linked(request, *row) for row in rows]) for said, rows in found]
    return [(said, links) for said, rows in linked if (links := [each for each in rows if each])]


def _linked(request: HttpRequest, row: Any, text: str) -> SafeString | None:
    url = change_url(request, row)
    return format_html('<a href="{}">{}</a>', url, text) if url else None
