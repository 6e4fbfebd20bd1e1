"""A client of one process among several: whole answers, and streams read event by event."""

import http.client
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from mcp_app.testing import Answer, MCPClient
from tests import live

PATIENCE = 20.0
"""Seconds after which a test gives up waiting."""


class Line:
    """One open answer."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        self._response = connection.getresponse()
        self.status = self._response.status
        self.event_id = ""
        """The last that arrived."""

    def messages(self) -> Iterator[dict[str, Any]]:
        """The JSON-RPC messages as they arrive, to the end of the stream.

        Raises:
            AssertionError: it does not end, although nothing but keep-alives comes any more.
        """
        deadline = time.monotonic() + PATIENCE
        while raw := self._response.readline():
            assert time.monotonic() < deadline, "the stream goes on"
            name, _, value = raw.decode().rstrip("\n").partition(": ")
            if name == "id":
                self.event_id = value
            elif name == "data" and value:
                yield json.loads(value)
            elif raw.startswith(b"{"):  # a whole answer
                yield json.loads(raw)

    def ends_within(self, seconds: float) -> bool:
        """Whether the stream ends in that time. Looks at keep-alives only."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not self._response.readline():
                return True
        return False

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next message that is wanted.

        Raises:
            AssertionError: the stream ended before.
        """
        for message in self.messages():
            if wanted(message):
                return message
        raise AssertionError("the stream ended without it")

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up."""
        self._response.close()
        self._connection.close()


class LiveClient(MCPClient):
    """A client that talks to whichever process its `port` names at the moment."""

    port = 0

    def at(self, port: int) -> "LiveClient":
        """This client, from now on with another process."""
        self.port = port
        return self

    def open(self, message: dict[str, Any] | None, **headers: str) -> Line:
        """POST a message, or GET the session's stream, and leave the answer open."""
        told = message or {}
        sent = {
            "authorization": f"Bearer {self.token}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": self.version.name,
            "mcp-session-id": self.session_id,
            **self.headers_for(told.get("method", ""), told.get("params")),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        known = {name: value for name, value in sent.items() if value is not None}
        connection = http.client.HTTPConnection(live.HOST, self.port, timeout=PATIENCE)
        body = b"" if message is None else json.dumps(message).encode()
        connection.request("GET" if message is None else "POST", "/mcp", body, known)
        return Line(connection)

    def ask(self, method: str, params: dict[str, Any], request_id: Any) -> Line:
        """Begin a request."""
        told = {"jsonrpc": "2.0", "id": request_id, "method": method}
        return self.open(told | {"params": self.params(params, params.get("_meta"))})

    def _through_door(self, method: str, body: bytes, headers: dict[str, str]) -> Answer:
        connection = http.client.HTTPConnection(live.HOST, self.port, timeout=PATIENCE)
        try:
            connection.request(method, self.path, body, headers)
            response = connection.getresponse()
            received = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, received, response.read())
        finally:
            connection.close()
