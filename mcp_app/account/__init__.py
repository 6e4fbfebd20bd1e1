"""Pages where signed-in users look after their own tokens, within limits that `MCP_APP` sets.

They are off unless `mcp_app.urls_account` is included, and need no admin.
"""
