"""What crosses processes: tools that ask, report, wait and tell of changes."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from rest_framework.permissions import IsAdminUser, IsAuthenticated

from mcp_app import Context, Progress, ToolError
from mcp_app.notify import resource_updated
from tests.servers.site.tools import server


@dataclass(frozen=True)
class Name:
    """Who somebody is."""

    name: str


@server.tool(permission_classes=[IsAuthenticated])
def greet(ctx: Context) -> str:
    """Ask for a name."""
    answer = ctx.elicit("Who are you?", Name, key="name")
    return f"Hello {answer.content.name}" if answer.content else f"They {answer.action}"


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


@server.tool(permission_classes=[IsAuthenticated], read_only=True)
def steps(ctx: Context) -> Iterator[Progress | str]:
    """Report three steps, and say so in the log."""
    ctx.log("info", "began")
    for number in (1, 2, 3):
        yield Progress(number, 3, f"step {number}")
    yield "three steps"


@server.tool(permission_classes=[IsAuthenticated], read_only=True)
def total(a: int, b: int) -> dict[str, int]:
    """Add."""
    return {"total": a + b}


@server.tool(permission_classes=[IsAuthenticated], read_only=True)
def fail() -> str:
    """Say no."""
    raise ToolError("There is nothing left.")


@server.tool(permission_classes=[IsAuthenticated], read_only=True)
def think(ctx: Context) -> str:
    """Ask the client's model."""
    return f"The model says {ctx.sample('What?', max_tokens=10, key='mood').text}"


@server.tool(permission_classes=[IsAuthenticated], read_only=True)
def look(ctx: Context) -> str:
    """Ask where the client works."""
    return ", ".join(root.uri for root in ctx.roots(key="roots"))


@server.prompt(permission_classes=[IsAuthenticated], complete={"mood": ["glad", "grim", "sad"]})
def cheer(mood: str) -> str:
    """Cheer somebody up."""
    return f"Be {mood}!"
