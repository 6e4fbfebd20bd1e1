"""One call on a page that reads from top to bottom: who, what, which gate, what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib.admin.utils import unquote
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from mcp_app.admin.entries import find_called
from mcp_app.admin.links import page_url, row_link
from mcp_app.admin.stops import StopPage
from mcp_app.audit.gates import Gate, deciding_gate
from mcp_app.audit.outcomes import GROUP_OF, MEANINGS
from mcp_app.models import CallEvent, CallOutcome, Catalogue, Session, Token

AROUND: Final = 5
"""Calls that are shown before this one, and after it."""

NEAR: Final = timedelta(days=1)
"""How far away they may be: a session without neighbours must not read its token's whole past."""

ENDINGS: Final[Mapping[str, Any]] = MEANINGS | {
    CallOutcome.STARTED: _("It has begun, and no end is recorded: it runs, or its process died."),
    CallOutcome.WAITING: _(
        "The user is asked whether it may run, and no answer is recorded: it waits, or its process"
        " died. Nothing has run."
    ),
    CallOutcome.OK: _("It was answered."),
    CallOutcome.ERROR: _("It was answered with an error that its caller can read and act on."),
    CallOutcome.DENIED: _("The caller may not do this."),
    CallOutcome.INVALID: _("The caller was told which argument does not fit."),
    CallOutcome.UNAUTHENTICATED: _("Nobody knows who that was."),
    CallOutcome.THROTTLED: _("The caller was told to wait."),
    CallOutcome.CANCELLED: _("It was cancelled before it ended."),
    CallOutcome.ASKED: _("The client was asked for input, and is to call again."),
    CallOutcome.FAILED: _(
        "It broke with an exception that nobody expected. The caller read nothing but the"
        " correlation id; the traceback is in the server's log under the same id."
    ),
}
"""How one call ended, where that is more than its outcome means."""


UNANSWERED: Final[Mapping[str, Any]] = {
    "Unanswered": _("The tool asked the user something, and nobody answered in time."),
    "CannotAsk": _("The tool had something to ask the user, who could not be asked."),
}
"""By the error class of a tool that asked in vain."""


@dataclass(frozen=True, slots=True)
class Around:
    """The calls near one call: what they share, and the rows, oldest first, itself among them."""

    shared: Any
    rows: list[CallEvent]


