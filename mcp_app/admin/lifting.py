"""The page that lifts one switch, and the way to it."""

from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_app.access.switches import lift
from mcp_app.admin.links import address, back_url
from mcp_app.admin.pages import PagesAdmin
from mcp_app.models import Switch


class LiftPage(PagesAdmin):
    """Ask; on POST lift the switch."""

    change_form_template = "admin/mcp_app/switch/change_form.html"

    def get_urls(self) -> list[Any]:
        """Beside the switch's own page."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_lift"
        view = self.admin_site.admin_view(self.lift_view)
        return [path("<path:object_id>/lift/", view, name=name), *super().get_urls()]

    def has_lift_permission(self, request: HttpRequest) -> bool:
        """Lifting takes the model's change permission, which opens no form here."""
        return bool(request.user.has_perm("mcp_app.change_switch"))

    def lift_url(self, request: HttpRequest, switch: Switch | None) -> str:
        """Where a switch is lifted; empty for one that is over, and who may not."""
        if switch is None or not switch.is_in_force or not self.has_lift_permission(request):
            return ""
        return address(self, "lift", {}, switch.pk)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The whole row, with the way to lift it."""
        switch = self.get_object(request, unquote(object_id))
        more = {"lift_url": self.lift_url(request, switch), **(extra_context or {})}
        answer: HttpResponse = super().change_view(request, object_id, form_url, more)
        return answer

    def lift_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Say what would be let through again, and ask; on POST lift it."""
        if not self.has_lift_permission(request):
            raise PermissionDenied
        switch = self.get_object(request, unquote(object_id))
        if switch is None:
            return self.missing(request, object_id)
        back = back_url(request, self.model, switch)
        if switch.is_in_force and request.method != "POST":
            return self.page_response(
                request,
                "admin/mcp_app/switch/lift.html",
                _("Lift this switch?"),
                switch=switch,
                back=back,
            )
        if switch.is_in_force:
            self.lift(request, switch)
            self.message_user(request, _("The switch is lifted."), messages.SUCCESS)
        else:
            self.message_user(request, _("The switch is over already."), messages.INFO)
        return HttpResponseRedirect(back)

    def lift(self, request: HttpRequest, switch: Switch) -> None:
        """Lift it, and note it in the history."""
        lift(switch, by=request.user)
        self.log_change(request, switch, gettext("Lifted."))
