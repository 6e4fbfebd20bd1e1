"""An MCP client that talks to an endpoint in process, through any of its doors."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
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
from mcp_app.testing.answer import Answer
from mcp_app.testing.people import Answers, Heard, Person
from mcp_app.transports.door import EndpointApplication

Door = Literal["view", "async view", "asgi"]
Through = Callable[[str, bytes, dict[str, str]], Coroutine[Any, Any, Answer]]
DOORS: Final[tuple[Door, ...]] = ("view", "async view", "asgi")
"""The Django view as WSGI calls it, the view as ASGI calls it, and the ASGI application."""


class MCPClient:
    """A client of one revision, with one credential, through one door.

    Args:
        token: a bearer token, or "" to send none.
        version: the revision to speak. A legacy client shakes hands before its first request.
        door: one of `DOORS`.
        server: for the "asgi" door; the views answer for the server that `path` is mounted for.
        capabilities: what the client says that it can do; with `answers`, that its user can be
            asked unless this says otherwise.
        answers: what its user, or its model, answers to each question of a call: `accept(…)`,
            `decline()`, `cancel()` or another result, or a function of the request that asks.
            `asked` then holds the questions. A client of 2026-07-28 calls again with the answers;
            an older one posts each while the call's stream is open, which the "view" door has not.
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
        answers: Answers | None = None,
    ) -> None:
        self.version = BY_NAME[version]
        self.path = path
        able: dict[str, Any] = {} if answers is None else {"elicitation": {}}
        self.capabilities = dict(able if capabilities is None else capabilities)
        self._person = None if answers is None else Person(answers)
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
        """Send one request, and again with the answers to what it asks. A header given as None is
        left out.
        """
        if self.version.era is Era.LEGACY and self.session_id is None and method != "initialize":
            self.initialize()
        answer = self._request(method, params, meta, request_id, headers)
        while self._person is not None and (more := self._person.answered(answer)):
            params = {**(params or {}), **more}
            answer = self._request(method, params, meta, None, headers)
        return answer

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The requests that asked something, as far as `answers` answered them: `method`, `params`.

        Of a confirmation, `asked[0]["params"]["message"]` is what the user was shown.
        """
        return [] if self._person is None else self._person.asked

    def _request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        meta: Mapping[str, Any] | None,
        request_id: str | int | None,
        headers: Mapping[str, str | None] | None,
    ) -> Answer:
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
        return self._through_door(method, body, self._headers(headers))

    def _headers(self, headers: Mapping[str, str | None]) -> dict[str, str]:
        own: dict[str, str | None] = {
            "host": "localhost",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {self.token}" if self.token else None,
            names.SESSION_ID: self.session_id,
        }
        if self.version.version_header and (self.version.era is Era.MODERN or self.session_id):
            own[names.PROTOCOL_VERSION] = self.version.name
        return {
            name.lower(): value
            for name, value in (own | dict(headers)).items()
            if value is not None
        }

    # --- doors -------------------------------------------------------------------------------

    def _through_door(self, method: str, body: bytes, headers: dict[str, str]) -> Answer:
        if self._door == "view":
            return self._through_view(method, body, headers)
        through = self._through_async_view if self._door == "async view" else self._through_asgi
        return async_to_sync(through)(method, body, headers)

    @asynccontextmanager
    async def _listening(self, through: Through, method: str) -> AsyncIterator[Heard]:
        """What is to hear each chunk of a stream; the questions in it are answered meanwhile."""
        posts: set[asyncio.Task[Answer]] = set()

        def answer(message: Mapping[str, Any]) -> None:
            body = json.dumps(message).encode()
            posts.add(asyncio.create_task(through("POST", body, self._headers({}))))

        if self._person is None or method != "POST":
            yield lambda chunk: None
        else:
            yield self._person.ear(answer)
        await asyncio.gather(*posts)

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
        # It sends its own cookies, and two headers of them would be joined to what neither says.
        client.cookies.load(headers.pop("cookie", ""))
        response: Any = await client.generic(
            method, self.path, body, content_type=kind, headers=headers
        )
        content = b"" if response.streaming else response.content
        if response.streaming:
            async with self._listening(self._through_async_view, method) as hear:
                async for chunk in _read(response, method):
                    hear(chunk)
                    content += chunk
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
            hear(message.get("body", b""))
            # A stream that stays open is left once it has begun.
            if method == "GET" and message["type"] == "http.response.body":
                begun.set()

        async with self._listening(self._through_asgi, method) as hear:
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


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
