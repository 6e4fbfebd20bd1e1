"""The pages that act on one token: rotate it, revoke it, end one of its secrets.

A GET shows what a POST would do. `auth.tokens` does it; the admin's log says who did, and when.
"""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_app.admin.token_pages import Shown, TokenPages, may_act_as
from mcp_app.audit.periods import to_the_minute
from mcp_app.audit.token_uses import use_of, uses
from mcp_app.auth.tokens import (
    TokenRotationRefused,
    check_rotatable,
    end_secret,
    newest_secret_id,
    revoke,
    rotate,
)
from mcp_app.forms.tokens import GraceForm, RotateForm
from mcp_app.models import Token


class TokenActs(TokenPages):
    """What can be done to a token from its page."""

    def get_urls(self) -> list[Any]:
        """The acts beside the model's own pages."""
        acts = (
            ("rotate/", "rotate", self.rotate_view),
            ("revoke/", "revoke", self.revoke_view),
            ("secrets/<slug:lookup>/end/", "end_secret", self.end_secret_view),
        )
        own = [
            path(
                f"<path:object_id>/{place}",
                self.admin_site.admin_view(view),
                name=f"{self.opts.app_label}_{self.opts.model_name}_{name}",
            )
            for place, name, view in acts
        ]
        return [*own, *super().get_urls()]

    def rotate_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for the grace; on POST rotate, and answer with the new secret."""
        token = self.changeable(request, object_id)
        if token is None:
            return self.missing(request, object_id)
        require_hold(request, token)
        form = RotateForm(
            request.POST or None, tokens=[token], initial={"expected": newest_secret_id(token)}
        )
        title = _("Rotate %(token)s?") % {"token": token}
        now = timezone.now()
        facts: dict[str, Any] = {"token": token, "uses": uses(token, now), "form": form}
        try:
            check_rotatable(token, now)
            if form.is_valid():
                shown = self.rotate(request, token, form, form.cleaned_data["expected"])
                return self.shown_once(request, [shown])
        except TokenRotationRefused as refused:
            status = 409 if request.method == "POST" else 200
            return self.page(request, "rotate", title, status=status, refused=refused, **facts)
        return self.page(request, "rotate", title, **facts)

    def revoke_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask; on POST revoke, and go back to the token."""
        token = self.changeable(request, object_id)
        if token is None:
            return self.missing(request, object_id)
        if request.method != "POST":
            title = _("Revoke %(token)s?") % {"token": token}
            shown = uses(token, timezone.now())
            return self.page(request, "revoke", title, token=token, uses=shown)
        self.revoke(request, token)
        said = _("“%(token)s” is revoked. Its next call is refused.") % {"token": token}
        return self._done(request, token, said)

    def end_secret_view(self, request: HttpRequest, object_id: str, lookup: str) -> HttpResponse:
        """Ask; on POST end one secret, and go back to the token, which keeps its others."""
        token = self.changeable(request, object_id)
        now = timezone.now()
        use = None if token is None else use_of(token, lookup, now)
        if token is None or use is None:
            return self.missing(request, object_id)
        if request.method != "POST":
            title = _("End the secret %(prefix)s?") % {"prefix": use.secret}
            last = token.working_secrets(now) == [use.secret]
            return self.page(request, "end_secret", title, token=token, use=use, is_last=last)
        if end_secret(token, lookup, by=request.user, now=now):
            said = gettext("Ended %(prefix)s.") % {"prefix": use.secret}
            self.log_change(request, token, said)
        said = _("The secret %(prefix)s is refused from now on.") % {"prefix": use.secret}
        return self._done(request, token, said)

    # --- steps ---------------------------------------------------------------------------------

    def rotate(
        self, request: HttpRequest, token: Token, form: GraceForm, expected: int | None
    ) -> Shown:
        """Rotate as the form says, and note it in the history."""
        secret = rotate(token, grace=form.span(), by=request.user, expected_secret_id=expected)
        new, *old = token.secrets.order_by("-id")[:2]
        shown = Shown(token, secret, old[0] if old else None)
        said = gettext("Rotated: %(new)s is new.") % {"new": new}
        if shown.before is not None and shown.ends_at is not None:
            ends = {"old": shown.before, "end": to_the_minute(shown.ends_at)}
            said = f"{said} {gettext('%(old)s ends on %(end)s.') % ends}"
        self.log_change(request, token, said)
        return shown

    def revoke(self, request: HttpRequest, token: Token) -> bool:
        """Revoke, and note it in the history; False if it was revoked before."""
        changed = revoke(token, by=request.user)
        if changed:
            self.log_change(request, token, gettext("Revoked."))
        return changed

    def _done(self, request: HttpRequest, token: Token, said: Any) -> HttpResponse:
        self.message_user(request, said, messages.SUCCESS)
        return HttpResponseRedirect(self.address("change", token.pk))


def require_hold(request: Any, token: Token) -> None:
    """Raise `PermissionDenied` for somebody who must not get a new secret of the token."""
    if not may_act_as(request, token.user):
        raise PermissionDenied(gettext("Only a superuser may rotate the token of a superuser."))
