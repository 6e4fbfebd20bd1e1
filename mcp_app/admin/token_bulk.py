"""The acts on several tokens at once; each asks first, and names all that it is about."""

from typing import Final

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from mcp_app.admin.token_acts import TokenActs, require_hold
from mcp_app.auth.tokens import TokenRotationRefused, newest_secret_id
from mcp_app.forms.tokens import GraceForm
from mcp_app.models import Token

MOST_AT_ONCE: Final = 100


class TokenBulk(TokenActs):
    """What can be done from the list."""

    @admin.action(description=_("Rotate selected tokens"), permissions=["change"])
    def rotate_tokens(self, request: HttpRequest, queryset: QuerySet[Token]) -> HttpResponse | None:
        """Ask; when confirmed, rotate each that can be and show all new secrets on one page."""
        tokens = self._few(request, queryset)
        if tokens is None:
            return None
        form = GraceForm(
            request.POST if "confirmed" in request.POST else None,
            tokens=[token for token in tokens if not token.is_over],
        )
        if not form.is_valid():
            seen = _expected if form.is_bound else _newest
            pairs = [(token, seen(request, token)) for token in tokens]
            title = _("Rotate the selected tokens?")
            return self.page(request, "rotate_selected", title, pairs=pairs, form=form)
        shown, skipped = [], []
        for token in tokens:
            try:
                require_hold(request, token)
                shown.append(self.rotate(request, token, form, _expected(request, token)))
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
            return self.page(request, "revoke_selected", title, tokens=tokens)
        count = sum(self.revoke(request, token) for token in tokens)
        said = ngettext("%(n)d token revoked.", "%(n)d tokens revoked.", count)
        self.message_user(request, said % {"n": count}, messages.SUCCESS)
        return None

    def _few(self, request: HttpRequest, queryset: QuerySet[Token]) -> list[Token] | None:
        tokens = list(
            queryset.select_related("user").prefetch_related("secrets")[: MOST_AT_ONCE + 1]
        )
        if len(tokens) <= MOST_AT_ONCE:
            return tokens
        said = _("Choose at most %(n)d tokens at once.") % {"n": MOST_AT_ONCE}
        self.message_user(request, said, messages.ERROR)
        return None


def _newest(_request: HttpRequest, token: Token) -> int | None:
    return newest_secret_id(token)


def _expected(request: HttpRequest, token: Token) -> int | None:
    seen = request.POST.get(f"expected_{token.pk}", "")
    return int(seen) if seen.isascii() and seen.isdecimal() else None
