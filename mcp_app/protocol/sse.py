"""Server-sent events to bytes (WHATWG HTML, section 9.2). Knows nothing of what an event means."""

from typing import Final

COMMENT: Final = b":\n\n"
"""A keep-alive: readers ignore it, proxies see traffic."""


def event(data: bytes, *, event_id: str | None = None) -> bytes:
    """One `message` event. JSON holds no raw line break, so one data line is enough."""
    head = b"" if event_id is None else b"id: " + event_id.encode("ascii") + b"\n"
    return head + b"event: message\ndata: " + data + b"\n\n"


def priming(event_id: str, retry_ms: int) -> bytes:
    """An event that holds nothing but where to resume, and how soon."""
    return f"id: {event_id}\nretry: {retry_ms}\ndata: \n\n".encode("ascii")


def retry(milliseconds: int) -> bytes:
    """How long to wait before coming back."""
    return f"retry: {milliseconds}\n\n".encode("ascii")
