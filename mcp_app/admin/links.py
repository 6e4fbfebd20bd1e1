"""Ways from page to page, each empty for those whom it would lead to a refusal."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.loader import select_template
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from mcp_app.admin.display import NOTHING
from mcp_app.admin.entries import reference
from mcp_app.admin.pages import PagesAdmin, registered
from mcp_app.admin.token_pages import may_act_as
from mcp_app.models import CallEvent, Catalogue, Session, Token, TokenSecret
from mcp_app.transports.reach import Reach


class UserCalls(admin.ModelAdmin):  # type: ignore[type-arg]  # no subscript at run time
    """Put before the `UserAdmin` of a product: a user's page then leads to their calls and tokens.

    `class StaffAdmin(UserCalls, UserAdmin)`.
    """

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """The page as it would be, with the links beside its history."""
        response = super().render_change_form(request, context, *args, **kwargs)
        assert isinstance(response, TemplateResponse)
        assert response.context_data is not None
        names: Any = response.template_name
        page = select_template([names] if isinstance(names, str) else names)
        response.context_data["page_of_user"] = page
        response.template_name = "admin/mcp_app/user_change_form.html"
        return response


def calls_url(request: HttpRequest, of: Any) -> str:
    """The calls of a user or session, with a token or secret; empty for who may not see them."""
    query = _query(of)
    return log_url(request, query) if query else ""


def tokens_url(request: HttpRequest, user: Any) -> str:
    """The list of a user's tokens; empty for who may not see it."""
    held = registered(request).get(Token)
    if held is None or not held.has_view_permission(request) or not _is_user(user):
        return ""
    return address(held, "changelist", {"user": user.get_username()})


def issue_url(request: HttpRequest, user: Any) -> str:
    """The form that issues a user a token; empty for who may not, and where it would be refused."""
    held = registered(request).get(Token)
    if held is None or not held.has_add_permission(request):
        return ""
    if not _is_user(user) or not user.is_active or not may_act_as(request, user):
        return ""
    # Where users are found by typing, the form knows them by key, and elsewhere by name.
    is_found = "user" in held.get_autocomplete_fields(request)
    return address(held, "add", {"user": user.pk if is_found else user.get_username()})


def log_url(request: HttpRequest, query: Mapping[str, str]) -> str:
    """The call log, filtered; empty for who may not see it."""
    log = registered(request).get(CallEvent)
    if log is None or not log.has_view_permission(request):
        return ""
    return address(log, "changelist", query)


def call_url(request: HttpRequest, key: int | None) -> str:
    """The page of one call; empty for who may not see it, and of a call that left no row."""
    log = registered(request).get(CallEvent)
    if log is None or key is None or not log.has_view_permission(request):
        return ""
    return address(log, "change", {}, key)


def change_url(request: HttpRequest, row: Any) -> str:
    """The page of a row of any model on this site; empty for who may not see it."""
    held = registered(request).get(type(row))
    if held is None or not held.has_view_permission(request, row):
        return ""
    return address(held, "change", {}, row.pk)


def row_link(request: HttpRequest, row: Any, text: str) -> str | SafeString:
    """A link to a row's page, or its text alone for who may not see that."""
    url = change_url(request, row)
    return format_html('<a href="{}">{}</a>', url, text) if url else text


@dataclass(frozen=True)
class Followed:
    """A field that is only read and names a row of another model, with the way to that.

    Django links it for whoever looks; this one for those who may see its page.
    """

    request: HttpRequest
    field: str
    short_description: Any = dataclasses.field(compare=False)

    @property
    def __name__(self) -> str:
        """What Django calls the field by."""
        return self.field

    def __call__(self, row: Any) -> Any:
        """The other row by its text."""
        other = getattr(row, self.field)
        return NOTHING if other is None else row_link(self.request, other, str(other))


