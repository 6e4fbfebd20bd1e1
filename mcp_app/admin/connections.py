"""Who is connected: open streams as the processes tell of them, and live sessions beside."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_app.admin.links import row_link
from mcp_app.admin.pages import Page, PagesAdmin
from mcp_app.auth.liveness import live_sessions
from mcp_app.models import Session, Token
from mcp_app.transports.about import StreamKind
from mcp_app.transports.bus import is_shared
from mcp_app.transports.connected import Process, connected, end_session, end_stream

MOST: Final = 100
"""Streams and sessions that are shown."""

KINDS: Final[Mapping[str, Any]] = {
    StreamKind.LISTEN: _("subscription"),
    StreamKind.SESSION: _("session's own stream"),
    StreamKind.CALL: _("running call"),
    StreamKind.REPLAY: _("rest of a broken stream"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One open stream."""

    process: str
    name: str
    kind: Any
    client: str
    version: str
    tool: str
    opened_at: datetime
    user: Any
    token: Any


@dataclass(frozen=True, slots=True)
class Answering:
    """A process that answered, and how many streams of each kind it has open."""

    name: str
    begun_at: datetime
    counts: list[tuple[Any, int]]


class ConnectedPage(PagesAdmin):
    """The page, with the permission `watch_session`; ending takes `end_session`."""

    def pages(self) -> list[Page]:
        """Beside the list of sessions."""
        page = Page(
            slug="connected",
            title=_("Connected"),
            about=_("Who is connected now, with what client, and to which process."),
            view=self.connected_view,
            permission="watch",
        )
        return [*super().pages(), page]

    def get_urls(self) -> list[Any]:
        """The two ends beneath the page."""
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        view = self.admin_site.admin_view
        own = [
            path("connected/end/", view(self.end_stream_view), name=f"{name}_end_stream"),
            path("<path:object_id>/end/", view(self.end_session_view), name=f"{name}_end"),
        ]
        return [*own, *super().get_urls()]

    def has_watch_permission(self, request: HttpRequest) -> bool:
        """A permission of its own."""
        return bool(request.user.has_perm("mcp_app.watch_session"))

    def has_end_permission(self, request: HttpRequest) -> bool:
        """A permission of its own; the model's change permission, which opens no form, does too."""
        held = ("mcp_app.end_session", "mcp_app.change_session")
        return any(request.user.has_perm(each) for each in held)

    def connected_view(self, request: HttpRequest) -> HttpResponse:
        """Ask all processes, and show what they say beside what the database says."""
        processes = connected()
        lines = _lines(request, processes)
        live = live_sessions().select_related("user", "token").order_by("-last_seen_at")
        return self.page_response(
            request,
            "admin/mcp_app/session/connected.html",
            _("Connected"),
            processes=[_answering(process) for process in processes],
            lines=lines[:MOST],
            total=sum(process.total for process in processes),
            sessions=[(each, *_holder(request, each)) for each in live[:MOST]],
            sessions_total=live.count(),
            may_end=self.has_end_permission(request),
            may_list=self.has_view_permission(request),
            is_shared=is_shared(),
        )

    def end_stream_view(self, request: HttpRequest) -> HttpResponse:
        """Ask; on POST end the stream, and go back."""
        if not self.has_end_permission(request):
            raise PermissionDenied
        process, name = (request.GET.get(each, "") for each in ("process", "stream"))
        if request.method != "POST":
            found = [line for line in _lines(request, connected()) if line.name == name]
            return self.page_response(
                request,
                "admin/mcp_app/session/end_stream.html",
                _("End this stream?"),
                line=found[0] if found else None,
                back=self._back_url(request),
            )
        ended = end_stream(process, name)
        if ended is None:
            said = _("No process has this stream open any more, or it cannot be reached.")
            self.message_user(request, said, messages.WARNING)
        else:
            self._log_stream(request, ended)
            self.message_user(request, _("The stream is ended."), messages.SUCCESS)
        return HttpResponseRedirect(self._back_url(request))

    def end_session_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask; on POST end the session, and go back."""
        if not self.has_end_permission(request):
            raise PermissionDenied
        session = self.get_object(request, object_id)
        if session is None:
            raise Http404
        if request.method != "POST":
            return self.page_response(
                request,
                "admin/mcp_app/session/end.html",
                _("End the session of %(client)s?") % {"client": session},
                session=session,
                holder=_holder(request, session),
                back=self._back_url(request),
            )
        self.end(request, session)
        self.message_user(request, _("The session is ended."), messages.SUCCESS)
        return HttpResponseRedirect(self._back_url(request))

    def end(self, request: HttpRequest, session: Session) -> bool:
        """End one session, with its streams; False where it has ended already."""
        ended = end_session(session)
        if ended:
            self.log_change(request, session, gettext("Ended."))
        return ended

    def _log_stream(self, request: HttpRequest, stream: Mapping[str, Any]) -> None:
        """In the history of what the stream hung on: its session, else its token, else its user."""
        said = gettext("Ended a stream of %(client)s.") % {"client": stream["client"] or "?"}
        candidates = (
            Session.objects.filter(key=stream["session"] or ""),
            Token.objects.filter(pk=stream["token"]),
            get_user_model()._default_manager.filter(pk=stream["user"]),
        )
        row = next((row for rows in candidates if (row := rows.first()) is not None), None)
        if row is not None:
            self.log_change(request, row, said)

    def _back_url(self, request: HttpRequest) -> str:
        """The page, or the list, or the index: what the person may open."""
        site = self.admin_site.name
        if self.has_watch_permission(request):
            return self.page_url("connected")
        if self.has_view_permission(request):
            return self.page_url("changelist")
        return reverse("admin:index", current_app=site)


def _lines(request: HttpRequest, processes: Iterable[Process]) -> list[Line]:
    """The open streams, the newest first, with the names that users and tokens have now."""
    told = [(process.name, stream) for process in processes for stream in process.streams]
    users, tokens = get_user_model()._default_manager, Token.objects
    found = {str(u.pk): u for u in users.in_bulk({s["user"] for _, s in told} - {None}).values()}
    held = tokens.in_bulk({stream["token"] for _, stream in told} - {None})
    lines = [
        Line(
            process=process,
            name=stream["name"],
            kind=KINDS.get(stream["kind"], stream["kind"]),
            client=stream["client"],
            version=stream["version"],
            tool=stream["tool"],
            opened_at=_moment(stream["opened_at"]),
            user=_named(request, found.get(stream["user"])),
            token=_named(request, held.get(stream["token"])),
        )
        for process, stream in told
    ]
    return sorted(lines, key=lambda line: line.opened_at, reverse=True)


def _holder(request: HttpRequest, session: Session) -> tuple[Any, Any]:
    """The user and the token of a session."""
    return _named(request, session.user), _named(request, session.token)


def _named(request: HttpRequest, row: Any) -> Any:
    if row is None:
        return ""
    text = row.name if isinstance(row, Token) else row.get_username()
    return row_link(request, row, text)


def _answering(process: Process) -> Answering:
    counts = [(label, process.counts.get(kind, 0)) for kind, label in KINDS.items()]
    return Answering(process.name, _moment(process.begun_at), counts)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
