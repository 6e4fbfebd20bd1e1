"""Who may call it: users by tools, from the objects that answer `tools/list`."""

from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, PermissionsMixin
from django.core.paginator import Page as Shown
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from mcp_app.access.people import remember_permissions
from mcp_app.access.switches import Switches
from mcp_app.admin.entries import Entry, entries
from mcp_app.admin.explaining import ExplainPage
from mcp_app.admin.pages import Page
from mcp_app.admin.paging import BoundedPaginator
from mcp_app.admin.subjects import SOURCE
from mcp_app.dispatch.services import usable
from mcp_app.models.people import active
from mcp_app.transports.subjects import access_of, caller_of

USERS: Final = 20
TOOLS: Final = 50


@dataclass(frozen=True, slots=True)
class Row:
    """A tool, and for each user of the page whether their list holds it."""

    entry: Entry
    cells: list[tuple[Any, bool]]

    @property
    def count(self) -> int:
        """How many of these users may."""
        return sum(may for _, may in self.cells)


class WhoForm(forms.Form):
    """Whose rights, and to which tools; all fields may be left empty."""

    group = forms.ModelChoiceField(
        Group.objects.order_by("name"), label=_("Group"), required=False, empty_label=_("All")
    )
    user = forms.CharField(
        label=_("User"), required=False, help_text=_("How the name begins that they sign in with.")
    )
    q = forms.CharField(label=_("Tool"), required=False, help_text=_("Name or description."))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not issubclass(get_user_model(), PermissionsMixin):
            del self.fields["group"]


class CallersPage(ExplainPage):
    """The table, for those who may see what others may call."""

    def pages(self) -> list[Page]:
        """With that page."""
        page = Page(
            slug="callers",
            title=_("Who may call it"),
            about=_("Users and tools in one table: who is shown which, for a group or by name."),
            view=self.callers_view,
            permission="explain",
        )
        return [*super().pages(), page]

    def callers_view(self, request: HttpRequest) -> HttpResponse:
        """A page of users by a page of tools."""
        form = WhoForm(request.GET or None, label_suffix="")
        asked = form.cleaned_data if form.is_valid() else {}
        users = BoundedPaginator(chosen(asked), USERS).get_page(request.GET.get("users"))
        text = asked.get("q", "").strip()
        tools = [entry for entry in entries() if entry.kind == "tool" and entry.mentions(text)]
        page = Paginator(tools, TOOLS).get_page(request.GET.get("p"))
        people = list(users)
        return self.page_response(
            request,
            "admin/mcp_app/catalogue/callers.html",
            _("Who may call it"),
            form=form,
            users=users,
            people=people,
            page=page,
            rows=rows(page, people),
            several=len({entry.server for entry in page}) > 1,
        )


def chosen(asked: dict[str, Any]) -> QuerySet[Any]:
    """The active users of a group whose names begin so, by name."""
    model = get_user_model()
    name = model.USERNAME_FIELD
    users = model._default_manager.filter(active()).order_by(name)
    if asked.get("group"):
        users = users.filter(groups=asked["group"])
    begins = asked.get("user", "").strip()
    return users.filter(**{f"{name}__istartswith": begins}) if begins else users


def rows(page: "Shown[Entry]", users: list[Any]) -> list[Row]:
    """What each of the users is shown, without a token to narrow it."""
    remember_permissions(users)
    held: dict[Entry, list[tuple[Any, bool]]] = {entry: [] for entry in page}
    switches = {entry.server: Switches(entry.server) for entry in held}
    for user in users:
        caller = caller_of(user, source=SOURCE)
        for server, known in switches.items():
            access = access_of(caller, server, switches=known)
            mine = [entry for entry in held if entry.server is server]
            shown = frozenset(usable(access, caller, [entry.declared for entry in mine]))
            for entry in mine:
                held[entry].append((user, entry.declared in shown))
    return [Row(entry, cells) for entry, cells in held.items()]