def followed(request: HttpRequest, model: Any, fields: Iterable[Any]) -> tuple[Any, ...]:
    """`fields`, those that name rows of other models as `Followed`."""
    named = {field.name: field for field in model._meta.fields if field.remote_field}
    return tuple(
        Followed(request, each, named[each].verbose_name) if each in named else each
        for each in fields
    )


def list_url(request: HttpRequest, model: Any) -> str:
    """The list of a model on this site; empty for who may not see it."""
    held = registered(request).get(model)
    if held is None or not held.has_view_permission(request):
        return ""
    return address(held, "changelist", {})


def app_url(request: HttpRequest, model: Any) -> str:
    """The site's page of the model's app; empty for who may do nothing with its models."""
    held, label = registered(request).get(model), model._meta.app_label
    if held is None or not held.admin_site.get_app_list(request, label):
        return ""
    return reverse("admin:app_list", args=[label], current_app=held.admin_site.name)


def back_url(request: HttpRequest, model: Any, row: Any = None) -> str:
    """The page of the row, else the list, else the site's own: the first that one may open."""
    row_page = change_url(request, row) if row is not None and row.pk is not None else ""
    return row_page or list_url(request, model) or _home(request, model)


def _home(request: HttpRequest, model: Any) -> str:
    return reverse("admin:index", current_app=registered(request)[model].admin_site.name)


def page_url(request: HttpRequest, model: Any, slug: str, query: Mapping[str, str]) -> str:
    """A page of `model`'s admin on this site; empty for who may not open it."""
    held = registered(request).get(model)
    if not isinstance(held, PagesAdmin):
        return ""
    page = next((page for page in held.pages() if page.slug == slug), None)
    return address(held, slug, query) if page and held.may_open(request, page) else ""


def view_as_url(request: HttpRequest, of: Any) -> str:
    """What a user, or a token's holder, is shown; empty for who may not see it."""
    if isinstance(of, Token):
        return page_url(request, Catalogue, "view-as", _subject(of))
    asked = {"user": of.get_username()} if _is_user(of) else {}
    return page_url(request, Catalogue, "view-as", asked) if asked else ""


def explain_url(request: HttpRequest, of: Token, reach: Reach) -> str:
    """Why a token does not open what is nearest to it; empty for who may not see it."""
    if reach.nearest is None:
        return ""
    server, tool = reach.nearest
    asked = {"of": reference(server, "tool", tool.key), **_subject(of)}
    return page_url(request, Catalogue, "explain", asked)


def _subject(of: Token) -> dict[str, str]:
    """A token, by its newest secret, as pages about access ask for it."""
    newest = newest_secret(of)
    lookup = {"token": newest.lookup} if newest else {}
    return {"user": of.user.get_username(), **lookup}


def address(held: admin.ModelAdmin, page: str, query: Mapping[str, str], *args: Any) -> str:  # type: ignore[type-arg]
    """One of the pages of a model's admin, on the site where that is registered."""
    name = f"admin:{held.opts.app_label}_{held.opts.model_name}_{page}"
    url = reverse(name, args=args, current_app=held.admin_site.name)
    return f"{url}?{urlencode(query)}" if query else url


def _is_user(of: Any) -> bool:
    return hasattr(of, "get_username")


def _query(of: Any) -> dict[str, str]:
    if isinstance(of, TokenSecret):
        return {"secret": f"mcp_{of.lookup}"}
    if isinstance(of, Session):
        return {"session": of.key}
    if not isinstance(of, Token):
        return {"user": of.get_username()} if _is_user(of) else {}
    return {"token": token_in_log(of)}


def token_in_log(token: Token) -> str:
    """What the call log finds a token by, also where others have its name."""
    newest = newest_secret(token)
    return f"mcp_{newest.lookup}" if newest else token.name


def newest_secret(token: Token) -> TokenSecret | None:
    """The secret that a token was last given."""
    return max(token.secrets.all(), key=lambda secret: secret.pk, default=None)
