"""A user, and a few tools beside those of the example."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from rest_framework.permissions import IsAdminUser, IsAuthenticated

from mcp_app import ToolError
from mcp_app.catalog.registry import default_server

NAMES = ("shell_add", "shell_fail", "shell_secret", "shell_write")


@pytest.fixture
def ana(transactional_db: None) -> Any:
    return get_user_model().objects.create_user("ana")


@pytest.fixture(autouse=True)
def tools() -> Iterator[None]:
    @default_server.tool(read_only=True)
    def shell_add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    @default_server.tool
    async def shell_fail(password: str) -> str:
        """Fail."""
        raise ToolError(f"cannot use {password}")

    @default_server.tool(read_only=True, permission_classes=[IsAuthenticated & ~IsAdminUser])
    def shell_secret() -> str:
        """Tell."""
        return "told"

    @default_server.tool(destructive=True, scopes=["rooms:write"])
    def shell_write() -> None:
        """Write."""

    yield
    for name in NAMES:
        default_server.remove(name)
