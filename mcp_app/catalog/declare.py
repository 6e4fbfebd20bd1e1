"""`@tool`: declares a function on the default server."""

from typing import Final

from mcp_app.catalog.registry import default_server

tool: Final = default_server.tool
"""`@tool` or `@tool(read_only=True, …)`: `MCPServer.tool` of the default server."""
