"""The tools that every server of the bench offers, as a Django product declares them.

`BENCH_TOOLS` adds that many tools of five parameters, and a tenth as many that the caller may not
see: half of those it sees ask for a login, half for one of Django's permissions.
"""

import asyncio
import os
from typing import Any

from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request

from mcp_app import Context, tool


class MayViewUsers(BasePermission):
    """One of Django's permissions, which the caller has."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return bool(request.user.has_perm("auth.view_user"))


class MayDeleteUsers(BasePermission):
    """One that the caller lacks."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return bool(request.user.has_perm("auth.delete_user"))


@tool(read_only=True, permission_classes=[IsAuthenticated])
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(permission_classes=[IsAuthenticated])
def book(a: int, b: int) -> int:
    """Add two numbers, as a tool that may write: its event is stored before and after."""
    return a + b


@tool(read_only=True, permission_classes=[IsAuthenticated])
async def progress(ctx: Context, n: int) -> int:
    """Report progress n times, each time leaving the event loop to others."""
    for done in range(n):
        ctx.report_progress(done, n)
        await asyncio.sleep(0)
    return 999_999_999


def look_up(
    customer_id: int,
    name: str,
    limit: int = 10,
    verbose: bool = False,
    tags: list[str] | None = None,
) -> dict[str, int]:
    """Look up the record of a customer and return its fields, with an optional limit."""
    return {"customer": customer_id}


_TOOLS = int(os.environ.get("BENCH_TOOLS", "0"))
for number in range(_TOOLS):
    seen = MayViewUsers if number % 2 else IsAuthenticated
    tool(name=f"tool_{number}", read_only=True, permission_classes=[seen])(look_up)
for number in range(_TOOLS // 10):
    tool(name=f"hidden_{number}", read_only=True, permission_classes=[MayDeleteUsers])(look_up)
