"""The overview: how the server is called, and how that goes, on one page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from mcp_app.admin.charts import Chart, stacked
from mcp_app.admin.links import token_in_log
from mcp_app.admin.pages import Page, PagesAdmin
from mcp_app.audit.gates import deciding_gate
from mcp_app.audit.outcomes import OutcomeGroup
from mcp_app.audit.overview import Busy, Counts, Overview, overview
from mcp_app.audit.timeline import Bucket, Period
from mcp_app.models import Token, TokenStatus

PARAMETER: Final = "for"
ENDING: Final = 10
"""Tokens near their end that are shown."""

TITLES: Final[Mapping[Period, Any]] = {
    Period.DAY: _("the last 24 hours"),
    Period.WEEK: _("the last 7 days"),
    Period.MONTH: _("the last 30 days"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table of the busiest: its name, where it leads, and its figures."""

    name: str
    query: str
    busy: Busy


@dataclass(frozen=True, slots=True)
class Table:
    """The busiest of one kind."""

    title: Any
    heading: Any
    rows: list[Row]


class OverviewPage(PagesAdmin):
    """The page, for those who may see calls."""

    def pages(self) -> list[Page]:
        """The overview stands first."""
        page = Page(
            slug="overview",
            title=_("Overview"),
            about=_(
                "How much is called and by whom, what goes wrong, how long it takes, and who was"
                " turned away: for a day, a week or a month."
            ),
            view=self.overview_view,
        )
        return [page, *super().pages()]

    def overview_view(self, request: HttpRequest) -> HttpResponse:
        """The figures of the period in the address; of a day where it names none."""
        asked = request.GET.get(PARAMETER, "")
        period = Period(asked) if asked in Period.values else Period.DAY
        found = overview(self.get_queryset(request), period)
        return self.page_response(
            request,
            "admin/mcp_app/callevent/overview.html",
            _("Overview"),
            overview=found,
            chart=chart(found),
            lines=[(bucket, urlencode(bucket.query), counts) for bucket, counts in found.timeline],
            periods=[(each, each.label, each is period) for each in Period],
            told=TITLES[period],
            since=urlencode({"since": found.timeline[0][0].query["since"]}),
            groups=OutcomeGroup,
            tables=tables(found),
            denials=[(event, deciding_gate(event)) for event in found.denials],
            ending=self._ending(request),
        )

    def _ending(self, request: HttpRequest) -> list[Token] | None:
        """Tokens that end within a week, the first to end first; None for who may not see them."""
        tokens = self.admin_site._registry.get(Token)
        if tokens is None or not tokens.has_view_permission(request):
            return None
        ending = Token.objects.with_status(TokenStatus.EXPIRING).select_related("user")
        return sorted(ending, key=lambda token: token.ends_at or token.created_at)[:ENDING]


def chart(found: Overview) -> Chart:
    """Calls over time."""
    return stacked(
        [counts.each for _, counts in found.timeline],
        [bucket.short for bucket, _ in found.timeline],
        [sentence(bucket, counts) for bucket, counts in found.timeline],
    )


def sentence(bucket: Bucket, counts: Counts) -> str:
    """What a bar says to whoever points at it."""
    said = ngettext("%(label)s: %(n)s call", "%(label)s: %(n)s calls", counts.total)
    begun = said % {"label": bucket.label, "n": number_format(counts.total)}
    parts = [f"{group.label} {number_format(n)}" for group, n in counts.each if n]
    return f"{begun} ({', '.join(parts)})" if parts else begun


def tables(found: Overview) -> list[Table]:
    """The busiest of each kind, by the names that they have now."""
    users = get_user_model()._default_manager.in_bulk([busy.key for busy in found.users])
    tokens = Token.objects.prefetch_related("secrets").in_bulk([busy.key for busy in found.tokens])
    usernames = {key: user.get_username() for key, user in users.items()}
    names = {key: token.name for key, token in tokens.items()}
    prefixes = {key: token_in_log(token) for key, token in tokens.items()}
    return [
        Table(_("Busiest tools"), _("Tool"), _named(found.tools, "tool")),
        Table(_("Busiest users"), _("User"), _known(found.users, "user", usernames, usernames)),
        Table(_("Busiest tokens"), _("Token"), _known(found.tokens, "token", names, prefixes)),
        Table(_("Busiest clients"), _("Client"), _named(found.clients, "client")),
    ]


def _named(found: Sequence[Busy], parameter: str) -> list[Row]:
    return [Row(busy.key, urlencode({parameter: busy.key}), busy) for busy in found]


def _known(
    found: Sequence[Busy], parameter: str, names: Mapping[Any, str], queries: Mapping[Any, str]
) -> list[Row]:
    """By name; what was deleted this very moment has none, and leads nowhere."""
    return [
        Row(
            names.get(busy.key) or gettext("deleted"),
            urlencode({parameter: queries[busy.key]}) if busy.key in queries else "",
            busy,
        )
        for busy in found
    ]
