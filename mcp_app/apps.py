"""The Django app: finds each app's `mcp.py`, checks the settings, wires what listens."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class MCPAppConfig(AppConfig):
    """`INSTALLED_APPS += ["mcp_app"]`."""

    name = "mcp_app"
    label = "mcp_app"
    verbose_name = _("MCP server")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Refuse wrong settings, wire what listens, find the tools."""
        from mcp_app import checks, conf, deployment  # noqa: F401 - models must be loaded first
        from mcp_app.audit import mirrors  # noqa: F401 - its check is registered
        from mcp_app.integrations import serializers, values
        from mcp_app.transports import beacon, changes, connected, stopping
        from mcp_app.work import promises

        conf.validate()
        values.register()
        serializers.register()
        promises.install()
        autodiscover_modules("mcp")
        changes.connect()
        beacon.connect()
        stopping.connect()
        connected.connect()
        checks.report()
