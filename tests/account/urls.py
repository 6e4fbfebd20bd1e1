"""The addresses of a product without an admin, without an endpoint, and without a landing page."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

urlpatterns = [
    path("", LoginView.as_view(), name="landing"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("mine/", include("mcp_app.urls_account")),
]
