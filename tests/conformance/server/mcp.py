"""Found by autodiscovery, as any `mcp.py` is; the tools stand in the modules it names."""

from tests.conformance.server import fixtures, schemas

__all__ = ["fixtures", "schemas"]
