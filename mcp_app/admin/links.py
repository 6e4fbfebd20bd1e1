"""Ways to the call log from the pages of those who call."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.loader import select_template
from django.template.response import TemplateResponse
from django.urls import reverse

from mcp_app.admin.pages import registered
from mcp_app.models import CallEvent, Token


class UserCalls(admin.ModelAdmin):  # type: ignore[type-arg]  # no subscript at run time
    """Put before the `UserAdmin` of a product: a user's page then has a link to their calls.

    `class StaffAdmin(UserCalls, UserAdmin)`.
    """

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """The page as it would be, with the link beside its history."""
        response = super().render_change_form(request, context, *args, **kwargs)
        assert isinstance(response, TemplateResponse)
        assert response.context_data is not None
        names: Any = response.template_name
        page = select_template([names] if isinstance(names, str) else names)
        response.context_data["page_of_user"] = page
        response.template_name = "admin/mcp_app/user_change_form.html"
        return response


def calls_url(request: HttpRequest, of: Any) -> str:
    """The list of the calls of a user or with a token; empty for who may not see it, or nobody."""
    query = _query(of)
    log = registered(request).get(CallEvent)
    if log is None or not query or not log.has_view_permission(request):
        return ""
    address = reverse("admin:mcp_app_callevent_changelist", current_app=log.admin_site.name)
    return f"{address}?{urlencode(query)}"


def _query(of: Any) -> dict[str, str]:
    if not isinstance(of, Token):
        return {"user": of.get_username()} if hasattr(of, "get_username") else {}
    return {"token": token_in_log(of)}


def token_in_log(token: Token) -> str:
    """What the call log finds a token by, also where others have its name."""
    newest = max(token.secrets.all(), key=lambda secret: secret.pk, default=None)
    return f"mcp_{newest.lookup}" if newest else token.name
