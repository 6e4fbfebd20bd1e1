"""One HTTP request as every door hands it over, and the answers it gets back."""

from collections.abc import AsyncIterable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from django.http import HttpRequest

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request before its body.

    Attributes:
        request: Django's request, which the authentication and permission classes are given.
        headers: lower-case names to values; repeated headers joined with commas.
        transport: which door it came through, for the audit.
        streams: whether the door can send an answer piece by piece.
        again: makes the request once more, for another look at what its caller may do.
    """

    request: HttpRequest
    headers: Mapping[str, str]
    transport: str
    streams: bool
    again: Callable[[], HttpRequest]

    @property
    def method(self) -> str:
        """The HTTP method, upper case."""
        return self.request.method or ""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A whole answer. No body means no content type."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = JSON

    def all_headers(self) -> dict[str, str]:
        """Every header but the length."""
        kind = {"Content-Type": self.content_type} if self.body else {}
        unbuffered = _UNBUFFERED if self.content_type == EVENT_STREAM else {}
        return {**kind, **_PRIVATE, **unbuffered, **self.headers}


@dataclass(frozen=True, slots=True)
class HttpStream:
    """An answer sent as server-sent events. To stop iterating `chunks` tells that the client is
    gone.
    """

    chunks: AsyncIterable[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)

    def all_headers(self) -> dict[str, str]:
        """Every header; the encoding is named so that no middleware compresses the stream."""
        return {"Content-Type": EVENT_STREAM, **_PRIVATE, **_UNBUFFERED, **self.headers}


# Answers depend on the credential and are nobody else's (`2026-07-28 server/utilities/caching`).
_PRIVATE: Final = {
    "Cache-Control": "no-store",
    "Vary": "Authorization, Origin",
    "X-Content-Type-Options": "nosniff",
}
_UNBUFFERED: Final = {
    "Cache-Control": "no-cache, no-store",
    "X-Accel-Buffering": "no",
    "Content-Encoding": "identity",
}
