"""A small Django product with mcp_app: what ours is measured on."""
