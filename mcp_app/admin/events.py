"""The call log: every call to read, none to write. It is made for a table of millions of rows."""

import re
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from mcp_app.admin.display import (
    NOTHING,
    badge,
    block,
    change_link,
    duration,
    moment,
    prefix,
    pretty_json,
    two_lines,
)
from mcp_app.admin.exporting import ExportPages
from mcp_app.admin.filters import TokenFilter, ToolFilter, UserFilter
from mcp_app.admin.paging import BoundedPaginator
from mcp_app.audit.chain import sealed_to
from mcp_app.audit.search import lookup_in, of_user
from mcp_app.audit.storage import database
from mcp_app.conf import settings
from mcp_app.models import CallEvent, Token

WHO = ("user_link", "token_link", "source", "client", "address", "session_id")
WHAT = ("when", "method", "tool", "arguments_pretty", "request_id")
RESULT = ("outcome_badge", "decision", "error", "took", "result_bytes", "correlation_id")
CARRIED = ("protocol_version", "transport", "sealed")


@admin.register(CallEvent)
class CallEventAdmin(ExportPages):
    """Read-only; rows are deleted by those who have the permission, and changed by nobody.

    What is sealed only `mcp_prune` removes, because it says so in the chain of seals.
    """

    list_display = ("when", "called", "who", "ended")
    list_display_links = ("when", "called")
    list_filter = (
        ToolFilter,
        ("outcome", admin.ChoicesFieldListFilter),
        ("created_at", admin.DateFieldListFilter),
        UserFilter,
        TokenFilter,
    )
    # Ordering by a column without an index would sort the whole table.
    sortable_by = ()
    ordering = ("-created_at",)
    list_per_page = 50
    list_max_show_all = 200
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = BoundedPaginator
    search_fields = ("correlation_id",)
    search_help_text = _(
        "A correlation id, the name of a tool or a user, or a token's prefix, written out in full."
    )
    fieldsets = (
        (_("What"), {"fields": WHAT}),
        (_("Who"), {"fields": WHO}),
        (_("Decision and outcome"), {"fields": RESULT}),
        (_("Carried by"), {"fields": CARRIED}),
    )
    readonly_fields = (*WHAT, *WHO, *RESULT, *CARRIED)

    class Media:
        css: ClassVar = {"all": ["mcp_app/admin.css"]}

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Calls are written by calls."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """What happened stays."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: CallEvent | None = None) -> bool:
        """By the permission, where nothing is sealed."""
        allowed = super().has_delete_permission(request, obj)
        return allowed and (obj is None or obj.pk > _sealed_to(request))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[CallEvent], search_term: str
    ) -> tuple[QuerySet[CallEvent], bool]:
        """Whole values, each by an index: a search inside texts would read the whole table."""
        term = search_term.strip().replace("\0", "")
        return (queryset.filter(_called(term)) if term else queryset), False

    def get_queryset(self, request: HttpRequest) -> QuerySet[CallEvent]:
        """From the database the events are in; a list leaves the long texts there."""
        rows = super().get_queryset(request)
        if settings.AUDIT_DATABASE:
            rows = rows.using(settings.AUDIT_DATABASE)
        match = request.resolver_match
        in_list = match is not None and (match.url_name or "").endswith("_changelist")
        return rows.defer("arguments", "error_text") if in_list else rows

    @admin.display(description=_("when"), ordering="-created_at")
    def when(self, event: CallEvent) -> Any:
        """The moment the call arrived."""
        return moment(event.created_at)

    @admin.display(description=_("tool and client"))
    def called(self, event: CallEvent) -> Any:
        """The tool, or the method where none was called, and what called it."""
        return two_lines(event.tool or event.method or NOTHING, self.client(event))

    @admin.display(description=_("user and token"))
    def who(self, event: CallEvent) -> Any:
        """Both by the names they had, the token else by its prefix."""
        return two_lines(event.username or NOTHING, event.token_name or prefix(event.token_lookup))

    @admin.display(description=_("outcome and duration"))
    def ended(self, event: CallEvent) -> Any:
        """How it ended, and after how long."""
        return two_lines(self.outcome_badge(event), duration(event.duration_ms))

    @admin.display(description=_("outcome"))
    def outcome_badge(self, event: CallEvent) -> Any:
        """How it ended."""
        return badge(event.outcome, event.get_outcome_display())

    @admin.display(description=_("duration"))
    def took(self, event: CallEvent) -> str:
        """How long it ran."""
        return duration(event.duration_ms)

    @admin.display(description=_("client"))
    def client(self, event: CallEvent) -> str:
        """What the caller said it is."""
        return f"{event.client_name} {event.client_version}".strip() or NOTHING

    @admin.display(description=_("user"))
    def user_link(self, event: CallEvent) -> Any:
        """The account, or the name it had."""
        user = get_user_model()._default_manager.filter(Q(pk=event.user_id)).first()
        if user is None:
            return event.username or NOTHING
        return change_link(self.admin_site.name, user, event.username)

    @admin.display(description=_("token"))
    def token_link(self, event: CallEvent) -> Any:
        """The token, or the name it had, and the prefix of the secret that was used."""
        if not (event.token_name or event.token_lookup):
            return NOTHING
        # Asked for by key: the events may be in another database than the tokens.
        token = Token.objects.filter(Q(pk=event.token_id)).first()
        name: Any = event.token_name
        if token is not None:
            name = change_link(self.admin_site.name, token, event.token_name or token.name)
        return format_html("{} {}", name, prefix(event.token_lookup))

    @admin.display(description=_("arguments"))
    def arguments_pretty(self, event: CallEvent) -> Any:
        """As they were stored: redacted."""
        return pretty_json(event.arguments)

    @admin.display(description=_("sealed"), boolean=True)
    def sealed(self, event: CallEvent) -> bool:
        """Whether `mcp_seal --verify` would tell of a change."""
        return bool(event.pk <= sealed_to(database()))

    @admin.display(description=_("error"))
    def error(self, event: CallEvent) -> Any:
        """The class of the error, and what it said."""
        said = block(event.error_text)
        return format_html("{} {}", event.error_class, said) if event.error_class else said


def _sealed_to(request: HttpRequest) -> int:
    """Asked once a request: the page that deletes many asks for each of them."""
    if not hasattr(request, "_mcp_app_sealed_to"):
        request._mcp_app_sealed_to = sealed_to(database())  # type: ignore[attr-defined]
    return int(request._mcp_app_sealed_to)  # type: ignore[attr-defined]


def _called(term: str) -> Q:
    if re.fullmatch(r"[0-9a-f]{32}", term):
        return Q(correlation_id=term)
    return Q(tool=term) | Q(token_lookup=lookup_in(term) or term) | of_user(term)
