"""The official SDK's server: the baseline A, and its same calls where a case compares with them.

`BENCH_STREAMS=1` lets it answer by SSE, `BENCH_SESSIONS=1` keeps sessions, `BENCH_TOOLS` adds
tools of five parameters. It asks for no token and records nothing.
"""

import os

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("bench")


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
    server.tool(name=f"tool_{number}")(look_up)

app = server.streamable_http_app(
    json_response=os.environ.get("BENCH_STREAMS") != "1",
    stateless_http=os.environ.get("BENCH_SESSIONS") != "1",
)
