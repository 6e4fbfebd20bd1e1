"""The host's side: its handlers are called as a server calls them, with every check switched on."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from mcp_app.auth.tokens import issue
from mcp_app.testing import Answer, MCPClient, inline_workers
from tests.interaction.tools import server

Post = Callable[..., Answer]


@pytest.fixture(autouse=True)
def host(settings: Any, db: None) -> Any:
    """A host project with the tests' server at /mcp."""
    settings.ROOT_URLCONF = "tests.hosts.urls"
    settings.LOGIN_URL = "/accounts/login/"
    with inline_workers():
        yield settings


@pytest.fixture
def user(django_user_model: Any) -> Any:
    """An ordinary user."""
    return django_user_model.objects.create_user("ada")


@pytest.fixture
def token(user: Any) -> str:
    """A bearer token of the user's."""
    _, secret = issue(user=user, name="laptop")
    return secret.reveal()


@pytest.fixture(params=["wsgi", "asgi"])
def post(request: pytest.FixtureRequest) -> Post:
    """POST a tool call through all of the host's middleware, under WSGI and ASGI."""
    through = _wsgi if request.param == "wsgi" else async_to_sync(_asgi)

    def send(
        token: str = "",
        *,
        tool: str = "add",
        path: str = "/mcp",
        headers: Mapping[str, str] | None = None,
        secure: bool = False,
    ) -> Answer:
        client = MCPClient(token, server=server)
        params = client.params({"name": tool, "arguments": {"a": 1} if tool == "add" else {}})
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        sent = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": client.version.name,
            **client.headers_for("tools/call", params),
            **({"authorization": f"Bearer {token}"} if token else {}),
            **(headers or {}),
        }
        return through(path, json.dumps(body).encode(), sent, secure)

    return send


def _wsgi(path: str, body: bytes, headers: dict[str, str], secure: bool) -> Answer:
    client = Client(enforce_csrf_checks=True)
    client.cookies.load(headers.pop("cookie", ""))
    response = client.post(
        path, body, content_type="application/json", headers=headers, secure=secure
    )
    content = b"".join(response) if response.streaming else response.content
    return _answer(response, content)


async def _asgi(path: str, body: bytes, headers: dict[str, str], secure: bool) -> Answer:
    client = AsyncClient(enforce_csrf_checks=True)
    client.cookies.load(headers.pop("cookie", ""))
    response = await client.post(
        path, body, content_type="application/json", headers=headers, secure=secure
    )
    if response.streaming:
        content = b"".join([chunk async for chunk in response])
    else:
        content = response.content
    return _answer(response, content)


def _answer(response: Any, content: bytes) -> Answer:
    received = {name.lower(): value for name, value in response.headers.items()}
    if response.cookies:
        received["set-cookie"] = str(response.cookies)
    return Answer(response.status_code, received, content)
