"""A client of a live server that reads streams as they come; it knows HTTP and no more."""

import http.client
import json
import time
from collections.abc import Callable
from typing import Any, Final

from mcp_app.testing import MCPClient
from tests import live

PATIENCE: Final = 10.0
"""Seconds that a stream or an answer may take."""
LEGACY: Final = "2025-11-25"


class Stream:
    """An answer that is read line by line."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        self.response = connection.getresponse()

    def line(self) -> str:
        """The next line that is not empty; "" at the end. OSError when none comes in time."""
        while raw := self.response.readline():
            if line := raw.decode().strip():
                return line
        return ""

    def event(self) -> Any:
        """The next message, past comments and ids; None at the end."""
        while line := self.line():
            if line.startswith("data: ") and line[6:]:
                return json.loads(line[6:])
        return None

    def close(self) -> None:
        """Hang up."""
        self.response.close()
        self._connection.close()


class Caller:
    """Somebody with a token. A legacy caller's session is opened on first use."""

    def __init__(self, port: int, token: str, version: str = MCPClient().version.name) -> None:
        self._port = port
        self._client = MCPClient(token, version=version, capabilities={"elicitation": {}})
        self.session_id: str | None = None

    def at(self, port: int) -> "Caller":
        """The same caller at another process."""
        other = Caller(port, self._client.token, self._client.version.name)
        other.session_id = self.session_id
        return other

    def open(self, method: str, params: dict[str, Any] | None = None, http: str = "POST") -> Stream:
        """Begin a request; the stream once its head has come."""
        told = self._client.params(params, {"progressToken": "p"})
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": told}
        return self._send(http, message if http == "POST" else None, method, told)

    def post(self, message: dict[str, Any]) -> int:
        """Send a notification or an answer; the status."""
        stream = self._send("POST", message, "", {})
        stream.close()
        return stream.response.status

    def call(self, tool: str) -> dict[str, Any]:
        """Call a tool; its response."""
        stream = self.open("tools/call", {"name": tool, "arguments": {}})
        try:
            return self._response(stream)
        finally:
            stream.close()

    def listen(self) -> Stream:
        """A subscription, up to its acknowledgement."""
        stream = self.open("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        assert stream.event()["method"] == "notifications/subscriptions/acknowledged"
        return stream

    def initialize(self) -> "Caller":
        """Begin a session."""
        told = {"protocolVersion": LEGACY, "capabilities": {"elicitation": {}}}
        info = {"name": "test", "version": "1"}
        stream = self.open("initialize", {**told, "clientInfo": info})
        self.session_id = stream.response.headers["Mcp-Session-Id"]
        stream.response.read()
        stream.close()
        return self

    def get(self) -> Stream:
        """The session's own stream, up to its first comment."""
        stream = self.open("", http="GET")
        assert stream.line().startswith(":")
        return stream

    def _response(self, stream: Stream) -> dict[str, Any]:
        if "json" in stream.response.headers["Content-Type"]:
            answer: dict[str, Any] = json.loads(stream.response.read())
            return answer
        while "id" not in (message := stream.event()) or "method" in message:
            pass
        return dict(message)

    def _send(
        self, http_method: str, message: dict[str, Any] | None, method: str, params: dict[str, Any]
    ) -> Stream:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {self._client.token}",
            "MCP-Protocol-Version": self._client.version.name if method != "initialize" else None,
            "Mcp-Session-Id": self.session_id,
            **(self._client.headers_for(method, params) if message else {}),
        }
        known = {name: value for name, value in headers.items() if value is not None}
        connection = http.client.HTTPConnection(live.HOST, self._port, timeout=PATIENCE)
        body = json.dumps(message) if message is not None else None
        connection.request(http_method, "/mcp", body, known)
        return Stream(connection)


def until(predicate: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """Whether it comes true in time."""
    deadline = time.monotonic() + seconds
    while not predicate():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
