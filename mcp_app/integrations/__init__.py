"""What a Django product already has, made known to the catalogue.

For products: `from mcp_app.integrations import ModelTools, Tool, expose_viewset`, in an `mcp.py`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mcp_app.access.model_permissions import ModelPermissions
    from mcp_app.integrations.classes import Tool
    from mcp_app.integrations.models import ModelTools
    from mcp_app.integrations.viewsets import expose_viewset

__all__ = ["ModelPermissions", "ModelTools", "Tool", "expose_viewset"]

_HOMES: Final = {
    "ModelPermissions": "mcp_app.access.model_permissions",
    "ModelTools": "mcp_app.integrations.models",
    "Tool": "mcp_app.integrations.classes",
    "expose_viewset": "mcp_app.integrations.viewsets",
}


def __getattr__(name: str) -> Any:
    """Each name on its first use: a product that has no such tools does not load what makes them.

    As pydantic does, since the modules beside this one need the package alone.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
