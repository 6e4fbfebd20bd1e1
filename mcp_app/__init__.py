"""mcp_app: a Django app that makes a Django product an MCP server.

The names below are the public API. Importing them touches no model, so that `mcp.py` modules and
settings may import them whenever they like.
"""

__version__ = "0.1.0"

from mcp_app.catalog.completers import Completion
from mcp_app.catalog.contents import ResourceContents
from mcp_app.catalog.declare import prompt, resource, tool
from mcp_app.catalog.errors import NotFound, ToolError
from mcp_app.catalog.inputs import Elicit, ElicitUrl, ListRoots, Sample
from mcp_app.catalog.progress import Progress
from mcp_app.catalog.prompts import Message
from mcp_app.catalog.registry import MCPServer, default_server
from mcp_app.catalog.results import ToolResult
from mcp_app.dispatch.context import Caller, Cancelled, Context
from mcp_app.dispatch.inputs import CannotAsk
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
    "CannotAsk",
    "Completion",
    "Context",
    "Elicit",
    "ElicitUrl",
    "EmbeddedResource",
    "ImageContent",
    "ListRoots",
    "MCPServer",
    "Message",
    "NotFound",
    "Progress",
    "ResourceContents",
    "ResourceLink",
    "Sample",
    "TextContent",
    "ToolError",
    "ToolResult",
    "default_server",
    "prompt",
    "resource",
    "tool",
]
