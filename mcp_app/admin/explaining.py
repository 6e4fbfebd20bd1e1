"""Explain: each gate of a call for one user, and a token of theirs, with pass or fail and why."""

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

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
        )
