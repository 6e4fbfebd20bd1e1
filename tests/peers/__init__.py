"""Other people's programs that our servers are tried with: Node packages at pinned versions."""
