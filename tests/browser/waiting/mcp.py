"""The one tool."""

import asyncio

from rest_framework.permissions import IsAuthenticated

from mcp_app import tool


@tool(permission_classes=[IsAuthenticated], timeout=120.0)
async def wait_forever() -> str:
    """Run until it is stopped."""
    await asyncio.sleep(120)
    return "late"
