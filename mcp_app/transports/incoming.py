"""One HTTP request as every door hands it over, and the answers it gets back."""

from collections.abc import AsyncIterable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from django.http import HttpRequest

from mcp_app.address import address_behind
from mcp_app.auth.presented import Presented, presented_by
from mcp_app.transports.sessionless import sessionless

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"


class Incoming:
    """A request before its body.

    Args:
        method: the HTTP method, upper case.
        headers: lower-case names to values; repeated headers joined with commas.
        remote: the address of the server's peer, which may be a proxy; None where it has none.
        transport: which door it came through, for the audit.
        streams: whether the door can send an answer piece by piece.
        again: makes Django's request, or makes it once more.
        has_query: whether its address has a query string.
        request: Django's, where there is one already.
    """

    __slots__ = (
        *("_again", "_body", "_request", "has_query", "headers", "method", "presented"),
        *("remote", "streams", "transport"),
    )

    def __init__(
        self,
        method: str,
        headers: Mapping[str, str],
        *,
        remote: str | None,
        transport: str,
        streams: bool,
        again: Callable[[], HttpRequest],
        has_query: bool = False,
        request: HttpRequest | None = None,
    ) -> None:
        self.method, self.headers, self.remote = method, headers, remote
        self.transport, self.streams, self.has_query = transport, streams, has_query
        self.presented: Presented | None = presented_by(headers.get("authorization", ""))
        """What is looked up of its token."""
        self._again = again
        self._request = request
        self._body: bytes | None = None

    @property
    def sender(self) -> int | None:
        """Something that requests with the same `Authorization` share, and says nothing of it."""
        credential = self.headers.get("authorization")
        return hash(credential) if credential else None

    @property
    def request(self) -> HttpRequest:
        """Django's request, the same one for all who ask; few calls need any."""
        if self._request is None:
            self._request = self.again()
        return self._request

    @property
    def again(self) -> Callable[[], HttpRequest]:
        """Makes the request once more, for another look at what its caller may do."""
        return partial(_made, self._again, self._body)

    def leave_session(self) -> None:
        """From here on, let nobody who looks at the request find whose session it has."""
        if self._request is not None:
            self._request = sessionless(self._request)
        if self._request is not None or "cookie" in self.headers:
            again = self._again
            self._again = lambda: sessionless(again())

    @property
    def address(self) -> str | None:
        """The client's address, as `mcp_app.address` tells it."""
        return address_behind(self.remote, self.headers.get("x-forwarded-for", ""))

    def hold(self, body: bytes) -> None:
        """Keep the body that was read, for the host's classes may ask the request for it."""
        self._body = body
        if self._request is not None:
            _give(self._request, body)


def _made(again: Callable[[], HttpRequest], body: bytes | None) -> HttpRequest:
    request = again()
    if body is not None:
        _give(request, body)
    return request


def _give(request: Any, body: bytes) -> None:
    """Put a body that was read where Django and DRF look for one."""
    request._body = body
    request.META["CONTENT_LENGTH"] = str(len(body))


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
