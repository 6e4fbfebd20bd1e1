"""The endpoint at /mcp, and the admin."""

from django.contrib import admin
from django.urls import include, path

from mcp_app.urls import endpoint
from tests.servers.site.tools import server

urlpatterns = [path("mcp", include(endpoint(server))), path("admin/", admin.site.urls)]
