"""The endpoint at /mcp."""

from django.urls import include, path

urlpatterns = [path("mcp", include("mcp_app.urls"))]
