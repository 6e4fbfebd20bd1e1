"""What is pasted into clients: well formed, with address and secret, in no file of a project."""

import json
import shlex
import tomllib
from typing import Any

import pytest
from django.urls import path

from mcp_app.auth.snippets import Snippet, endpoint_url, snippets
from mcp_app.protocol.headers import encode_value

URL = "https://shop.example/api/mcp"
SECRET = "mcp_" + "a" * 12 + "_" + "b" * 39
CLIENTS = [
    "Claude Code",
    "Claude Desktop",
    "Cursor",
    "VS Code",
    "Codex",
    "Gemini CLI",
    "MCP Inspector",
    "Python SDK",
    "TypeScript SDK",
    "curl",
]


def by_client(url: str = URL, tool: str = "") -> dict[str, Snippet]:
    return {snippet.client: snippet for snippet in snippets(url, SECRET, tool)}


def test_each_client_has_one_with_the_address_and_the_secret() -> None:
    found = by_client()
    assert list(found) == CLIENTS
    for snippet in found.values():
        assert URL in snippet.text
        assert f"Bearer {SECRET}" in snippet.text


def test_none_shows_its_secret_where_values_are_printed() -> None:
    assert SECRET not in repr(snippets(URL, SECRET))


@pytest.mark.parametrize(
    ("client", "key", "server"),
    [
        ("Cursor", "mcpServers", {"url": URL}),
        ("VS Code", "servers", {"type": "http", "url": URL}),
        ("Gemini CLI", "mcpServers", {"httpUrl": URL}),
    ],
)
def test_a_settings_file_is_json_with_the_header(
    client: str, key: str, server: dict[str, str]
) -> None:
    headers = {"Authorization": f"Bearer {SECRET}"}
    text = json.loads(by_client()[client].text)
    assert text == {key: {"quiz-backoffice": {**server, "headers": headers}}}


@pytest.mark.parametrize(("url", "plain"), [(URL, False), ("http://127.0.0.1:8000/mcp", True)])
def test_claude_desktop_goes_through_a_bridge_without_spaces_in_arguments(
    url: str, plain: bool
) -> None:
    server = json.loads(by_client(url)["Claude Desktop"].text)["mcpServers"]["quiz-backoffice"]
    assert server["command"] == "npx"
    assert server["args"][:3] == ["-y", "mcp-remote", url]
    assert not any(" " in argument for argument in server["args"])
    assert server["env"] == {"AUTHORIZATION": f"Bearer {SECRET}"}
    assert ("--allow-http" in server["args"]) is plain


def test_codex_reads_toml() -> None:
    server = tomllib.loads(by_client()["Codex"].text)["mcp_servers"]["quiz-backoffice"]
    assert server == {"url": URL, "http_headers": {"Authorization": f"Bearer {SECRET}"}}


def test_a_command_is_one_for_a_shell_whatever_the_address_has() -> None:
    url = "http://[::1]:8000/o'brien/$(id)/mcp"
    for client in ("Claude Code", "MCP Inspector", "curl"):
        words = shlex.split(by_client(url)[client].text)
        assert url in words
        assert f"Authorization: Bearer {SECRET}" in words


def test_a_name_that_clients_would_refuse_is_mended(settings: Any) -> None:
    for name, mended in (("My shop, new", "My-shop-new"), ("Läden", "L-den"), ("店", "mcp")):
        settings.MCP_APP = settings.MCP_APP | {"SERVER_NAME": name}
        assert list(json.loads(by_client()["Cursor"].text)["mcpServers"]) == [mended]


def test_curl_asks_for_what_the_served_revisions_answer_at_once(settings: Any) -> None:
    body = json.loads(shlex.split(by_client()["curl"].text)[-1])
    assert body["method"] == "tools/list"
    settings.MCP_APP = settings.MCP_APP | {"VERSIONS": ["2025-06-18", "2025-03-26"]}
    body = json.loads(shlex.split(by_client()["curl"].text)[-1])
    assert (body["method"], body["params"]["protocolVersion"]) == ("initialize", "2025-06-18")


def test_where_a_tool_may_be_called_at_once_curl_calls_it_with_the_headers_that_say_so() -> None:
    words = shlex.split(by_client(tool="räume/list")["curl: tools/call"].text)
    body = json.loads(words[-1])
    assert (body["method"], body["params"]["name"]) == ("tools/call", "räume/list")
    assert body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert f"Authorization: Bearer {SECRET}" in words
    assert "Mcp-Method: tools/call" in words
    assert f"Mcp-Name: {encode_value('räume/list')}" in words


def test_where_a_call_needs_a_handshake_curl_offers_none(settings: Any) -> None:
    settings.MCP_APP = settings.MCP_APP | {"VERSIONS": ["2025-06-18"]}
    assert list(by_client(tool="list_rooms")) == CLIENTS


def test_no_secret_goes_into_a_file_of_a_project() -> None:
    for snippet in by_client().values():
        assert not snippet.place.startswith(".")


def test_the_endpoint_is_where_the_one_who_asks_reaches_it(rf: Any, settings: Any) -> None:
    assert endpoint_url(rf.get("/admin/", headers={"host": "localhost:81"})) == (
        "http://localhost:81/mcp"
    )
    settings.ALLOWED_HOSTS = ["shop.example"]
    settings.USE_X_FORWARDED_HOST = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    behind = {"x-forwarded-host": "shop.example", "x-forwarded-proto": "https"}
    request = rf.get("/admin/", headers={"host": "10.0.0.1", **behind})
    assert endpoint_url(request) == "https://shop.example/mcp"


def test_what_a_proxy_says_counts_only_where_django_was_told_to_listen(rf: Any) -> None:
    said = {"x-forwarded-host": "evil.example", "x-forwarded-proto": "https"}
    request = rf.get("/admin/", headers={"host": "localhost", **said})
    assert endpoint_url(request) == "http://localhost/mcp"


def test_where_the_endpoint_is_not_mounted_there_is_no_address(rf: Any, settings: Any) -> None:
    settings.ROOT_URLCONF = type("urls", (), {"urlpatterns": [path("", lambda request: None)]})
    assert endpoint_url(rf.get("/")) is None
