"""A user's own tokens: list them, issue one, rotate it, revoke it. Another's token is a 404."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from mcp_app.account.forms import OwnTokenForm
from mcp_app.account.history import note_act, note_issue
from mcp_app.audit.token_uses import graces, use_of, uses
from mcp_app.auth.hashing import Secret
from mcp_app.auth.own import (
    BeyondLimits,
    count,
    is_within_limits,
    issue_own,
    longest_days,
    refuse_wider,
    rotate_own,
)
from mcp_app.auth.snippets import endpoint_url, snippets
from mcp_app.auth.tokens import (
    AlreadyIssued,
    TokenRotationRefused,
    check_rotatable,
    end_secret,
    newest_secret_id,
    revoke,
)
from mcp_app.catalog.definition import Tool
from mcp_app.catalog.registry import servers
from mcp_app.conf import settings
from mcp_app.forms.tokens import RotateForm
from mcp_app.models import Token
from mcp_app.transports.first_call import first_call
from mcp_app.transports.reach import reach_of
from mcp_app.transports.subjects import access_of, caller_of

View = Callable[..., HttpResponse]

SOURCE = "account"
"""How the user of these pages was recognised."""


def own_page(view: View) -> View:
    """For signed-in users who are active; safe from other sites, and kept by no cache.

    All of it is said here, so that it holds whatever middleware the project has.
    """

    @wraps(view)
    def active(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_active:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    guarded: View = login_required(csrf_protect(active))
    guarded = cache_control(private=True, no_store=True)(guarded)
    return require_http_methods(["GET", "HEAD", "POST"])(guarded)


@own_page
def tokens(request: HttpRequest) -> HttpResponse:
    """The user's tokens: those that are over last, else the newest first."""
    found = _tokens(request).prefetch_related("secrets").with_last_used()
    own, now = sorted(found, key=lambda token: token.is_over), timezone.now()
    rows = [(token, is_within_limits(token), graces(token, now)) for token in own]
    limits = {"most": settings.ACCOUNT_TOKENS, "count": count(request.user)}
    return render(request, "mcp_app/account/tokens.html", {"rows": rows, **limits})


@own_page
def issue(request: HttpRequest) -> HttpResponse:
    """Ask; on POST issue, and answer with the secret."""
    tools = _tools(request)
    form = OwnTokenForm(request.POST or None, user=request.user, tools=tools)
    if form.is_valid():
        try:
            secret = issue_own(form.instance, lookup=form.cleaned_data["lookup"])
        except AlreadyIssued:
            return _page(request, "already", status=409)
        except ValidationError as refused:
            form.add_error(None, ValidationError(refused.messages))
        else:
            note_issue(request.user, form.instance)
            return _shown(request, form.instance, secret)
    limits = {"days": longest_days(), "most": settings.ACCOUNT_TOKENS, "count": count(request.user)}
    return _page(request, "issue", form=form, **limits)


@own_page
def rotate_one(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for the grace; on POST rotate, and answer with the new secret."""
    token = get_object_or_404(_tokens(request), pk=pk)
    form = RotateForm(
        request.POST or None, tokens=[token], initial={"expected": newest_secret_id(token)}
    )
    facts = {"token": token, "uses": uses(token, timezone.now()), "form": form}
    try:
        check_rotatable(token, timezone.now())
        refuse_wider(token)
        if form.is_valid():
            expected = form.cleaned_data["expected"]
            secret = rotate_own(token, grace=form.span(), expected_secret_id=expected)
            note_act(request.user, token, gettext("Rotated by its user."))
            return _shown(request, token, secret)
    except (TokenRotationRefused, BeyondLimits) as refused:
        status = 409 if request.method == "POST" else 200
        return _page(request, "rotate", status=status, refused=refused, **facts)
    return _page(request, "rotate", **facts)


@own_page
def revoke_one(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask; on POST revoke, and go back to the list."""
    token = get_object_or_404(_tokens(request), pk=pk)
    if request.method != "POST":
        return _page(request, "revoke", token=token, uses=uses(token, timezone.now()))
    if revoke(token, by=request.user):
        note_act(request.user, token, gettext("Revoked by its user."))
    said = gettext("“%(token)s” is revoked. Its next call is refused.") % {"token": token}
    return _done(request, said)


@own_page
def end_one(request: HttpRequest, pk: int, lookup: str) -> HttpResponse:
    """Ask; on POST end one secret, and go back to the list. The token keeps its others."""
    token, now = get_object_or_404(_tokens(request), pk=pk), timezone.now()
    use = use_of(token, lookup, now)
    if use is None:
        raise Http404
    if request.method != "POST":
        last = token.working_secrets(now) == [use.secret]
        return _page(request, "end_secret", token=token, use=use, is_last=last)
    if end_secret(token, lookup, by=request.user, now=now):
        note_act(request.user, token, gettext("Ended %(prefix)s.") % {"prefix": use.secret})
    said = gettext("The secret %(prefix)s is refused from now on.") % {"prefix": use.secret}
    return _done(request, said)


def _done(request: HttpRequest, said: str) -> HttpResponse:
    # A product without messages has the list to see it by.
    messages.success(request, said, fail_silently=True)
    return HttpResponseRedirect(reverse("mcp_app_account:tokens"))


def _tokens(request: HttpRequest) -> Any:
    return Token.objects.filter(user=request.user.pk).select_related("user")


def _tools(request: HttpRequest) -> list[Tool]:
    """What the user may call: of other tools not even the names are told."""
    caller = caller_of(request.user, source=SOURCE)
    return [
        tool
        for server in servers()
        for access in (access_of(caller, server),)
        for tool in server.tools.values()
        if access.permits(tool)
    ]


@sensitive_variables("secret", "context")
def _shown(request: HttpRequest, token: Token, secret: Secret) -> HttpResponse:
    """The answer that carries a new secret. Nothing else ever does."""
    url = endpoint_url(request)
    tool = first_call(token, source=SOURCE)
    context: dict[str, Any] = {
        "token": token,
        "shown": [token],
        "text": secret.reveal(),
        "reach": reach_of(token, source=SOURCE),
        "endpoint": url,
        "snippets": snippets(url, secret.reveal(), tool) if url else (),
    }
    return _page(request, "shown", **context)


def _page(
    request: HttpRequest, template: str, *, status: int = 200, **context: Any
) -> HttpResponse:
    return render(request, f"mcp_app/account/{template}.html", context, status=status)
