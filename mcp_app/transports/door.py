"""The ASGI door: an application for Channels' router that skips the host's middleware.

It sees a client leave, and an idle stream costs it no thread. It only reads and writes.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from functools import lru_cache, partial
from io import BytesIO
from typing import Any, Final

from django.core.handlers.asgi import ASGIRequest

from mcp_app.catalog.registry import MCPServer, default_server
from mcp_app.conf import settings
from mcp_app.transports import cors, gates
from mcp_app.transports.conversation import Conversation
from mcp_app.transports.endpoint import NOT_FOUND, endpoint_for, turn_away, unreadable
from mcp_app.transports.feeding import feed
from mcp_app.transports.incoming import JSON, HttpReply, HttpStream, Incoming
from mcp_app.transports.live import LiveStream

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


_MOMENT: Final = 0.02
"""Seconds that an answer has before its line is watched."""


class ClientGone(Exception):
    """The client left before its request was whole."""


class EndpointApplication:
    """One endpoint as an ASGI application."""

    def __init__(self, server: MCPServer = default_server) -> None:
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        stream = await self._answered(scope, receive, send)
        if stream is not None:
            # Nothing of the request is kept while it idles but what the stream itself holds.
            del scope
            await feed(stream, receive, send)

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> LiveStream | None:
        """None once the answer was sent, or its stream where that has only begun."""
        if "//" in scope["path"]:
            # Channels' router takes any number of slashes for one; Django's finds nothing there.
            await _send_reply(send, NOT_FOUND)
            return None
        endpoint = endpoint_for(self._server)
        body_file = BytesIO()
        headers = _headers(scope)
        incoming = Incoming(
            scope["method"].upper(),
            headers,
            remote=scope["client"][0] if scope.get("client") else None,
            transport="asgi",
            streams=True,
            again=partial(_request, scope, body_file),
            has_query=bool(scope.get("query_string")),
        )
        if not _is_readable(incoming):
            await _send_reply(send, unreadable(headers))
            return None
        reply = endpoint.gate(incoming)
        if reply is None:
            try:
                reply = await _read(incoming, receive, body_file)
            except ClientGone:
                return None
        if reply is not None:
            await _send_reply(send, cors.readable(reply, incoming))
            return None
        conversation = endpoint.converse(incoming, body_file.getvalue())
        return await _hold(conversation, incoming, receive, send)


def _request(scope: Scope, body_file: BytesIO) -> ASGIRequest:
    body_file.seek(0)
    return ASGIRequest(scope, body_file)


def _is_readable(incoming: Incoming) -> bool:
    """Whether Django can make a request of it: what is plain it can, else it has to try."""
    plain = not incoming.has_query and incoming.headers.get("content-type") == JSON
    try:
        return plain or incoming.request is not None
    except Exception:
        # Whatever the header's own codec raises, and with a charset what the address does, too.
        return False


def _headers(scope: Scope) -> dict[str, str]:
    pairs = [
        (name.decode("latin-1").lower(), value.decode("latin-1"))
        for name, value in scope["headers"]
    ]
    headers = dict(pairs)
    return headers if len(headers) == len(pairs) else _joined(pairs)


def _joined(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """What is there more than once as one value, in order."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


async def _read(incoming: Incoming, receive: Receive, body_file: BytesIO) -> HttpReply | None:
    """Read the body into `body_file`; a refusal as soon as it is larger than allowed."""
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > settings.MAX_BODY_BYTES:
            return turn_away(incoming, gates.too_large())
        body_file.write(chunk)
        if not message.get("more_body", False):
            body_file.seek(0)
            return None


async def _hold(
    conversation: Conversation, incoming: Incoming, receive: Receive, send: Send
) -> LiveStream | None:
    """Answer, and watch the line meanwhile: whoever has left is not answered any more."""
    line = _Line(receive, conversation)
    try:
        stream = await _answer(conversation, incoming, send, line)
        if stream is not None:
            await line.left()
        return stream
    except asyncio.CancelledError:
        if not line.was_cut():
            raise
        return None
    finally:
        line.leave()


class _Line:
    """One client's line, watched in the name of the task that answers on it.

    A watch costs more than the answers that are there before it is worth one, so it begins late.
    """

    def __init__(self, receive: Receive, conversation: Conversation) -> None:
        self._is_cut = False
        self._receive = receive
        self._conversation = conversation
        self._answering = asyncio.current_task()
        self._is_last = False
        self._watching: asyncio.Task[None] | None = None
        loop = asyncio.get_running_loop()
        self._beginning: asyncio.TimerHandle | None = loop.call_later(_MOMENT, self._begin)

    def last(self) -> None:
        """From here on the answer goes out whole; that its client leaves then is no matter."""
        self._is_last = True

    def leave(self) -> None:
        """Watch no longer, and forget the watch: its end, a cancellation, would refer back here."""
        if self._beginning is not None:
            self._beginning.cancel()
            self._beginning = None
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def was_cut(self) -> bool:
        """Whether the answer was broken off for no other reason than that nobody reads it."""
        task = self._answering
        return self._is_cut and task is not None and not task.uncancel()

    async def left(self) -> None:
        """Watch no longer, and be sure that somebody else may."""
        watching = self._watching
        self.leave()
        if watching is not None:
            await asyncio.wait({watching})

    def _begin(self) -> None:
        self._beginning = None
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._cut()

    def _cut(self) -> None:
        if self._is_last or self._answering is None or self._answering.done():
            return
        self._is_cut = True
        self._conversation.hang_up()
        self._answering.cancel()


async def _answer(
    conversation: Conversation, incoming: Incoming, send: Send, line: _Line
) -> LiveStream | None:
    answer = await conversation.answer()
    if isinstance(answer, HttpReply):
        line.last()
        await _send_reply(send, cors.readable(answer, incoming))
        return None
    stream = cors.readable(answer, incoming)
    if isinstance(stream.chunks, LiveStream):
        await _start(send, 200, stream.all_headers())
        return stream.chunks
    await _send_stream(send, stream, line)
    return None


async def _send_reply(send: Send, reply: HttpReply) -> None:
    headers = reply.all_headers()
    if reply.status not in (202, 204):
        headers["Content-Length"] = str(len(reply.body))
    elif reply.status == 202:
        headers["Content-Length"] = "0"
    await _start(send, reply.status, headers)
    await send({"type": "http.response.body", "body": reply.body})


async def _send_stream(send: Send, stream: HttpStream, line: _Line) -> None:
    await _start(send, 200, stream.all_headers())
    chunks = aiter(stream.chunks)
    try:
        async for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    finally:
        await chunks.aclose()  # type: ignore[attr-defined]
    line.last()
    await send({"type": "http.response.body", "body": b""})


async def _start(send: Send, status: int, headers: dict[str, str]) -> None:
    pairs = [(_encoded(name), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})


@lru_cache(maxsize=128)
def _encoded(name: str) -> bytes:
    return name.lower().encode()
