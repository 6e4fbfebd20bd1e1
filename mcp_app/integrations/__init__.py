"""What a Django product already has, made known to the catalogue.

For products: `from mcp_app.integrations import ModelTools, Tool, expose_viewset`, in an `mcp.py`.
"""

from mcp_app.access.model_permissions import ModelPermissions
from mcp_app.integrations.classes import Tool
from mcp_app.integrations.models import ModelTools
from mcp_app.integrations.viewsets import expose_viewset

__all__ = ["ModelPermissions", "ModelTools", "Tool", "expose_viewset"]
