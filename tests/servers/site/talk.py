"""What crosses processes: tools that ask, report, wait and tell of changes."""

import asyncio
from dataclasses import dataclass

from rest_framework.permissions import IsAdminUser, IsAuthenticated

from mcp_app import Context
from mcp_app.notify import resource_updated
from tests.servers.site.tools import server


@dataclass(frozen=True)
class Name:
    """Who somebody is."""

    name: str


@server.tool(permission_classes=[IsAuthenticated])
def greet(ctx: Context) -> str:
    """Ask for a name."""
    return f"Hello {ctx.elicit('Who are you?', Name, key='name').content.name}"


@server.tool(permission_classes=[IsAuthenticated], timeout=60.0)
async def wait(ctx: Context) -> str:
    """Report once, then wait to be cancelled."""
    ctx.report_progress(1, 2)
    await asyncio.sleep(60)
    return "late"


@server.tool(permission_classes=[IsAuthenticated], timeout=60.0)
async def part(ctx: Context, name: str) -> str:
    """Report, let the client go, and go on once the note of that name is told of."""
    ctx.report_progress(1, 3)
    ctx.close_stream(retry_ms=10)
    told = _told.setdefault(name, asyncio.Event())
    await told.wait()
    ctx.report_progress(2, 3)
    return "parted"


_told: dict[str, asyncio.Event] = {}


@server.tool(permission_classes=[IsAuthenticated])
async def go_on(name: str) -> str:
    """Let `part` go on, where it runs."""
    _told.setdefault(name, asyncio.Event()).set()
    return name


@server.resource("notes://{name}", permission_classes=[IsAuthenticated])
def note(name: str) -> str:
    """A note."""
    return name


@server.tool(permission_classes=[IsAuthenticated])
def touch(name: str) -> str:
    """Tell of a changed note."""
    resource_updated(f"notes://{name}")
    return name


@server.tool(permission_classes=[IsAdminUser])
def govern() -> str:
    """Be seen by staff alone."""
    return "ok"


@server.tool(permission_classes=[IsAuthenticated])
def promote(ctx: Context, staff: bool) -> str:
    """Become staff, or stop being it."""
    ctx.user.is_staff = staff
    ctx.user.save()
    return str(staff)
