"""The Django view: reads a request, writes an answer, under WSGI and ASGI alike.

Under ASGI Django must see a coroutine function, or it would put a thread around the whole
request; under WSGI it must not, or it would put an event loop around it. Which of the two applies
shows at the moment Django asks: only ASGI asks on a running loop.
"""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Mapping
from functools import lru_cache
from typing import Any, ClassVar

from asgiref.sync import markcoroutinefunction
from django.db import connections
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.http.request import HttpHeaders

from mcp_app.catalog.registry import MCPServer, default_server
from mcp_app.conf import settings
from mcp_app.protocol.errors import InvalidRequest, LengthRequired, ParseError, ProtocolError
from mcp_app.transports import cors, gates
from mcp_app.transports.endpoint import Endpoint, endpoint_for, turn_away
from mcp_app.transports.incoming import HttpReply, HttpStream, Incoming
from mcp_app.transports.loops import on_event_loop
from mcp_app.work.lanes import release_request_thread


class EndpointView:
    """One endpoint as a view. Bearer callers need no CSRF token, and a session caller is checked
    by DRF's SessionAuthentication; LoginRequiredMiddleware leaves it alone; no transaction of the
    host's is put around it, since the call event must outlive the tool's.
    """

    csrf_exempt: ClassVar = True
    login_required: ClassVar = False

    def __init__(self, server: MCPServer = default_server) -> None:
        self._server = server
        self._non_atomic_requests = set(connections)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        """Django's entry; a coroutine where Django was told that there is one."""
        return self._on_loop(request) if on_event_loop() else self._in_thread(request)

    def _in_thread(self, request: HttpRequest) -> HttpResponseBase:
        endpoint, incoming = self._open(request, streams=False)
        reply = endpoint.gate(incoming)
        if reply is None:
            body = _read(incoming)
            reply = body if isinstance(body, HttpReply) else endpoint.answer(incoming, body)
        return _response(reply, incoming)

    async def _on_loop(self, request: HttpRequest) -> HttpResponseBase:
        endpoint, incoming = self._open(request, streams=True)
        reply = endpoint.gate(incoming)
        if reply is not None:
            return _response(reply, incoming)
        # Django has received the whole body before: reading it does not block.
        body = _read(incoming)
        if isinstance(body, HttpReply):
            return _response(body, incoming)
        answer = await endpoint.converse(incoming, body).answer()
        if isinstance(answer, HttpStream):
            stream = cors.readable(answer, incoming)
            chunks = _without_thread(stream.chunks)
            return StreamingHttpResponse(chunks, headers=stream.all_headers())
        return _response(answer, incoming)

    def refuse(self, request: HttpRequest) -> HttpResponse:
        """Answer a request that the host has refused already: a gate's words, or that it is bad."""
        endpoint, incoming = self._open(request, streams=on_event_loop())
        reply = endpoint.gate(incoming)
        unreadable = InvalidRequest("The request could not be read.")
        return _response(reply or turn_away(incoming, unreadable), incoming)

    def _open(self, request: HttpRequest, *, streams: bool) -> tuple[Endpoint, Incoming]:
        incoming = Incoming(
            request.method or "",
            headers_of(request.META),
            remote=request.META.get("REMOTE_ADDR") or None,
            transport="http",
            streams=streams,
            again=lambda: request,
            has_query=bool(request.META.get("QUERY_STRING")),
            request=request,
        )
        return endpoint_for(self._server), incoming


class _Mark:
    """An attribute that is there on a running event loop alone."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __get__(self, view: object, owner: type) -> Any:
        if on_event_loop():
            return self._value
        raise AttributeError("The view is no coroutine function here.")


# Of the class: Django asks a view for many attributes, and a `__getattr__` would hear of each.
for _name, _value in vars(markcoroutinefunction(lambda: None)).items():
    setattr(EndpointView, _name, _Mark(_value))


def headers_of(meta: Mapping[str, Any]) -> dict[str, str]:
    """What `request.headers` holds, by lower-case names, in a fraction of its steps."""
    return {name: value for key, value in meta.items() if (name := _header_name(key))}


@lru_cache(maxsize=256)
def _header_name(key: str) -> str:
    """The header that a key of `META` stands for; empty where it stands for none."""
    if key.startswith("HTTP_"):
        key = key[len("HTTP_") :]
    elif key not in HttpHeaders.UNPREFIXED_HEADERS:
        return ""
    return key.replace("_", "-").lower()


def _read(incoming: Incoming) -> bytes | HttpReply:
    """The body, up to the app's own limit and not Django's, whose error would be a page."""
    limit = settings.MAX_BODY_BYTES
    request: Any = incoming.request
    try:
        body: bytes = (
            request._body if hasattr(request, "_body") else _source(request).read(limit + 1)
        )
    except ProtocolError as error:
        return turn_away(incoming, error)
    except Exception:
        # Servers that read pieces for us (gunicorn) have errors of their own for bad ones.
        return turn_away(incoming, ParseError("The body could not be read."))
    if len(body) > limit:
        return turn_away(incoming, gates.too_large())
    return body


async def _without_thread(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The chunks, once the thread that the host's middleware ran in has been let go."""
    release_request_thread()
    iterator = aiter(chunks)
    try:
        async for chunk in iterator:
            yield chunk
    finally:
        await iterator.aclose()  # type: ignore[attr-defined]


def _source(request: Any) -> Any:
    """What to read the body from: Django takes one without a length under WSGI for empty.

    Raises:
        LengthRequired: nobody would say where such a body ends.
    """
    chunked = "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH")
    if not chunked or "wsgi.input" not in request.META:
        return request
    if request.META.get("wsgi.input_terminated"):
        return request.META["wsgi.input"]
    raise LengthRequired("This server needs a Content-Length.")


def _response(reply: HttpReply, incoming: Incoming) -> HttpResponse:
    reply = cors.readable(reply, incoming)
    response = HttpResponse(reply.body, status=reply.status, headers=reply.all_headers())
    if not reply.body:
        del response.headers["Content-Type"]
    return response
