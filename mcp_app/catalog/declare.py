"""`@tool`, `@resource` and `@prompt`: declare a function on the default server."""

from typing import Final

from mcp_app.catalog.registry import default_server

tool: Final = default_server.tool
"""`@tool` or `@tool(read_only=True, …)`: `MCPServer.tool` of the default server."""

resource: Final = default_server.resource
"""`@resource("orders://{id}", …)`: `MCPServer.resource` of the default server."""

prompt: Final = default_server.prompt
"""`@prompt` or `@prompt(title="…", …)`: `MCPServer.prompt` of the default server."""
