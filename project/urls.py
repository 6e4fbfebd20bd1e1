"""The example's addresses: a landing page, the admin, and the MCP endpoint."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import TemplateView

handler400 = "mcp_app.urls.bad_request"
urlpatterns = [
    path("", TemplateView.as_view(template_name="landing.html"), name="landing"),
    path("admin/", admin.site.urls),
    path("mcp", include("mcp_app.urls")),
]
