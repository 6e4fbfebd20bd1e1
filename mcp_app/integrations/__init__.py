"""What a Django product already has, made known to the catalogue.

For products: `from mcp_app.integrations import ModelTools, expose_viewset`, in a module `mcp.py`.
"""

from mcp_app.access.model_permissions import ModelPermissions
from mcp_app.integrations.models import ModelTools
from mcp_app.integrations.viewsets import expose_viewset

__all__ = ["ModelPermissions", "ModelTools", "expose_viewset"]
