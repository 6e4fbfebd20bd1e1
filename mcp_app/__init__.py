"""mcp_app: a Django app that makes a Django product an MCP server.

The names below are the public API. Importing them touches no model, so that `mcp.py` modules and
settings may import them whenever they like.
"""

__version__ = "0.1.0"

from mcp_app.catalog.declare import tool
from mcp_app.catalog.errors import ToolError
from mcp_app.catalog.progress import Progress
from mcp_app.catalog.registry import MCPServer, default_server
from mcp_app.catalog.results import ToolResult
from mcp_app.dispatch.context import Caller, Cancelled, Context
from mcp_app.protocol.content import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)

__all__ = [
    "AudioContent",
    "Caller",
    "Cancelled",
    "Context",
    "EmbeddedResource",
    "ImageContent",
    "MCPServer",
    "Progress",
    "ResourceLink",
    "TextContent",
    "ToolError",
    "ToolResult",
    "default_server",
    "tool",
]
