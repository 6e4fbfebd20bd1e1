"""View as: the lists of a user, or of a token's holder, as they are sent, and what they cost."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from mcp_app.access.checks import CallerAccess
from mcp_app.access.explanation import Gate, explain
from mcp_app.admin.callers_table import CallersPage
from mcp_app.admin.entries import Entry, entries, offering, reference
from mcp_app.admin.pages import Page
from mcp_app.admin.subjects import SubjectForm
from mcp_app.catalog.registry import MCPServer
from mcp_app.conf import settings
from mcp_app.dispatch.context import Caller
from mcp_app.transports.context import Listed, lists_of, tokens_of
from mcp_app.transports.subjects import access_of, door_of

MEMBERS: Final = {
    "tools": _("Tools"),
    "resources": _("Resources"),
    "resourceTemplates": _("Resource templates"),
    "prompts": _("Prompts"),
}
KINDS: Final = {
    "tools": "tool",
    "resources": "resource",
    "resourceTemplates": "template",
    "prompts": "prompt",
}


@dataclass(slots=True)
class Shut:
    """A gate that keeps things out of an empty list: one of them, and how many they are."""

    gate: Gate
    entry: Entry
    count: int = 0


class Shown(NamedTuple):
    """One list as a page has it: its rows, or which gates leave it empty."""

    title: Any
    listed: Listed
    rows: list[tuple[Any, str]]
    shut: list[Shut]


class ViewAsPage(CallersPage):
    """The page, for those who may see what others may call."""

    def pages(self) -> list[Page]:
        """With that page."""
        page = Page(
            slug="view-as",
            title=_("View as"),
            about=_("What a user, or the holder of a token, is shown, and what it costs a model."),
            view=self.viewed_as,
            permission="explain",
        )
        return [*super().pages(), page]

    def viewed_as(self, request: HttpRequest) -> HttpResponse:
        """The lists of whom the address names."""
        form = SubjectForm(request.GET)
        shown: list[dict[str, Any]] = []
        shut: Gate | None = None
        if form.is_valid():
            door = door_of(form.caller, form.secret)
            shut = next((gate for gate in door if gate.passed is False), None)
            shown = [] if shut else [view_of(form.caller, server) for server in offering()]
        return self.page_response(
            request,
            "admin/mcp_app/catalogue/view_as.html",
            _("View as"),
            form=form,
            shown=shown,
            shut=shut,
            most=settings.LIST_TOKENS_WARNING,
            version=settings.versions[0],
        )


def view_of(caller: Caller, server: MCPServer) -> dict[str, Any]:
    """A server as the caller has it: the lists, and the estimate of what all of them cost."""
    access = access_of(caller, server)
    lists = lists_of(caller, access, server)
    tokens = tokens_of(sum(listed.size for listed in lists))
    return {
        "server": server,
        "lists": [
            Shown(
                MEMBERS[listed.member],
                listed,
                _rows(listed, server),
                _shut(listed, caller, access, server),
            )
            for listed in lists
        ],
        "size": sum(listed.size for listed in lists),
        "tokens": tokens,
        "too_many": tokens > settings.LIST_TOKENS_WARNING,
    }


def _shut(listed: Listed, caller: Caller, access: CallerAccess, server: MCPServer) -> list[Shut]:
    """Of an empty list, the first gates that shut, the one that shuts most of it first."""
    if listed.items or listed.refusal:
        return []
    found: dict[tuple[str, str], Shut] = {}
    for entry in _declared(listed, server):
        gates = explain(entry.declared, caller, access)
        first = next((gate for gate in gates if gate.passed is False), None)
        if first is not None:
            shut = found.setdefault((first.name, first.why), Shut(first, entry))
            shut.count += 1
    return sorted(found.values(), key=lambda shut: -shut.count)


def _declared(listed: Listed, server: MCPServer) -> list[Entry]:
    kind = KINDS[listed.member]
    return [entry for entry in entries() if entry.server is server and entry.kind == kind]


def _rows(listed: Listed, server: MCPServer) -> list[tuple[Any, str]]:
    """Each item, and what names its page in the catalogue; the dearest first."""
    kind = KINDS[listed.member]
    dearest = sorted(listed.items, key=lambda item: (-item.size, item.key))
    return [(item, reference(server, kind, item.key)) for item in dearest]
