"""The call log: every call to read, none to write. It is made for a table of millions of rows."""

import re
from typing import Any, ClassVar, Final
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.utils.translation import gettext_lazy as _

from mcp_app.admin.call_filters import (
    ClientFilter,
    DecisionFilter,
    DurationFilter,
    OutcomeFilter,
    PeriodFilter,
    ResultFilter,
    SecretFilter,
    SessionFilter,
    TokenFilter,
    ToolFilter,
    UserFilter,
)
from mcp_app.admin.deleting import DeletePages
from mcp_app.admin.display import (
    NOTHING,
    caller_text,
    client_text,
    duration,
    moment,
    outcome_badge,
    prefix,
    tone,
    two_lines,
)
from mcp_app.admin.exporting import ExportPages
from mcp_app.admin.overviews import OverviewPage
from mcp_app.admin.paging import BoundedPaginator
from mcp_app.admin.stories import StoryPage
from mcp_app.admin.tails import TailPage
from mcp_app.audit.chain import sealed_to
from mcp_app.audit.outcomes import GROUP_MEANINGS, GROUPS, MEANINGS, OutcomeGroup
from mcp_app.audit.search import lookup_in, of_user
from mcp_app.audit.storage import database
from mcp_app.conf import settings
from mcp_app.models import CallEvent, CallOutcome

FILTERS: Final = (
    PeriodFilter,
    ResultFilter,
    OutcomeFilter,
    DecisionFilter,
    ToolFilter,
    UserFilter,
    TokenFilter,
    SecretFilter,
    SessionFilter,
    ClientFilter,
    DurationFilter,
)
FIELDS: Final = frozenset(name for each in FILTERS for name in each.parameters)


@admin.register(CallEvent)
class CallEventAdmin(DeletePages, OverviewPage, TailPage, StoryPage, ExportPages):
    """Read-only; rows are deleted by those who have the permission, and changed by nobody.

    What is sealed only `mcp_prune` removes, because it says so in the chain of seals.
    """

    list_display = ("when", "called", "who", "ended")
    list_display_links = ("when", "called")
    list_filter = FILTERS
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

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        """Under a title of its own, and at an address without the fields that were left empty."""
        said = [(name, value) for name, values in request.GET.lists() for value in values]
        kept = [(name, value) for name, value in said if value or name not in FIELDS]
        if kept != said:
            return HttpResponseRedirect(f"{request.path}?{urlencode(kept)}")
        shown = {"title": _("Calls"), "legend": legend(), **(extra_context or {})}
        return super().changelist_view(request, shown)

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
        return two_lines(event.tool or event.method or NOTHING, client_text(event) or NOTHING)

    @admin.display(description=_("user and token"))
    def who(self, event: CallEvent) -> Any:
        """Both by the names they had, the token else by its prefix; of nobody the address."""
        token = event.token_name or prefix(event.token_lookup)
        return two_lines(caller_text(event) or NOTHING, token)

    @admin.display(description=_("outcome and duration"))
    def ended(self, event: CallEvent) -> Any:
        """How it ended, and after how long."""
        return two_lines(outcome_badge(event), duration(event.duration_ms))

    def is_sealed(self, request: HttpRequest, event: CallEvent) -> bool:
        """Whether `mcp_seal --verify` would tell of a change."""
        return bool(event.pk <= _sealed_to(request))


def legend() -> list[tuple[OutcomeGroup, Any, list[tuple[CallOutcome, Any, str]]]]:
    """Every group and outcome, and what it means; the outcomes with their tone."""
    return [
        (group, GROUP_MEANINGS[group], [(each, MEANINGS[each], tone(each)) for each in outcomes])
        for group, outcomes in GROUPS.items()
    ]


def _sealed_to(request: HttpRequest) -> int:
    """Asked once a request: the page that deletes many asks for each of them."""
    if not hasattr(request, "_mcp_app_sealed_to"):
        request._mcp_app_sealed_to = sealed_to(database())  # type: ignore[attr-defined]
    return int(request._mcp_app_sealed_to)  # type: ignore[attr-defined]


def _called(term: str) -> Q:
    if re.fullmatch(r"[0-9a-f]{32}", term):
        return Q(correlation_id=term)
    return Q(tool=term) | Q(token_lookup=lookup_in(term) or term) | of_user(term)
