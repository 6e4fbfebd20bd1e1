"""The test kit: an MCP client that talks to an endpoint in process, through any of its doors.

    mcp = MCPClient(token, version="2025-11-25")
    assert mcp.call("find_orders", {"status": "open"}).structured == {"result": []}

Through the "view" door a call runs in the test's own thread and transaction. The other doors run
tools in worker threads, which see no open transaction: wrap such tests in `inline_workers()`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, Final, Literal

from asgiref.sync import async_to_sync
from django.conf import settings as django_settings
from django.test import AsyncClient, Client
from django.test.utils import override_settings

from mcp_app.catalog.registry import MCPServer, default_server
from mcp_app.protocol import envelope
from mcp_app.protocol import headers as names
from mcp_app.protocol.versions import BY_NAME, VERSIONS, Era
from mcp_app.transports.door import EndpointApplication

Door = Literal["view", "async view", "asgi"]
DOORS: Final[tuple[Door, ...]] = ("view", "async view", "asgi")
"""The Django view as WSGI calls it, the view as ASGI calls it, and the ASGI application."""


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
        return _events(self.body) if self.is_stream else [json.loads(self.body)]

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


class MCPClient:
    """A client of one revision, with one credential, through one door.

    Args:
        token: a bearer token, or "" to send none.
        version: the revision to speak. A legacy client shakes hands before its first request.
        door: one of `DOORS`.
        server: for the "asgi" door; the views answer for the server that `path` is mounted for.
        capabilities: what the client says that it can do.
    """

    def __init__(
        self,
        token: str = "",
        *,
        version: str = VERSIONS[0].name,
        door: Door = "view",
        path: str = "/mcp",
        server: MCPServer = default_server,
        capabilities: Mapping[str, Any] | None = None,
        client_info: Mapping[str, Any] | None = None,
    ) -> None:
        self.version = BY_NAME[version]
        self.path = path
        self.capabilities = dict(capabilities or {})
        self.client_info = dict(client_info or {"name": "mcp_app.testing", "version": "1"})
        self.session_id: str | None = None
        self.token = token
        self._door = door
        self._application = EndpointApplication(server)
        self._ids = count(1)

    # --- what a client does ------------------------------------------------------------------

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        request_id: str | int | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        """Send one request. A header given as None is left out."""
        if self.version.era is Era.LEGACY and self.session_id is None and method != "initialize":
            self.initialize()
        body = {
            "jsonrpc": "2.0",
            "id": next(self._ids) if request_id is None else request_id,
            "method": method,
            "params": self.params(params, meta),
        }
        return self.post(body, headers=self.headers_for(method, params) | dict(headers or {}))

    def call(self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> Answer:
        """Call a tool."""
        return self.request("tools/call", {"name": name, "arguments": arguments or {}}, **options)

    def read(self, uri: str, **options: Any) -> Answer:
        """Read a resource."""
        return self.request("resources/read", {"uri": uri}, **options)

    def prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, **options: Any
    ) -> Answer:
        """Get a prompt."""
        return self.request("prompts/get", {"name": name, "arguments": arguments or {}}, **options)

    def complete(
        self,
        ref: str,
        argument: str,
        value: str = "",
        arguments: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Answer:
        """Complete an argument of the prompt or, where `ref` has a colon, the template `ref`."""
        kind = {"type": "ref/resource", "uri": ref} if ":" in ref else _prompt_ref(ref)
        params: dict[str, Any] = {"ref": kind, "argument": {"name": argument, "value": value}}
        if arguments is not None:
            params["context"] = {"arguments": dict(arguments)}
        return self.request("completion/complete", params, **options)

    def tools(self) -> list[dict[str, Any]]:
        """Every tool that this caller sees, page after page."""
        return self.pages("tools/list", "tools")

    def resources(self) -> list[dict[str, Any]]:
        """Every resource, as `tools`."""
        return self.pages("resources/list", "resources")

    def templates(self) -> list[dict[str, Any]]:
        """Every resource template, as `tools`."""
        return self.pages("resources/templates/list", "resourceTemplates")

    def prompts(self) -> list[dict[str, Any]]:
        """Every prompt, as `tools`."""
        return self.pages("prompts/list", "prompts")

    def pages(self, method: str, member: str) -> list[dict[str, Any]]:
        """What a list method has under `member`, page after page."""
        found: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        while True:
            page = self.request(method, cursor).result
            found += page[member]
            if "nextCursor" not in page:
                return found
            cursor = {"cursor": page["nextCursor"]}

    def initialize(self) -> Answer:
        """Shake hands, and keep the session for later requests."""
        answer = self.request(
            "initialize",
            {
                "protocolVersion": self.version.name,
                "capabilities": self.capabilities,
                "clientInfo": self.client_info,
            },
        )
        self.session_id = answer.headers.get(names.SESSION_ID)
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def end_session(self) -> Answer:
        """DELETE the session; the client goes on naming it."""
        return self.send("DELETE", b"", {})

    def params(
        self, params: Mapping[str, Any] | None, meta: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """`params` with the `_meta` of this revision."""
        own: dict[str, Any] = dict(meta or {})
        if self.version.era is Era.MODERN:
            own = {
                envelope.VERSION_KEY: self.version.name,
                envelope.CLIENT_KEY: self.client_info,
                envelope.CAPABILITIES_KEY: self.capabilities,
                **own,
            }
        return dict(params or {}) | ({"_meta": own} if own else {})

    def headers_for(
        self, method: str, params: Mapping[str, Any] | None = None
    ) -> dict[str, str | None]:
        """The headers that mirror a request."""
        if self.version.era is Era.LEGACY:
            return {}
        headers: dict[str, str | None] = {names.METHOD: method}
        source = names.NAME_SOURCE.get(method)
        value = (params or {}).get(source) if source else None
        if isinstance(value, str):
            headers[names.NAME] = names.encode_value(value)
        return headers

    def post(self, body: Any, *, headers: Mapping[str, str | None] | None = None) -> Answer:
        """POST a message, or bytes as they are."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.send("POST", raw, headers or {})

    def send(self, method: str, body: bytes, headers: Mapping[str, str | None]) -> Answer:
        """Any HTTP request, with this client's credential and session."""
        own: dict[str, str | None] = {
            "host": "localhost",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {self.token}" if self.token else None,
            names.SESSION_ID: self.session_id,
        }
        if self.version.version_header and (self.version.era is Era.MODERN or self.session_id):
            own[names.PROTOCOL_VERSION] = self.version.name
        sent = {
            name.lower(): value
            for name, value in (own | dict(headers)).items()
            if value is not None
        }
        return self._through_door(method, body, sent)

    # --- doors -------------------------------------------------------------------------------

    def _through_door(self, method: str, body: bytes, headers: dict[str, str]) -> Answer:
        if self._door == "view":
            return self._through_view(method, body, headers)
        through = self._through_async_view if self._door == "async view" else self._through_asgi
        return async_to_sync(through)(method, body, headers)

    def _through_view(self, method: str, body: bytes, headers: dict[str, str]) -> Answer:
        # Django names the type of a body only where there is one.
        kind = headers.pop("content-type", "") if body else ""
        response: Any = Client(raise_request_exception=False).generic(
            method, self.path, body, content_type=kind, headers=headers
        )
        content = b"".join(response) if response.streaming else response.content
        return Answer(response.status_code, _lower(response.headers), content)

    async def _through_async_view(
        self, method: str, body: bytes, headers: dict[str, str]
    ) -> Answer:
        # Django names the type of a body only where there is one.
        kind = headers.pop("content-type", "") if body else ""
        # Django's client names a host by itself here, and two would be none.
        headers.pop("host", None)
        client = AsyncClient(raise_request_exception=False)
        response: Any = await client.generic(
            method, self.path, body, content_type=kind, headers=headers
        )
        if response.streaming:
            content = b"".join([chunk async for chunk in _read(response, method)])
        else:
            content = response.content
        return Answer(response.status_code, _lower(response.headers), content)

    async def _through_asgi(self, method: str, body: bytes, headers: dict[str, str]) -> Answer:
        sent: list[dict[str, Any]] = []
        unsent = [{"type": "http.request", "body": body}]

        begun = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if unsent:
                return unsent.pop()
            await begun.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)
            # A stream that stays open is left once it has begun.
            if method == "GET" and message["type"] == "http.response.body":
                begun.set()

        await self._application(_scope(method, self.path, headers), receive, send)
        start, *chunks = sent
        received = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
        return Answer(start["status"], received, b"".join(chunk["body"] for chunk in chunks))


@contextmanager
def inline_workers() -> Iterator[None]:
    """Run tools in the test's own thread and transaction, whatever the door."""
    configured = {**getattr(django_settings, "MCP_APP", {}), "WORKERS": 0}
    with override_settings(MCP_APP=configured):
        yield


async def _read(response: Any, method: str) -> AsyncIterator[bytes]:
    async for chunk in response:
        yield chunk
        if method == "GET":
            return


def _scope(method: str, target: str, headers: Mapping[str, str]) -> dict[str, Any]:
    path, _, query = target.partition("?")
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "root_path": "",
        "query_string": query.encode("ascii"),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
        "client": ("127.0.0.1", 50000),
        "server": ("localhost", 80),
    }


def _prompt_ref(name: str) -> dict[str, str]:
    return {"type": "ref/prompt", "name": name}


def _events(body: bytes) -> list[Any]:
    blocks = body.decode().split("\n\n")
    data = [
        line.removeprefix("data: ")
        for block in blocks
        for line in block.split("\n")
        if line.startswith("data: ")
    ]
    # An event with no data only says where a stream can be resumed.
    return [json.loads(text) for text in data if text]


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
