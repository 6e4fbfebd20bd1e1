"""What the pages about tokens share, and the one that shows a secret once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_variables

from mcp_app.admin.pages import Page, PagesAdmin
from mcp_app.admin.subjects import SOURCE
from mcp_app.auth.hashing import Secret
from mcp_app.auth.snippets import Snippet, endpoint_url, snippets
from mcp_app.models import Token, TokenSecret
from mcp_app.transports.first_call import first_call
from mcp_app.transports.reach import reach_of


@dataclass(frozen=True, slots=True)
class Shown:
    """A new secret for the one page that has it, and the one that it takes the place of."""

    token: Token
    secret: Secret
    before: TokenSecret | None = None

    @property
    def ends_at(self) -> datetime | None:
        """When the one before it ends: at the end of its grace, or with the token before."""
        return self.before.ends_at if self.before else None

    @property
    def has_ended(self) -> bool:
        """Whether that is over."""
        return self.ends_at is not None and self.ends_at <= timezone.now()


class TokenPages(PagesAdmin):
    """A `ModelAdmin` of tokens with pages of its own."""

    def pages(self) -> list[Page]:
        """With what the form that issues a token asks for as it is filled in."""
        page = Page(
            slug="reach",
            title=_("What it may call"),
            about=_("Which tools a token would open."),
            view=self.reach_view,
            permission="add",
            linked=False,
        )
        return [*super().pages(), page]

    def reach_view(self, request: HttpRequest) -> HttpResponse:
        """Which tools the token would open that the address describes; a piece of a page."""
        form = self.get_form(request, None, change=False)(request.GET)
        form.is_valid()  # it is not, as long as something is still to be filled in
        said = form.cleaned_data
        token = None
        if said.get("user"):
            named = {name: said[name] for name in ("scopes", "tools", "read_only") if name in said}
            token = Token(user=said["user"], **named)
        reach = reach_of(token, source=SOURCE) if token else None
        context = {"reach": reach, "is_form": True}
        answer = TemplateResponse(request, "admin/mcp_app/token/reach.html", context)
        answer["Cache-Control"] = "no-store"
        return answer

    @sensitive_variables("shown", "context")
    def shown_once(
        self,
        request: HttpRequest,
        shown: Sequence[Shown],
        skipped: Sequence[tuple[Token, str]] = (),
    ) -> HttpResponse:
        """The answer that carries new secrets. Nothing else ever does."""
        url = endpoint_url(request)
        only = shown[0].token if len(shown) == 1 else None
        context: dict[str, Any] = {
            "shown": shown,
            "reach": reach_of(only, source=SOURCE) if only else None,
            "skipped": skipped,
            "snippets": _snippets(url, shown[0]) if url and only else (),
            "endpoint": url,
        }
        title = ngettext("Copy the secret now", "Copy the secrets now", len(shown) or 1)
        return self.page(request, "secret_shown", title, **context)

    def already_shown(self, request: HttpRequest, lookup: str) -> HttpResponse:
        """The answer to a form that was sent a second time."""
        secret = TokenSecret.objects.select_related("token").filter(lookup=lookup).first()
        token = secret.token if secret else None
        title = _("This token was issued already")
        return self.page(request, "already_shown", title, status=409, token=token)

    def changeable(self, request: HttpRequest, object_id: str) -> Token | None:
        """The token of an address, for those who may change it; None where there is none.

        Raises:
            PermissionDenied: for others.
        """
        token = self.get_object(request, unquote(object_id))
        if not self.has_change_permission(request, token):
            raise PermissionDenied
        return token

    def page(
        self, request: Any, template: str, title: Any, *, status: int = 200, **context: Any
    ) -> HttpResponse:
        """A template of `admin/mcp_app/token/`, filled, and kept by no cache."""
        name = f"admin/mcp_app/token/{template}.html"
        boxes = {"action_checkbox_name": ACTION_CHECKBOX_NAME}
        answer = self.page_response(request, name, title, **boxes, **context)
        answer.status_code = status
        answer["Cache-Control"] = "no-store"
        return answer

    def address(self, page: str, *args: Any) -> str:
        """The address of a page of tokens on this admin site."""
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_{page}"
        return reverse(name, args=args, current_app=self.admin_site.name)


@sensitive_variables("shown")
def _snippets(url: str, shown: Shown) -> list[Snippet]:
    tool = first_call(shown.token, source=SOURCE)
    return snippets(url, shown.secret.reveal(), tool)


def may_act_as(request: Any, user: Any) -> bool:
    """A new secret lets its reader act as its user, so only superusers get a superuser's."""
    return not getattr(user, "is_superuser", False) or request.user.is_superuser
