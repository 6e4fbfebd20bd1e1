"""The example product: a quiz game's back office that serves its tools through mcp_app."""
