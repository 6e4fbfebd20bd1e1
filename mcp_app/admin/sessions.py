"""Handshake sessions: who holds one, and the act that ends it."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from mcp_app.admin.connections import ConnectedPage
from mcp_app.admin.deleting import DeletePages
from mcp_app.admin.display import NOTHING, moment, pretty_json, two_lines
from mcp_app.admin.filters import LiveFilter
from mcp_app.admin.links import address, followed
from mcp_app.models import Session

FIELDS = (
    "key",
    "user",
    "token",
    "client",
    "protocol_version",
    "capabilities_pretty",
    "address",
    "created",
    "last_request",
    "ended",
)


@admin.register(Session)
class SessionAdmin(DeletePages, ConnectedPage):
    """Read-only, but for ending: the client then opens another."""

    list_display = (
        "opened_by",
        "owner",
        "created",
        "last_request",
        "ended",
    )
    list_filter = (LiveFilter,)
    list_select_related = ("user", "token")
    search_help_text = _("A client, a user, or a whole session id.")
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    actions = ("end_sessions",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        """The whole row, with the ways that the person may go."""
        return followed(request, self.model, FIELDS)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        """All of it."""
        return self.get_fields(request, obj)

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """With the name that this project's users have."""
        return ("client_name", f"user__{get_user_model().USERNAME_FIELD}", "key__exact")

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Under a title of its own: none is to be chosen."""
        title = capfirst(self.opts.verbose_name_plural)
        return super().changelist_view(request, {"title": title, **(extra_context or {})})

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """With the way to end one that lives, for those who may."""
        session = kwargs.get("obj")
        if session and not session.ended_at and self.has_end_permission(request):
            context["end_url"] = address(self, "end", {}, session.pk)
        return super().render_change_form(request, context, *args, **kwargs)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Clients open sessions."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """What was agreed stays."""
        return False

    @admin.action(description=_("End selected sessions"), permissions=["end"])
    def end_sessions(self, request: HttpRequest, queryset: QuerySet[Session]) -> None:
        """End those that live."""
        count = sum(self.end(request, session) for session in queryset)
        said = ngettext("%(n)d session ended.", "%(n)d sessions ended.", count)
        self.message_user(request, said % {"n": count}, messages.SUCCESS)

    @admin.display(description=_("client and version"), ordering="client_name")
    def opened_by(self, session: Session) -> Any:
        """What the caller said it is, and the revision that was agreed on."""
        return two_lines(self.client(session), session.protocol_version)

    @admin.display(description=_("user and token"))
    def owner(self, session: Session) -> Any:
        """Whose it is."""
        return two_lines(session.user or NOTHING, session.token or NOTHING)

    @admin.display(description=_("client"))
    def client(self, session: Session) -> str:
        """What the caller said it is."""
        return f"{session.client_name} {session.client_version}".strip() or NOTHING

    @admin.display(description=_("created"), ordering="created_at")
    def created(self, session: Session) -> Any:
        """When it was opened."""
        return moment(session.created_at)

    @admin.display(description=_("last request"), ordering="last_seen_at")
    def last_request(self, session: Session) -> Any:
        """When it was last used; noted once a minute at most."""
        return moment(session.last_seen_at)

    @admin.display(description=_("ended"), ordering="ended_at")
    def ended(self, session: Session) -> Any:
        """When the client or somebody here ended it."""
        return moment(session.ended_at)

    @admin.display(description=_("capabilities"))
    def capabilities_pretty(self, session: Session) -> Any:
        """What the client offered."""
        return pretty_json(session.capabilities)
