"""What to paste into a client so that it finds this server. It knows no row.

Each text is what the client's own documentation asks for; `tests/interop/test_snippets.py` runs
those that can be run, as they are written. Files with a secret are the person's own, never a
project's: those end up in repositories.
"""

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_variables

from mcp_app.conf import settings
from mcp_app.protocol import envelope
from mcp_app.protocol.headers import encode_value
from mcp_app.protocol.versions import Era, ProtocolVersion, of_era

_ADD: Final = _("Add it to what the file has.")
_CURL: Final = {"name": "curl", "version": "1"}


@dataclass(frozen=True, slots=True)
class Snippet:
    """What one client needs.

    Attributes:
        client: its name.
        place: the file that the text goes into; empty for a terminal.
        text: to be pasted as it is, secret and all.
        hint: a sentence for people, or nothing.
    """

    client: str
    place: str
    text: str = field(repr=False)
    hint: Any = ""


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """Where the server is, what clients call it, and the header that opens it."""

    url: str
    name: str
    authorization: str = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": self.authorization}


@sensitive_variables("secret")
def snippets(url: str, secret: str, tool: str = "") -> list[Snippet]:
    """One for each client that is known here, with an endpoint's absolute URL and a secret's text.

    What no client takes in a name becomes a dash of `MCP_APP["SERVER_NAME"]`. `tool` is one that
    the secret's holder may call without arguments: with it comes a command that calls it, where
    that needs no handshake.
    """
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", settings.SERVER_NAME).strip("-") or "mcp"
    endpoint = _Endpoint(url, name, f"Bearer {secret}")
    calls = [_curl_call(endpoint, tool)] if tool and _modern() else []
    return [*(make(endpoint) for make in _MAKERS), *calls]


def endpoint_url(request: HttpRequest) -> str | None:
    """The endpoint as whoever sent `request` reaches it; None where it is not in the addresses.

    Behind a proxy that is what Django makes of `SECURE_PROXY_SSL_HEADER` and
    `USE_X_FORWARDED_HOST`.
    """
    try:
        return request.build_absolute_uri(reverse("mcp_app:endpoint"))
    except NoReverseMatch:
        return None


def _claude_code(to: _Endpoint) -> Snippet:
    command = (
        f"claude mcp add --transport http --scope user {to.name} {shlex.quote(to.url)}"
        f' --header "Authorization: {to.authorization}"'
    )
    return Snippet("Claude Code", "", command)


def _claude_desktop(to: _Endpoint) -> Snippet:
    """Its connectors know OAuth alone, so a bridge sends the header; spaces of `args` get lost."""
    plain = ["--allow-http"] if to.url.startswith("http:") else []
    arguments = ["-y", "mcp-remote", to.url, "--header", "Authorization:${AUTHORIZATION}", *plain]
    server = {"command": "npx", "args": arguments, "env": {"AUTHORIZATION": to.authorization}}
    hint = _(
        "Settings, Developer, Edit Config opens it. It needs Node, and Claude to be restarted."
    )
    return Snippet("Claude Desktop", "claude_desktop_config.json", _json(to, server), hint)


def _cursor(to: _Endpoint) -> Snippet:
    server = {"url": to.url, "headers": to.headers}
    return Snippet("Cursor", "~/.cursor/mcp.json", _json(to, server), _ADD)


def _vs_code(to: _Endpoint) -> Snippet:
    server = {"type": "http", "url": to.url, "headers": to.headers}
    hint = _("The command “MCP: Open User Configuration” opens it.")
    return Snippet("VS Code", "mcp.json", _json(to, server, "servers"), hint)


def _codex(to: _Endpoint) -> Snippet:
    # A basic string of TOML takes what a JSON string has.
    text = (
        f"[mcp_servers.{to.name}]\n"
        f"url = {json.dumps(to.url)}\n"
        f'http_headers = {{ "Authorization" = {json.dumps(to.authorization)} }}'
    )
    return Snippet("Codex", "~/.codex/config.toml", text, _ADD)


