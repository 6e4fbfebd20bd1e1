"""The page that stops a running call, in whichever process it runs, or says that none runs it."""

import threading
import time
from typing import Any, Final

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_app.admin.links import address
from mcp_app.admin.pages import PagesAdmin
from mcp_app.models import CallEvent, CallOutcome
from mcp_app.transports.stopping import find, stop

PATIENCE: Final = 2.0
"""Seconds that a call has to end before the page says that it has only been asked to."""
_LOOK: Final = 0.05


class StopPage(PagesAdmin):
    """Ask; on POST stop the call. With the permission `stop_callevent`."""

    def get_urls(self) -> list[Any]:
        """Beside the call's own page."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_stop"
        view = self.admin_site.admin_view(self.stop_view)
        return [path("<path:object_id>/stop/", view, name=name), *super().get_urls()]

    def has_stop_permission(self, request: HttpRequest) -> bool:
        """A permission of its own."""
        return bool(request.user.has_perm("mcp_app.stop_callevent"))

    def stop_url(self, request: HttpRequest, event: CallEvent) -> str:
        """Where a call is stopped; empty for one that has ended, and who may not."""
        runs = not event.has_ended and event.correlation_id
        if not runs or not self.has_stop_permission(request):
            return ""
        return address(self, "stop", {}, event.pk)

    def stop_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Say which process runs the call, and ask; on POST stop it."""
        if not self.has_stop_permission(request):
            raise PermissionDenied
        event = self.get_object(request, unquote(object_id))
        if event is None:
            return self.missing(request, object_id)
        if event.has_ended:
            said = _("The call has ended already: %(outcome)s.")
            outcome = event.get_outcome_display()
            self.message_user(request, said % {"outcome": outcome}, messages.INFO)
            return self._away(request, event)
        if request.method == "POST":
            return self._stop(request, event)
        return self._asked(request, event, find(event.correlation_id))

    def _asked(self, request: HttpRequest, event: CallEvent, found: Any) -> HttpResponse:
        return self.page_response(
            request,
            "admin/mcp_app/callevent/stop.html",
            _("Stop %(call)s?") % {"call": event.tool or event.method},
            event=event,
            process=found["process"] if found else "",
            back=self._back_url(request, event),
        )

    def _stop(self, request: HttpRequest, event: CallEvent) -> HttpResponse:
        found = stop(event.correlation_id, request.user.get_username())
        if found is None:
            return self._asked(request, event, None)
        self.log_change(request, event, gettext("Stopped."))
        ended = self._ended(request, event)
        if ended is None:
            told = _(
                "The call has been told to stop. It ends when its tool looks whether it should, or"
                " at its time limit."
            )
            self.message_user(request, told, messages.WARNING)
        elif ended.outcome == CallOutcome.CANCELLED:
            self.message_user(request, _("The call is stopped."), messages.SUCCESS)
        else:
            said = _("The call ended before it could be stopped: %(outcome)s.")
            outcome = ended.get_outcome_display()
            self.message_user(request, said % {"outcome": outcome}, messages.WARNING)
        return self._away(request, event)

    def _ended(self, request: HttpRequest, event: CallEvent) -> CallEvent | None:
        """The call as it ended; None where it has not in time."""
        deadline, pause = time.monotonic() + PATIENCE, threading.Event()
        while True:
            now = self.get_queryset(request).filter(pk=event.pk).first()
            if now is None or now.has_ended:
                return now
            if time.monotonic() > deadline:
                return None
            pause.wait(_LOOK)

    def _away(self, request: HttpRequest, event: CallEvent) -> HttpResponse:
        return HttpResponseRedirect(self._back_url(request, event))

    def _back_url(self, request: HttpRequest, event: CallEvent) -> str:
        """The call's own page, or the page that the person may open."""
        site = self.admin_site.name
        if self.has_view_permission(request, event):
            name = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
            return reverse(name, args=[event.pk], current_app=site)
        open_to = (page for page in self.pages() if self.may_open(request, page))
        page = next(open_to, None)
        return self.page_url(page.slug) if page else reverse("admin:index", current_app=site)
