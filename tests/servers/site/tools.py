"""Tools that read, that write, and that do not come back."""

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth import get_user_model
from rest_framework.permissions import IsAuthenticated

from mcp_app import Context, MCPServer, Progress

server = MCPServer("killed")


@server.tool(read_only=True, permission_classes=[IsAuthenticated])
def read() -> int:
    """Ask the database."""
    return get_user_model().objects.count()


@server.tool(permission_classes=[IsAuthenticated])
def write(username: str) -> str:
    """Write one row."""
    get_user_model().objects.create(username=username)
    return username


@server.tool(permission_classes=[IsAuthenticated], atomic=True)
def write_both(username: str) -> str:
    """Write two rows, or none."""
    for half in ("a", "b"):
        write(f"{username}-{half}")
    return username


@server.tool(permission_classes=[IsAuthenticated])
async def awrite(username: str) -> str:
    """Write one row from async code."""
    await get_user_model().objects.acreate(username=username)
    return username


@server.tool(permission_classes=[IsAuthenticated])
def write_in_steps(username: str) -> Iterator[Progress | str]:
    """Write one row, and say so before and after."""
    yield Progress(1)
    get_user_model().objects.create(username=username)
    yield username


@server.tool(permission_classes=[IsAuthenticated], confirm="Write {username}?")
def write_if_agreed(username: str) -> str:
    """Write one row, if its user agrees."""
    return write(username)


@server.tool(read_only=True, permission_classes=[IsAuthenticated])
def measure(text: str) -> int:
    """Count the characters."""
    return len(text)


@server.tool(read_only=True, permission_classes=[IsAuthenticated])
async def ameasure(text: str) -> int:
    """Count them on the event loop."""
    return len(text)


@server.tool(permission_classes=[IsAuthenticated], timeout=600.0)
def hold() -> str:
    """Say in a file that it runs, and go on running."""
    Path(os.environ["EXAMPLE_STATE"], "holding").touch()
    time.sleep(600)
    return "late"


@server.tool(read_only=True, permission_classes=[IsAuthenticated])
async def report(ctx: Context) -> str:
    """Ask the database, report, and then only wait."""
    ctx.report_progress(await get_user_model().objects.acount())
    await asyncio.Event().wait()
    return "never"


@dataclass
class Name:
    """What a user is asked."""

    name: str


@server.tool(read_only=True, permission_classes=[IsAuthenticated])
async def ask(ctx: Context) -> str:
    """Ask the user."""
    said = await ctx.aelicit("Who are you?", Name)
    return f"Hello {said.content.name}"