def _gemini(to: _Endpoint) -> Snippet:
    server = {"httpUrl": to.url, "headers": to.headers}
    return Snippet("Gemini CLI", "~/.gemini/settings.json", _json(to, server), _ADD)


def _inspector(to: _Endpoint) -> Snippet:
    command = (
        "npx @modelcontextprotocol/inspector --transport http --protocol-era auto"
        f' --server-url {shlex.quote(to.url)} --header "Authorization: {to.authorization}"'
    )
    return Snippet(
        "MCP Inspector", "", command, _("It needs Node, and opens a page to look around.")
    )


def _python(to: _Endpoint) -> Snippet:
    text = f"""\
# pip install "mcp>=2"
import asyncio

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

URL = {json.dumps(to.url)}
HEADERS = {json.dumps(to.headers)}


async def main() -> None:
    async with (
        httpx2.AsyncClient(headers=HEADERS, timeout=60) as http,
        Client(streamable_http_client(URL, http_client=http)) as client,
    ):
        for tool in (await client.list_tools()).tools:
            print(tool.name)


asyncio.run(main())"""
    return Snippet("Python SDK", "client.py", text)


def _typescript(to: _Endpoint) -> Snippet:
    text = f"""\
// npm install @modelcontextprotocol/client
import {{ Client, StreamableHTTPClientTransport }} from "@modelcontextprotocol/client";

const url = new URL({json.dumps(to.url)});
const headers = {json.dumps(to.headers)};

const client = new Client(
  {{ name: "client", version: "1.0.0" }},
  {{ versionNegotiation: {{ mode: "auto" }} }},
);
await client.connect(new StreamableHTTPClientTransport(url, {{ requestInit: {{ headers }} }}));
for (const tool of (await client.listTools()).tools) console.log(tool.name);
await client.close();"""
    return Snippet("TypeScript SDK", "client.mjs", text)


def _curl(to: _Endpoint) -> Snippet:
    return Snippet("curl", "", _posted(to, *_first_request()))


def _curl_call(to: _Endpoint, tool: str) -> Snippet:
    body, headers = _modern_request("tools/call", {"name": tool, "arguments": {}})
    named = {"Mcp-Name": encode_value(tool)}
    hint = _("It calls a tool, which then stands in the log of calls.")
    return Snippet("curl: tools/call", "", _posted(to, body, headers | named), hint)


def _posted(to: _Endpoint, body: dict[str, Any], headers: dict[str, str]) -> str:
    """The command that sends a request."""
    lines = [
        f"curl -sS {shlex.quote(to.url)}",
        f'-H "Authorization: {to.authorization}"',
        '-H "Content-Type: application/json"',
        '-H "Accept: application/json, text/event-stream"',
        *(f"-H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items()),
        f"-d {shlex.quote(json.dumps(body))}",
    ]
    return " \\\n  ".join(lines)


def _first_request() -> tuple[dict[str, Any], dict[str, str]]:
    """What can be asked at once: the tools, where that needs no handshake; else for a handshake."""
    if _modern():
        return _modern_request("tools/list", {})
    revision = settings.versions[0].name
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": _CURL}
    return _request("initialize", params), {}


def _modern() -> tuple[ProtocolVersion, ...]:
    """The served revisions that need no handshake, the newest first."""
    return of_era(settings.versions, Era.MODERN)


def _modern_request(method: str, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """A request of the newest of them, and the headers that say the same as its body."""
    revision = _modern()[0].name
    meta = {
        envelope.VERSION_KEY: revision,
        envelope.CLIENT_KEY: _CURL,
        envelope.CAPABILITIES_KEY: {},
    }
    headers = {"MCP-Protocol-Version": revision, "Mcp-Method": method}
    return _request(method, {**params, "_meta": meta}), headers


def _request(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def _json(to: _Endpoint, server: dict[str, Any], key: str = "mcpServers") -> str:
    return json.dumps({key: {to.name: server}}, indent=2)


_MAKERS: Final[tuple[Callable[[_Endpoint], Snippet], ...]] = (
    _claude_code,
    _claude_desktop,
    _cursor,
    _vs_code,
    _codex,
    _gemini,
    _inspector,
    _python,
    _typescript,
    _curl,
)
