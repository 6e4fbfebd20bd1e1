"""What came back over HTTP, read as a client would."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What came back over HTTP, read as a client would."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    """Lower-case names."""
    body: bytes

    @property
    def is_stream(self) -> bool:
        """Whether it is server-sent events."""
        return self.headers.get("content-type", "").startswith("text/event-stream")

    @cached_property
    def messages(self) -> list[Any]:
        """Every JSON-RPC message, in order."""
        if not self.body:
            return []
        return events_in(self.body) if self.is_stream else [json.loads(self.body)]

    @property
    def notifications(self) -> list[dict[str, Any]]:
        """The messages before the response."""
        return [message for message in self.messages if "method" in message]

    @property
    def response(self) -> dict[str, Any]:
        """The one JSON-RPC response."""
        (response,) = (message for message in self.messages if "method" not in message)
        assert isinstance(response, dict)
        return response

    @property
    def result(self) -> dict[str, Any]:
        """Its result; an AssertionError shows the error that came instead."""
        assert "result" in self.response, self.response
        result: dict[str, Any] = self.response["result"]
        return result

    @property
    def error(self) -> dict[str, Any]:
        """Its error; an AssertionError shows the result that came instead."""
        assert "error" in self.response, self.response
        error: dict[str, Any] = self.response["error"]
        return error

    @property
    def text(self) -> str:
        """The text blocks of a tool's result."""
        return "\n".join(b["text"] for b in self.result["content"] if b["type"] == "text")

    @property
    def structured(self) -> Any:
        """The structured content of a tool's result."""
        return self.result["structuredContent"]

    @property
    def is_error(self) -> bool:
        """Whether the tool said that it failed."""
        return bool(self.result.get("isError"))


def events_in(body: bytes) -> list[Any]:
    """The messages of a stream of server-sent events."""
    blocks = body.decode().split("\n\n")
    data = [
        line.removeprefix("data: ")
        for block in blocks
        for line in block.split("\n")
        if line.startswith("data: ")
    ]
    # An event with no data only says where a stream can be resumed.
    return [json.loads(text) for text in data if text]
