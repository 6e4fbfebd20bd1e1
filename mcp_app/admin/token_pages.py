"""The pages that act on tokens: rotate, revoke, and the one that shows a secret once.

A GET shows what a POST would do. `auth.tokens` does it; the admin's log says who did, and when.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_variables

from mcp_app.auth.hashing import Secret
from mcp_app.auth.snippets import endpoint_url, snippets
from mcp_app.auth.tokens import (
    TokenRotationRefused,
    check_rotatable,
    newest_secret_id,
    revoke,
    rotate,
)
from mcp_app.conf import settings
from mcp_app.forms.tokens import GraceForm, RotateForm
from mcp_app.models import CallEvent, Token, TokenSecret

MOST_AT_ONCE: Final = 100
RECENT_CALLS: Final = 200

Shown = Sequence[tuple[Token, Secret]]


class TokenPages(admin.ModelAdmin):  # type: ignore[type-arg]  # no subscript at run time
    """What `TokenAdmin` can do beyond adding and changing."""

    def get_urls(self) -> list[Any]:
        """The two acts beside the model's own pages."""
        acts = (("rotate", self.rotate_view), ("revoke", self.revoke_view))
        own = [
            path(
                f"<path:object_id>/{name}/",
                self.admin_site.admin_view(view),
                name=f"{self.opts.app_label}_{self.opts.model_name}_{name}",
            )
            for name, view in acts
        ]
        return [*own, *super().get_urls()]

    # --- one token -----------------------------------------------------------------------------

    def rotate_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for the grace; on POST rotate, and answer with the new secret."""
        token = self._changeable(request, object_id)
        if token is None:
            return self._missing(request, object_id)
        _require_hold(request, token)
        form = RotateForm(request.POST or None, initial={"expected": newest_secret_id(token)})
        title = _("Rotate %(token)s?") % {"token": token}
        facts: dict[str, Any] = {"token": token, "uses": _uses(token), "form": form}
        try:
            check_rotatable(token, timezone.now())
            if form.is_valid():
                secret = self._rotate(request, token, form, form.cleaned_data["expected"])
                return self.shown_once(request, [(token, secret)])
        except TokenRotationRefused as refused:
            status = 409 if request.method == "POST" else 200
            return self._page(request, "rotate", title, status=status, refused=refused, **facts)
        return self._page(request, "rotate", title, **facts)

    def revoke_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask; on POST revoke, and go back to the token."""
        token = self._changeable(request, object_id)
        if token is None:
            return self._missing(request, object_id)
        if request.method != "POST":
            title = _("Revoke %(token)s?") % {"token": token}
            return self._page(request, "revoke", title, token=token, uses=_uses(token))
        self._revoke(request, token)
        said = _("“%(token)s” is revoked. Its next call is refused.") % {"token": token}
        self.message_user(request, said, messages.SUCCESS)
        return HttpResponseRedirect(self._url("change", token.pk))

    # --- several -------------------------------------------------------------------------------

    @admin.action(description=_("Rotate selected tokens"), permissions=["change"])
    def rotate_tokens(self, request: HttpRequest, queryset: QuerySet[Token]) -> HttpResponse | None:
        """Ask; when confirmed, rotate each that can be and show all new secrets on one page."""
        tokens = self._few(request, queryset)
        if tokens is None:
            return None
        form = GraceForm(request.POST if "confirmed" in request.POST else None)
        if not form.is_valid():
            pairs = [(token, newest_secret_id(token)) for token in tokens]
            title = _("Rotate the selected tokens?")
            return self._page(request, "rotate_selected", title, pairs=pairs, form=form)
        shown, skipped = [], []
        for token in tokens:
            try:
                _require_hold(request, token)
                shown.append((token, self._rotate(request, token, form, _expected(request, token))))
            except (TokenRotationRefused, PermissionDenied) as refused:
                skipped.append((token, str(refused)))
        return self.shown_once(request, shown, skipped)

    @admin.action(description=_("Revoke selected tokens"), permissions=["change"])
    def revoke_tokens(self, request: HttpRequest, queryset: QuerySet[Token]) -> HttpResponse | None:
        """Ask; when confirmed, revoke each that is not revoked."""
        tokens = self._few(request, queryset)
        if tokens is None:
            return None
        if "confirmed" not in request.POST:
            title = _("Revoke the selected tokens?")
            return self._page(request, "revoke_selected", title, tokens=tokens)
        count = sum(self._revoke(request, token) for token in tokens)
        said = ngettext("%(n)d token revoked.", "%(n)d tokens revoked.", count)
        self.message_user(request, said % {"n": count}, messages.SUCCESS)
        return None

    # --- shown once ----------------------------------------------------------------------------

    @sensitive_variables("shown", "context")
    def shown_once(
        self,
        request: HttpRequest,
        shown: Shown,
        skipped: Sequence[tuple[Token, str]] = (),
    ) -> HttpResponse:
        """The answer that carries new secrets. Nothing else ever does."""
        url = endpoint_url(request)
        context: dict[str, Any] = {
            "shown": shown,
            "skipped": skipped,
            "snippets": snippets(url, shown[0][1].reveal()) if url and len(shown) == 1 else (),
            "endpoint": url,
        }
        title = ngettext("Copy the secret now", "Copy the secrets now", len(shown) or 1)
        return self._page(request, "secret_shown", title, **context)

    def already_shown(self, request: HttpRequest, lookup: str) -> HttpResponse:
        """The answer to a form that was sent a second time."""
        secret = TokenSecret.objects.select_related("token").filter(lookup=lookup).first()
        token = secret.token if secret else None
        title = _("This token was issued already")
        return self._page(request, "already_shown", title, status=409, token=token)

    # --- steps ---------------------------------------------------------------------------------

    def _changeable(self, request: HttpRequest, object_id: str) -> Token | None:
        token = self.get_object(request, unquote(object_id))
        if not self.has_change_permission(request, token):
            raise PermissionDenied
        return token

    def _missing(self, request: HttpRequest, object_id: str) -> HttpResponse:
        redirect: Callable[..., HttpResponse] = self._get_obj_does_not_exist_redirect  # type: ignore[attr-defined]
        return redirect(request, self.opts, object_id)

    def _few(self, request: HttpRequest, queryset: QuerySet[Token]) -> list[Token] | None:
        tokens = list(queryset.select_related("user")[: MOST_AT_ONCE + 1])
        if len(tokens) <= MOST_AT_ONCE:
            return tokens
        said = _("Choose at most %(n)d tokens at once.") % {"n": MOST_AT_ONCE}
        self.message_user(request, said, messages.ERROR)
        return None

    def _rotate(
        self, request: HttpRequest, token: Token, form: GraceForm, expected: int | None
    ) -> Secret:
        grace = form.span()
        secret = rotate(token, grace=grace, by=request.user, expected_secret_id=expected)
        said = gettext("Rotated. The old secret works for %(n)d more seconds.")
        self.log_change(request, token, said % {"n": grace.total_seconds()})
        return secret

    def _revoke(self, request: HttpRequest, token: Token) -> bool:
        changed = revoke(token, by=request.user)
        if changed:
            self.log_change(request, token, gettext("Revoked."))
        return changed

    def _page(
        self, request: Any, template: str, title: Any, *, status: int = 200, **context: Any
    ) -> HttpResponse:
        everything = {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": self.opts,
            "media": self.media,
            "action_checkbox_name": ACTION_CHECKBOX_NAME,
            **context,
        }
        name = f"admin/mcp_app/token/{template}.html"
        answer = TemplateResponse(request, name, everything, status=status)
        answer["Cache-Control"] = "no-store"
        return answer

    def _url(self, page: str, *args: Any) -> str:
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_{page}"
        return reverse(name, args=args, current_app=self.admin_site.name)


def _require_hold(request: Any, token: Token) -> None:
    """A new secret lets its reader act as the owner, so only superusers get a superuser's."""
    if getattr(token.user, "is_superuser", False) and not request.user.is_superuser:
        raise PermissionDenied(gettext("Only a superuser may rotate the token of a superuser."))


def _expected(request: HttpRequest, token: Token) -> int | None:
    seen = request.POST.get(f"expected_{token.pk}", "")
    return int(seen) if seen.isascii() and seen.isdecimal() else None


def _uses(token: Token) -> dict[str, Any]:
    """The secrets of a token, and who called with it lately."""
    calls = CallEvent.objects.using(settings.AUDIT_DATABASE).filter(token=token.pk)
    recent = calls.order_by("-created_at").values_list("client_name", "client_version", "address")
    callers = Counter(recent[:RECENT_CALLS]).most_common(10)
    return {
        "secrets": token.secrets.order_by("-id")[:10],
        "callers": [(f"{name} {version}".strip(), ip, n) for (name, version, ip), n in callers],
    }
