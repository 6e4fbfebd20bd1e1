"""Knows what is asked of a server, byte for byte, and how a right answer reads."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MODERN: Final = "2026-07-28"
LEGACY: Final = "2025-11-25"
_PREFIX: Final = "io.modelcontextprotocol/"
_META: Final = {
    f"{_PREFIX}protocolVersion": MODERN,
    f"{_PREFIX}clientInfo": {"name": "bench", "version": "1"},
    f"{_PREFIX}clientCapabilities": {},
}
_ID: Final = 10_000_000
"""Eight digits, so that every request has the same length."""
ADDENDS: Final = {"a": 123_456_789, "b": 876_543_210}
ANSWER: Final = b"999999999"
"""Of `add`, and of `progress` too; longer than an id, so that no id can hold it."""
_FAILURES: Final = re.compile(rb'"error"\s*:|"isError"\s*:\s*true')

PROGRESS: Final = b'"notifications/progress"'
TOOL: Final = b'"inputSchema"'


class WrongAnswer(Exception):
    """A server did not answer what it was asked."""


@dataclass(frozen=True)
class Question:
    """One request, which is asked again and again with an id of its own.

    `counts` is what is counted in an answer, `times` how often it must be there.
    """

    method: str = "tools/call"
    tool: str = "add"
    arguments: Mapping[str, Any] = field(default_factory=lambda: dict(ADDENDS), hash=False)
    version: str = MODERN
    session: bool = False
    progress: bool = False
    expects: bytes = ANSWER
    counts: bytes | None = None
    times: int = 1

    def body(self) -> str:
        """The JSON-RPC request, whose id is `_ID`."""
        params: dict[str, Any] = {}
        if self.method == "tools/call":
            params |= {"name": self.tool, "arguments": dict(self.arguments)}
        meta: dict[str, Any] = dict(_META) if self.version == MODERN else {}
        if self.progress:
            meta["progressToken"] = 1
        if meta:
            params["_meta"] = meta
        return message(self.method, params)

    def headers(self) -> dict[str, str]:
        """What the question says in its headers, without who asks it."""
        headers = {"mcp-protocol-version": self.version}
        if self.version == MODERN:
            headers["mcp-method"] = self.method
            if self.method == "tools/call":
                headers["mcp-name"] = self.tool
        return headers


def message(method: str, params: Mapping[str, Any], request_id: int | None = _ID) -> str:
    """One JSON-RPC message; a notification where `request_id` is None."""
    identity = {} if request_id is None else {"id": request_id}
    whole: dict[str, Any] = {"jsonrpc": "2.0", **identity, "method": method, "params": params}
    return json.dumps(whole, separators=(",", ":"))


def initialize() -> str:
    """The first request of a session."""
    params = {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    }
    return message("initialize", params)


@dataclass(frozen=True, slots=True)
class Request:
    """A question as bytes around the id, addressed to one server."""

    before: bytes
    after: bytes
    expects: bytes
    counts: bytes | None
    times: int

    def numbered(self, number: int) -> bytes:
        """The request with the id of its number."""
        return b"%s%d%s" % (self.before, _ID + number, self.after)

    def check(self, number: int, status: bytes, answer: bytes) -> None:
        """Raise WrongAnswer unless `answer` is the one to request `number`."""
        is_right = (
            status == b"200"
            and self.expects in answer
            and b"%d" % (_ID + number) in answer
            and not _FAILURES.search(answer)
            and (self.counts is None or answer.count(self.counts) == self.times)
        )
        if not is_right:
            raise WrongAnswer(f"{status.decode()} {answer[:600].decode(errors='replace')}")


def http(port: int, path: str, headers: Mapping[str, str], body: str) -> bytes:
    """A POST request as bytes."""
    lines = {
        "host": f"127.0.0.1:{port}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        **headers,
        "content-length": str(len(body)),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n{body}".encode()


def request(question: Question, port: int, path: str, headers: Mapping[str, str]) -> Request:
    """The question as it is sent to a server's `path` by whom `headers` name."""
    whole = http(port, path, {**question.headers(), **headers}, question.body())
    head, separator, body = whole.partition(b"\r\n\r\n")
    before, after = body.split(b"%d" % _ID)
    return Request(
        head + separator + before, after, question.expects, question.counts, question.times
    )
