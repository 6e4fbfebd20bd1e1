"""FastMCP: what the official SDK's server of the bench does, on FastMCP."""

import os

from fastmcp import Context, FastMCP

server = FastMCP("bench")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def progress(n: int, ctx: Context) -> int:
    """Report progress n times."""
    for done in range(n):
        await ctx.report_progress(done, n)
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


for number in range(int(os.environ.get("BENCH_TOOLS", "0"))):
    server.tool(look_up, name=f"tool_{number}")

app = server.http_app(
    json_response=os.environ.get("BENCH_STREAMS") != "1",
    stateless_http=os.environ.get("BENCH_SESSIONS") != "1",
)
