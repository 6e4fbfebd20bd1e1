"""The test kit: an MCP client that talks to an endpoint in process, through any of its doors.

    mcp = MCPClient(token, version="2025-11-25")
    assert mcp.call("find_orders", {"status": "open"}).structured == {"result": []}

    mcp = MCPClient(token, answers=accept())
    assert mcp.call("refund", {"number": "7"}).text == "Order 7 is refunded."
    assert mcp.asked[0]["params"]["message"] == "Refund 7?"

Through the "view" door a call runs in the test's own thread and transaction. The other doors run
tools in worker threads, which see no open transaction: wrap such tests in `inline_workers()`. There
all sync code shares one thread, so a sync tool that asks an older client is told that it cannot.
"""

from mcp_app.testing.answer import Answer
from mcp_app.testing.client import DOORS, Door, MCPClient, inline_workers
from mcp_app.testing.people import Answers, accept, cancel, decline

__all__ = [
    "DOORS",
    "Answer",
    "Answers",
    "Door",
    "MCPClient",
    "accept",
    "cancel",
    "decline",
    "inline_workers",
]
