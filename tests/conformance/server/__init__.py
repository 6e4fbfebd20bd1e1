"""The server that the official suite tests: its fixture tools, declared as any product does it."""
