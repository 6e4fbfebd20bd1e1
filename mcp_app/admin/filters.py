"""The filters of the lists of tokens and of sessions."""

from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from mcp_app.conf import settings
from mcp_app.models import Session, TokenStatus


class StatusFilter(admin.SimpleListFilter):
    """Tokens by what they are worth now."""

    title = _("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """All statuses."""
        return list(TokenStatus.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow to the chosen one."""
        value = self.value()
        return queryset.with_status(value) if value else queryset  # type: ignore[attr-defined]


class OwnerFilter(admin.SimpleListFilter):
    """Tokens of one user, whom a link names; a list of all users to choose from would be too long.

    Nobody is named: it is not shown, and the search finds users too.
    """

    title = _("user")
    parameter_name = "user"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """The one who is named."""
        named = request.GET.get(self.parameter_name, "")
        return [(named, named)] if named else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow to the user of that very name."""
        named = self.value()
        if not named or "\0" in named:  # not every database may be asked for one
            return queryset.none() if named else queryset
        return queryset.filter(**{f"user__{get_user_model().USERNAME_FIELD}": named})


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
