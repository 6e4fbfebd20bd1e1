"""The catalogue: all that the servers declare, a page for each, and who may open which page."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from django.contrib import admin
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext_lazy as _

from mcp_app.access.explanation import permission_classes
from mcp_app.access.permissions import class_text
from mcp_app.access.switches import Switches
from mcp_app.admin.details import details
from mcp_app.admin.entries import LABELS, Entry, entries, find
from mcp_app.admin.lifting import LiftPage
from mcp_app.admin.links import address, log_url, page_url
from mcp_app.admin.pages import LIST, Page, registered
from mcp_app.admin.trying import TryPage
from mcp_app.audit.storage import database
from mcp_app.audit.usage import Usage, usage
from mcp_app.models import CallEvent, Catalogue, Switch

PER_PAGE: Final = 50


@admin.register(Catalogue)
class CatalogueAdmin(TryPage):
    """Pages alone: what is declared in code is neither added, changed nor deleted here."""

    class Media:
        css: ClassVar = {"all": ["mcp_app/catalogue.css"]}

    def pages(self) -> list[Page]:
        """The list stands first."""
        whole = Page(
            slug=LIST,
            title=_("Catalogue"),
            about=_(
                "Every tool, resource and prompt: what guards it, what limits it, whether it is"
                " switched off, and how often it is called."
            ),
            view=self.catalogue_view,
        )
        one = Page(slug="entry", title=_("Catalogue"), about="", view=self.entry_view, linked=False)
        return [whole, one, *super().pages()]

    def get_urls(self) -> list[Any]:
        """The pages and no more: a proxy's rows are nobody's here."""
        return [self.page_path(page) for page in self.pages()]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Declared in code."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Declared in code."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Declared in code."""
        return False

    def catalogue_view(self, request: HttpRequest) -> HttpResponse:
        """Those that the filter in the address admits, a page of them at a time."""
        text, kind = request.GET.get("q", "").strip(), request.GET.get("kind", "")
        found = [entry for entry in entries() if entry.mentions(text) and kind in ("", entry.kind)]
        page = Paginator(found, PER_PAGE).get_page(request.GET.get("p"))
        used = self.usage(request, list(page))
        states = self.states(list(page))
        return self.page_response(
            request,
            "admin/mcp_app/catalogue/list.html",
            _("Catalogue"),
            rows=[self._row(request, entry, states, used) for entry in page],
            page=page,
            kinds=LABELS.items(),
            asked={"q": text, "kind": kind},
            several=len({entry.server for entry in found}) > 1,
            shows_calls=used is not None,
        )

    def entry_view(self, request: HttpRequest) -> HttpResponse:
        """All that is known of one."""
        if "of" not in request.GET:
            return HttpResponseRedirect(self.page_url(LIST))
        entry = find(request.GET["of"])
        if entry is None:
            raise Http404
        declared = entry.declared
        used = self.usage(request, [entry])
        switches = Switches(entry.server)
        return self.page_response(
            request,
            "admin/mcp_app/catalogue/entry.html",
            declared.title or declared.key,
            details=details(entry),
            off=switches.refusal_of(declared),
            busy=_busy(entry, used),
            log=log_url(request, _query(entry, used)) if used is not None else "",
            ways=self._ways(request, entry, switches.refusing(declared)),
        )

    def usage(self, request: HttpRequest, among: list[Entry]) -> Usage | None:
        """The calls of this week, for those who may see calls."""
        log = registered(request).get(CallEvent)
        if log is None or not log.has_view_permission(request):
            return None
        rows = CallEvent.objects.using(database())
        return usage(rows, {entry.declared.key for entry in among})

    def states(self, among: list[Entry]) -> Mapping[Entry, Any]:
        """What a call of each is told where it is switched off."""
        switches = {entry.server: Switches(entry.server) for entry in among}
        return {entry: switches[entry.server].refusal_of(entry.declared) for entry in among}

    def _row(
        self, request: HttpRequest, entry: Entry, states: Mapping[Entry, Any], used: Usage | None
    ) -> dict[str, Any]:
        return {
            "entry": entry,
            "url": page_url(request, Catalogue, "entry", {"of": entry.reference}),
            "guards": [class_text(cls) for cls in permission_classes(entry.declared)],
            "off": states[entry],
            "busy": _busy(entry, used),
            "log": log_url(request, _query(entry, used)) if used is not None else "",
        }

    def _ways(
        self, request: HttpRequest, entry: Entry, off: Switch | None
    ) -> list[tuple[Any, str]]:
        """Where one may go from here."""
        of = {"of": entry.reference}
        found = [
            (_("Try it"), self._try_url(request, entry)),
            (_("Explain: who may, and why"), page_url(request, Catalogue, "explain", of)),
            (_("Who may call it"), self._callers_url(request, entry)),
            self._switch(request, entry, off),
        ]
        return [(said, url) for said, url in found if url]

    def _try_url(self, request: HttpRequest, entry: Entry) -> str:
        is_tool, of = entry.kind == "tool", {"of": entry.reference}
        return page_url(request, Catalogue, "try", of) if is_tool else ""

    def _callers_url(self, request: HttpRequest, entry: Entry) -> str:
        is_tool, asked = entry.kind == "tool", {"q": entry.declared.key}
        return page_url(request, Catalogue, "callers", asked) if is_tool else ""

    def _switch(self, request: HttpRequest, entry: Entry, off: Switch | None) -> tuple[Any, str]:
        """Where it is switched off; of what is off, where that is lifted, or seen."""
        held = registered(request).get(Switch)
        if not isinstance(held, LiftPage):
            return "", ""
        if off is None:
            url = address(held, "add", {"kind": "off", "of": entry.reference})
            return _("Switch off"), url if held.has_add_permission(request) else ""
        if url := held.lift_url(request, off):
            return _("Lift the switch"), url
        seen = held.has_view_permission(request, off)
        return _("The switch"), address(held, "change", {}, off.pk) if seen else ""


def _busy(entry: Entry, used: Usage | None) -> Any:
    """Its calls; None where they are not to be seen, or stand under the URIs that were read."""
    return None if used is None or entry.kind == "template" else used.of(entry.declared.key)


def _query(entry: Entry, used: Usage | None) -> dict[str, str]:
    since = {} if used is None else {"since": used.since}
    return {"tool": entry.declared.key, **since}
