"""A host that has everything under a language prefix, the endpoint too."""

from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path

from mcp_app.urls import endpoint
from tests.interaction.tools import server

urlpatterns = i18n_patterns(path("mcp", include(endpoint(server))))
