"""The notes' admin, which is what gives them tools."""

from django.contrib import admin
from django_admin_mcp import MCPAdminMixin

from bench.servers.peers.notes.models import Note


@admin.register(Note)
class NoteAdmin(MCPAdminMixin, admin.ModelAdmin):
    """Exposed as the package documents it."""

    mcp_expose = True
    list_display = ("title",)
