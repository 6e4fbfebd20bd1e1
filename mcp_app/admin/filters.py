"""The filters of the lists. None of them asks the table of calls what there is to choose."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from mcp_app.audit.search import of_token, of_user
from mcp_app.catalog.registry import default_server
from mcp_app.conf import settings
from mcp_app.models import CallEvent, Session, TokenStatus


class StatusFilter(admin.SimpleListFilter):
    """Tokens by what they are worth now."""

    title = _("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """The four statuses."""
        return list(TokenStatus.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow to the chosen one."""
        value = self.value()
        return queryset.with_status(value) if value else queryset  # type: ignore[attr-defined]


class LiveFilter(admin.SimpleListFilter):
    """Sessions that can still be used, and those that cannot."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Live or over."""
        return [("live", _("Live")), ("over", _("Over"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Session]) -> QuerySet[Session]:
        """Narrow to the chosen ones."""
        idle_since = timezone.now() - settings.session_ttl
        live = Q(ended_at__isnull=True, last_seen_at__gt=idle_since)
        return {"live": queryset.filter(live), "over": queryset.exclude(live)}.get(
            self.value() or "", queryset
        )


class ToolFilter(admin.SimpleListFilter):
    """Calls of one tool, of those the product declares."""

    title = _("tool")
    parameter_name = "tool"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """The registered names, and the one in the address, which may be gone."""
        names = {*default_server.tools, self.value() or ""} - {""}
        return [(name, name) for name in sorted(names)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[CallEvent]) -> QuerySet[CallEvent]:
        """Narrow to the chosen one."""
        return queryset.filter(tool=self.value()) if self.value() else queryset


class TypedFilter(admin.ListFilter):
    """A filter whose value is typed: a list to choose from would be too long."""

    template = "admin/mcp_app/typed_filter.html"
    parameter_name = ""
    placeholder: Any = ""

    def __init__(
        self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any
    ) -> None:
        super().__init__(request, params, model, model_admin)
        values = params.pop(self.parameter_name, None)
        if values and values[-1].strip():
            self.used_parameters[self.parameter_name] = values[-1].strip()

    @property
    def value(self) -> str:
        """What was typed."""
        return str(self.used_parameters.get(self.parameter_name, "")).replace("\0", "")

    def has_output(self) -> bool:
        """Always shown."""
        return True

    def expected_parameters(self) -> list[str | None]:
        """The one parameter it reads."""
        return [self.parameter_name]

    def choices(self, changelist: Any) -> Any:
        """What the template needs: the other parameters to keep, and the way out."""
        kept = [
            (name, value)
            for name, values in changelist.filter_params.items()
            if name != self.parameter_name
            for value in (values if isinstance(values, list) else [values])
        ]
        if changelist.query:
            kept.append(("q", changelist.query))
        yield {
            "kept": kept,
            "value": self.value,
            "without": changelist.get_query_string(remove=[self.parameter_name]),
        }


class UserFilter(TypedFilter):
    """Calls of one user, also after the account was deleted."""

    title = _("user")
    parameter_name = "user"
    placeholder = _("username")

    def queryset(self, request: HttpRequest, queryset: QuerySet[CallEvent]) -> QuerySet[CallEvent]:
        """Narrow to the user of that very name."""
        return queryset.filter(of_user(self.value)) if self.value else queryset


class TokenFilter(TypedFilter):
    """Calls with one token, by its prefix or its name."""

    title = _("token")
    parameter_name = "token"
    placeholder = _("mcp_prefix or name")

    def queryset(self, request: HttpRequest, queryset: QuerySet[CallEvent]) -> QuerySet[CallEvent]:
        """Narrow to the tokens of that name, or the one that has or had the prefix."""
        return queryset.filter(of_token(self.value)) if self.value else queryset
