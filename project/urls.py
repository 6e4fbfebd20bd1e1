"""The example's addresses: a landing page, the admin, users' own pages, and the MCP endpoint."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path
from django.views.generic import TemplateView

handler400 = "mcp_app.urls.bad_request"
urlpatterns = [
    path("", TemplateView.as_view(template_name="landing.html"), name="landing"),
    path("admin/", admin.site.urls),
    path("account/login/", LoginView.as_view(), name="login"),
    path("account/logout/", LogoutView.as_view(), name="logout"),
    path("account/tokens/", include("mcp_app.urls_account")),
    path("mcp", include("mcp_app.urls")),
]
