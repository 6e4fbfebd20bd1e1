"""The back office of a multiplayer quiz game: the example product that mcp_app serves."""
