"""The live page: calls as they begin and end, pushed on a socket or asked for again and again."""

from typing import Any, Final

from django.core.handlers.asgi import ASGIRequest
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from mcp_app.admin.call_filters import FormFilter, ResultFilter, ToolFilter, UserFilter
from mcp_app.admin.display import caller_text, client_text, duration, tone
from mcp_app.admin.pages import Page
from mcp_app.admin.stops import StopPage
from mcp_app.audit.periods import local
from mcp_app.audit.tailing import MOST, Asked, News, Rows, news, unended
from mcp_app.models import CallEvent, CallOutcome
from mcp_app.transports.bus import is_shared
from mcp_app.transports.tail import NEWS_HEADER, ROWS

FILTERS: Final[tuple[type[FormFilter], ...]] = (ToolFilter, UserFilter, ResultFilter)


class TailPage(StopPage):
    """The page, for those who have the permission `tail_callevent`."""

    def pages(self) -> list[Page]:
        """Beside the overview."""
        page = Page(
            slug="tail",
            title=_("Live"),
            about=_("Calls as they happen: what runs now, and what came of it."),
            view=self.tail_view,
            permission="tail",
        )
        return [*super().pages(), page]

    def get_urls(self) -> list[Any]:
        """What the page asks for beneath the page."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_tail_rows"
        view = self.admin_site.admin_view(self.tail_rows_view)
        return [path(f"tail/{ROWS}", view, name=name), *super().get_urls()]

    def has_tail_permission(self, request: HttpRequest) -> bool:
        """A permission of its own."""
        return bool(request.user.has_perm("mcp_app.tail_callevent"))

    def tail_view(self, request: HttpRequest) -> HttpResponse:
        """The page without rows: it asks for them."""
        return self.page_response(
            request,
            "admin/mcp_app/callevent/tail.html",
            _("Live"),
            filters=[(f, [{"fields": f.fields(), "links": ()}]) for f in self._filters(request)],
            is_filtered=any(f.used_parameters for f in self._filters(request)),
            rows_url=self.page_url("tail_rows"),
            query=request.GET.urlencode(),
            most=MOST,
            has_socket=isinstance(request, ASGIRequest),
            is_shared=is_shared(),
        )

    def tail_rows_view(self, request: HttpRequest) -> HttpResponse:
        """What is new, as JSON; the socket pushes the same."""
        if not self.has_tail_permission(request):
            return JsonResponse({}, status=403)
        said = [request.GET.get(name, "") for name in ("cursor", "have", "open", "waits", "floor")]
        chosen = self._filters(request)
        everything = self.get_queryset(request).defer("arguments", "error_text")
        found = news(everything, _wanted(everything, request, chosen), Asked.parse(*said), _now())
        response = JsonResponse(self._told(request, found, _outcomes(chosen)))
        response[NEWS_HEADER] = "yes" if found.rows or found.gone or found.skipped else "no"
        return response

    def _filters(self, request: HttpRequest) -> list[FormFilter]:
        return [
            each(request, {k: request.GET.getlist(k) for k in each.parameters}, CallEvent, self)
            for each in FILTERS
        ]

    def _told(
        self, request: HttpRequest, found: News, outcomes: frozenset[str] | None
    ) -> dict[str, Any]:
        may_see = self.has_view_permission(request)
        rows = []
        for event in found.rows:
            row = _row(event)
            row["shown"] = outcomes is None or event.outcome in outcomes
            row["stop_url"] = self.stop_url(request, event)
            if may_see:
                row["url"] = self._row_url(event)
            rows.append(row)
        return {
            "rows": rows,
            "gone": found.gone,
            "skipped": found.skipped,
            "cursor": str(found.cursor),
        }

    def _row_url(self, event: CallEvent) -> str:
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
        return reverse(name, args=[event.pk], current_app=self.admin_site.name)


def _now() -> Any:
    return timezone.now()


def _wanted(rows: Rows, request: HttpRequest, chosen: list[FormFilter]) -> Rows:
    """Those that pass; of which outcome, is to be seen when a call has ended."""
    for each in chosen:
        if not isinstance(each, ResultFilter):
            rows = each.queryset(request, rows)
    outcomes = _outcomes(chosen)
    return rows if outcomes is None else rows.filter(unended(Q(outcome__in=outcomes)))


def _outcomes(chosen: list[FormFilter]) -> frozenset[str] | None:
    """Those that are wanted; None for all."""
    return next((each.outcomes() for each in chosen if isinstance(each, ResultFilter)), None)


def _row(event: CallEvent) -> dict[str, Any]:
    """One call as the page's script reads it: plain texts, redacted as they are stored."""
    at = local(event.created_at)
    token = event.token_name or (f"mcp_{event.token_lookup}_…" if event.token_lookup else "")
    return {
        "id": event.pk,
        "day": f"{at:%Y-%m-%d}",
        "time": f"{at:%H:%M:%S}",
        "zone": at.tzname() or "",
        "call": event.tool or event.method,
        "client": client_text(event),
        "user": caller_text(event),
        "token": token,
        "outcome": event.get_outcome_display(),
        "tone": tone(event.outcome),
        "duration": duration(event.duration_ms) if event.duration_ms is not None else "",
        "open": not event.has_ended,
        "waits": event.outcome == CallOutcome.WAITING,
    }
