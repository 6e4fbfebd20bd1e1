"""Users' own tokens: the pages of `mcp_app.urls_account`, and attacks on them."""
