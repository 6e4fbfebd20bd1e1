"""What a product tells the clients that listen: `from mcp_app.notify import resource_updated`."""

from mcp_app.transports.changes import lists_changed, resource_updated

__all__ = ["lists_changed", "resource_updated"]
