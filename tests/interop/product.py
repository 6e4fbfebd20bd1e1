"""What a test knows of a running example."""

from dataclasses import dataclass

from tests.interop.administrator import Administrator


@dataclass(frozen=True)
class Product:
    """A running example, a token of the user "sam", and who issued it."""

    origin: str
    token: str
    administrator: Administrator

    @property
    def url(self) -> str:
        """The MCP endpoint."""
        return f"{self.origin}/mcp"