class StoryPage(StopPage):
    """The page of one call, in the place of a form that nobody could save."""

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The story, for those who may see calls."""
        event = self.get_object(request, unquote(object_id))
        if request.method == "POST" or not self.has_view_permission(request, event):
            raise PermissionDenied
        if event is None:
            return self.missing(request, object_id)
        return self.page_response(
            request,
            "admin/mcp_app/callevent/story.html",
            event.tool or event.method or _("A request"),
            **self._story(request, event),
        )

    def _story(self, request: HttpRequest, event: CallEvent) -> dict[str, Any]:
        user = get_user_model()._default_manager.filter(Q(pk=event.user_id)).first()
        gate = deciding_gate(event)
        return {
            "event": event,
            "group": GROUP_OF.get(event.outcome, ""),
            "called_by": _user(request, event, user),
            "called_with": _token(request, event),
            "in_session": _session(request, event),
            "let_in": event.outcome != CallOutcome.UNAUTHENTICATED,
            "gate": gate,
            "ending": _ending(event, gate),
            "around": around(event, self.get_queryset(request)),
            "lists": lists_with(event),
            "in_catalogue": self._in_catalogue(request, event),
            "explained": self._explained(request, event, user),
            "may_delete": self.has_delete_permission(request, event),
            "is_sealed": self.is_sealed(request, event),
            "stop_url": self.stop_url(request, event),
        }

    def is_sealed(self, request: HttpRequest, event: CallEvent) -> bool:
        """Override: whether a change of the row would be found."""
        raise NotImplementedError

    def _in_catalogue(self, request: HttpRequest, event: CallEvent) -> str:
        """The page of what was called, where it is still declared."""
        entry = find_called(event.method, event.tool)
        return page_url(request, Catalogue, "entry", {"of": entry.reference}) if entry else ""

    def _explained(self, request: HttpRequest, event: CallEvent, user: Any) -> str:
        """What the gates say of such a call today."""
        entry = find_called(event.method, event.tool)
        if entry is None or user is None:
            return ""
        asked = {"of": entry.reference, "user": user.get_username(), "token": event.token_lookup}
        return page_url(request, Catalogue, "explain", asked)


def _user(request: HttpRequest, event: CallEvent, user: Any) -> Any:
    """The account, or the name it had."""
    name = event.username
    return row_link(request, user, name or str(user)) if user else name


def _token(request: HttpRequest, event: CallEvent) -> Any:
    """The token, or the name it had. By key: calls may be in another database than tokens."""
    token = Token.objects.filter(Q(pk=event.token_id)).first()
    name = event.token_name
    return row_link(request, token, name or token.name) if token else name


def _session(request: HttpRequest, event: CallEvent) -> Any:
    """The session by its id, a link to its page where there still is one."""
    key = event.session_id
    session = Session.objects.filter(key=key).first() if key else None
    return row_link(request, session, key) if session else key


def _ending(event: CallEvent, gate: Gate) -> Any:
    """How it ended: as the row says, as the gate says, or as all of its outcome."""
    before, by, name = event.error_text.partition("stopped by ")
    if event.outcome == CallOutcome.CANCELLED and by and not before:
        return _("An administrator stopped it: %s.") % name
    if event.outcome == CallOutcome.ERROR and event.error_class in UNANSWERED:
        return UNANSWERED[event.error_class]
    return gate.ending or ENDINGS.get(event.outcome, "")


def around(event: CallEvent, rows: QuerySet[CallEvent]) -> Around | None:
    """Up to five calls before and five after it that share the most with it.

    A session is its token's, so that the index over tokens finds its calls, too. None where
    nothing is recorded by which calls belong together.
    """
    shared, same = _shared(event)
    if same is None:
        return None
    near = rows.filter(
        same, created_at__range=(event.created_at - NEAR, event.created_at + NEAR)
    ).defer("arguments", "error_text")
    at, key = event.created_at, event.pk
    before = near.filter(Q(created_at__lt=at) | Q(created_at=at, pk__lt=key))
    after = near.filter(Q(created_at__gt=at) | Q(created_at=at, pk__gt=key))
    earlier = list(before.order_by("-created_at", "-pk")[:AROUND])
    later = list(after.order_by("created_at", "pk")[:AROUND])
    return Around(shared, [*reversed(earlier), event, *later])


def _shared(event: CallEvent) -> tuple[Any, Q | None]:
    caller = Q(token=event.token_id) if event.token_id else Q(user=event.user_id)
    if event.session_id:
        owned = caller if event.token_id or event.user_id else Q()
        return _("in the same session"), owned & Q(session_id=event.session_id)
    if event.token_id:
        return _("with the same token"), caller
    if event.user_id:
        return _("by the same user"), caller
    if event.address:
        return _("from the same address"), Q(address=event.address)
    return "", None


def lists_with(event: CallEvent) -> list[tuple[Any, str]]:
    """Lists of calls that this one is in: what links to them say, and their queries."""
    secret = f"mcp_{event.token_lookup}" if event.token_lookup else ""
    found = [
        (_("Calls of this user"), {"user": event.username}),
        (_("Calls with this token"), {"token": secret or event.token_name}),
        (_("Calls with this secret"), {"secret": secret}),
        (_("Calls of this session"), _in_session(event, secret)),
        (_("Calls of this tool"), {"tool": event.tool}),
        (_("Calls by this client"), {"client": event.client_name}),
    ]
    return [(said, urlencode(query)) for said, query in found if all(query.values())]


def _in_session(event: CallEvent, secret: str) -> dict[str, str]:
    """With the token, by whose index its calls are found also once the session is deleted."""
    return {"session": event.session_id} | ({"token": secret} if secret else {})
