"""Found by autodiscovery, as any `mcp.py` is; what is declared stands in the modules it names."""

from tests.conformance.server import asking, fixtures, listening, readable, schemas

__all__ = ["asking", "fixtures", "listening", "readable", "schemas"]
