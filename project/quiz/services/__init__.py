"""What the back office can ask and do; none of it knows of MCP."""
