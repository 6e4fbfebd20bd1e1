"""One HTTP exchange driven message by message, as an ASGI server does, so that a test may hang up.

Knows ASGI. What the bytes mean the tests know.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from django.core.handlers.asgi import ASGIHandler

from mcp_app.testing import MCPClient
from mcp_app.testing.client import _scope
from mcp_app.transports.door import EndpointApplication
from tests.interaction.tools import server

PATIENCE = 10.0
"""Seconds after which a test gives up waiting."""

Application = Callable[[], Any]


def endpoint_application() -> Any:
    """The ASGI door."""
    return EndpointApplication(server)


def django_application() -> Any:
    """Django's own ASGI handler with the host's middleware and the view."""
    return ASGIHandler()


class Line:
    """One request on one connection. Use it on the event loop that answers it."""

    def __init__(self, application: Any, scope: dict[str, Any], body: bytes) -> None:
        self._gone = asyncio.Event()
        self._arrived = asyncio.Condition()
        self._unsent = [{"type": "http.request", "body": body}]
        self.sent: list[dict[str, Any]] = []
        self.after_hanging_up = 0
        """How many messages the application sent to nobody."""
        self.task = asyncio.create_task(application(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if self._unsent:
            return self._unsent.pop()
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if self._gone.is_set():
            self.after_hanging_up += 1
            return
        async with self._arrived:
            self.sent.append(message)
            self._arrived.notify_all()

    @property
    def status(self) -> int:
        """The HTTP status, once it has been sent."""
        return int(self.sent[0]["status"])

    @property
    def text(self) -> str:
        """Every byte of the body that has arrived so far."""
        return b"".join(message.get("body", b"") for message in self.sent[1:]).decode()

    @property
    def event_ids(self) -> list[str]:
        """The ids of the events that have arrived so far."""
        return [line[4:] for line in self.text.split("\n") if line.startswith("id: ")]

    @property
    def events(self) -> list[Any]:
        """The JSON-RPC messages that have arrived so far, of a stream or of a whole answer."""
        body = b"".join(message.get("body", b"") for message in self.sent[1:]).decode()
        if body.startswith("{"):
            return [json.loads(body)]
        lines = body.split("\n")
        # An event without data only says where a stream can be resumed.
        return [json.loads(line[6:]) for line in lines if line.startswith("data: ") and line[6:]]

    async def until(self, predicate: Callable[[], Any]) -> None:
        """Wait until something arrived that satisfies `predicate`."""
        async with asyncio.timeout(PATIENCE), self._arrived:
            await self._arrived.wait_for(predicate)

    async def end(self) -> None:
        """Wait until the application is through with the request."""
        async with asyncio.timeout(PATIENCE):
            await self.task

    async def hang_up(self) -> None:
        """Close the connection, and wait until the application has let go."""
        self._gone.set()
        await self.end()


def send(
    application: Any,
    client: MCPClient,
    message: dict[str, Any] | list[dict[str, Any]] | None,
    *,
    method: str = "POST",
    **more: str,
) -> Line:
    """Begin any request of `client`; underscores in the names of more headers are hyphens."""
    told = message if isinstance(message, dict) else {}
    headers = {
        "host": "localhost",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "authorization": f"Bearer {client.token}",
        "mcp-protocol-version": client.version.name,
        "mcp-session-id": client.session_id,
        **client.headers_for(told.get("method", ""), told.get("params")),
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    known = {name: value for name, value in headers.items() if value is not None}
    body = json.dumps(message).encode() if message is not None else b""
    return Line(application, _scope(method, "/mcp", known), body)


def call(application: Any, client: MCPClient, name: str, *, accept: str = "") -> Line:
    """Begin a tool call of `client`, whose session is open, with a progress token."""
    params = client.params({"name": name, "arguments": {}}, {"progressToken": "p"})
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "host": "localhost",
        "content-type": "application/json",
        "accept": accept or "application/json, text/event-stream",
        "authorization": f"Bearer {client.token}",
        "mcp-protocol-version": client.version.name,
        "mcp-session-id": client.session_id,
        **client.headers_for("tools/call", params),
    }
    known = {name: value for name, value in headers.items() if value is not None}
    return Line(application, _scope("POST", "/mcp", known), json.dumps(body).encode())


async def reached(happened: Any) -> None:
    """Wait on the loop for a `threading.Event` that another thread sets."""
    assert await asyncio.to_thread(happened.wait, PATIENCE)
