"""The tools that the interaction tests call, on a server of their own."""

import asyncio
import time
from collections.abc import AsyncIterator, Generator
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from django.contrib.auth import get_user_model
from pydantic import Field
from rest_framework.permissions import AllowAny, IsAdminUser

from mcp_app import Context, MCPServer, Progress, ToolError

server = MCPServer("tests")


@dataclass(frozen=True)
class Sum:
    """A sum."""

    total: int


@server.tool(read_only=True)
def add(a: int, b: Annotated[int, Field(ge=0, le=100)] = 1) -> Sum:
    """Add two numbers."""
    return Sum(a + b)


@server.tool(read_only=True)
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool(permission_classes=[AllowAny], read_only=True)
def open_to_all() -> str:
    """Say hello to anybody."""
    return "hello"


@server.tool(permission_classes=[IsAdminUser], read_only=True)
def staff_only() -> str:
    """Tell staff a secret."""
    return "staff"


@server.tool(scopes=["rooms:write"])
def scoped(number: int = 0) -> int:
    """Write something that a token must allow."""
    return number


@server.tool(read_only=True)
def whoami(ctx: Context) -> dict[str, object]:
    """Tell who the caller is."""
    return {
        "user": ctx.user.get_username(),
        "token": ctx.token.name if ctx.token else None,
        "scopes": sorted(ctx.scopes or ()),
        "method": ctx.request.method,
        "version": ctx.protocol_version,
        "session": ctx.session.session_id if ctx.session else None,
    }


@server.tool(read_only=True)
def steps(count: int = 3) -> Generator[Progress, None, str]:
    """Report progress by yielding it."""
    for number in range(1, count + 1):
        yield Progress(number, count, f"step {number}")
    return "done"


@server.tool(read_only=True)
def reports(ctx: Context) -> str:
    """Report progress by calling."""
    ctx.report_progress(1, 2)
    ctx.report_progress(1, 2)
    ctx.report_progress(2, 2)
    return "done"


@server.tool
async def asteps() -> AsyncIterator[Progress | str]:
    """Report progress from an async generator."""
    yield Progress(1, 2)
    await asyncio.sleep(0)
    yield Progress(2, 2)
    yield "done"


@server.tool(read_only=True)
async def count_users() -> int:
    """Ask the database from async code."""
    return await get_user_model().objects.acount()


@server.tool(read_only=True)
def without_result() -> Generator[Progress, None, str]:
    """End without a result."""
    yield Progress(1)


@server.tool
def make_user(username: str, then_fail: bool = False) -> int:
    """Write a row, and perhaps fail afterwards."""
    user = get_user_model().objects.create(username=username)
    if then_fail:
        raise RuntimeError("database password is hunter2")
    return user.pk


@server.tool(read_only=True)
def refuse() -> str:
    """Fail in a way the model may know of."""
    raise ToolError("Stock is empty")


@server.tool(read_only=True)
def price() -> Decimal:
    """Give an exact number."""
    return Decimal("1.10")


@server.tool(timeout=0.2)
async def sleep_for_ever() -> str:
    """Never come back."""
    await asyncio.sleep(3600)
    return "late"


@server.tool(sensitive=["password"])
def log_in(user: str, password: str) -> str:
    """Take a secret."""
    return user


@server.tool(read_only=True)
def busy(seconds: float = 0.0) -> str:
    """Take some time in a thread."""
    time.sleep(seconds)
    return "awake"


@server.tool(name="日報", read_only=True)
def daily_report() -> str:
    """Have a name outside ASCII."""
    return "ok"
