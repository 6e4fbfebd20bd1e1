"""A host's addresses: the endpoint among pages with a language prefix and a login page."""

from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from mcp_app.urls import endpoint
from tests.interaction.tools import server


def page(request: HttpRequest) -> HttpResponse:
    """A page of the host's."""
    return HttpResponse("page")


handler400 = "mcp_app.urls.bad_request"
urlpatterns = [
    path("mcp", include(endpoint(server))),
    path("accounts/login/", page),
    *i18n_patterns(path("page/", page)),
]
