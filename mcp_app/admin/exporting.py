"""The download of the call log: what the filters show, streamed."""

import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.core.handlers.asgi import ASGIRequest
from django.db.models import QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponseBase,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.urls import path, reverse
from django.utils import timezone

from mcp_app.admin.call_filters import unread
from mcp_app.audit.export import CONTENT_TYPES, FORMATS, exported
from mcp_app.models import CallEvent

logger: Final = logging.getLogger("mcp_app.audit")


class ExportPages(admin.ModelAdmin):  # type: ignore[type-arg]  # no subscript at run time
    """What `CallEventAdmin` can do beyond listing and showing."""

    change_list_template = "admin/mcp_app/callevent/change_list.html"

    def get_urls(self) -> list[Any]:
        """The download beside the model's own pages."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_export"
        view = self.admin_site.admin_view(self.export_view)
        return [path("export/<slug:form>/", view, name=name), *super().get_urls()]

    def has_export_permission(self, request: HttpRequest) -> bool:
        """A permission of its own, beside that to see the calls."""
        allowed = request.user.has_perm("mcp_app.export_callevent")
        return bool(allowed and self.has_view_permission(request))

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        """With the downloads, for those who may."""
        forms = list(FORMATS) if self.has_export_permission(request) else []
        return super().changelist_view(request, {"export_forms": forms, **(extra_context or {})})

    def export_view(self, request: HttpRequest, form: str) -> HttpResponseBase:
        """The rows that the list shows with the same address after the `?`."""
        if not self.has_export_permission(request):
            raise PermissionDenied
        if form not in FORMATS:
            raise Http404
        rows = self._shown(request)
        if rows is None:
            return HttpResponseRedirect(self._list_url(request))
        logger.info("%s exports calls as %s", request.user.get_username(), form)
        pieces = exported(rows, form)
        streamed = _off_the_loop(pieces) if isinstance(request, ASGIRequest) else pieces
        response = StreamingHttpResponse(streamed, content_type=CONTENT_TYPES[form])
        name = f"calls-{timezone.now():%Y%m%d-%H%M%S}.{form}"
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        return response

    def _shown(self, request: HttpRequest) -> QuerySet[CallEvent] | None:
        """What the list shows; None where its filters cannot be read, which the list then says."""
        try:
            shown = self.get_changelist_instance(request)
        except IncorrectLookupParameters:
            return None
        return None if unread(shown.filter_specs) else shown.queryset

    def _list_url(self, request: HttpRequest) -> str:
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"
        url = reverse(name, current_app=self.admin_site.name)
        return f"{url}?{request.GET.urlencode()}"


async def _off_the_loop(pieces: Iterator[str]) -> AsyncIterator[str]:
    """Under ASGI Django would gather all of a plain iterator before it sends any."""
    while piece := await sync_to_async(lambda: next(pieces, ""))():
        yield piece
