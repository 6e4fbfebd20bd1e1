"""Two eras on one URL: negotiation, versions, mirrored headers, discovery, caching hints."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.permissions import AllowAny, IsAdminUser

from mcp_app import MCPServer
from mcp_app.models import CallEvent, Session
from mcp_app.protocol.envelope import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    LOG_LEVEL_KEY,
    SERVER_KEY,
    VERSION_KEY,
)
from mcp_app.protocol.headers import encode_value
from mcp_app.protocol.versions import VERSIONS
from mcp_app.testing import Answer, MCPClient
from tests.interaction.conftest import LEGACY, MODERN, Counted, MakeClient, MakeToken, ready

Serve = Callable[..., str]
HEADER_MISMATCH = -32020
UNSUPPORTED = -32022


def refused(answer: Answer, code: int, status: int = 400) -> dict[str, Any]:
    """The error of a refused modern request."""
    assert (answer.status, answer.error["code"]) == (status, code), answer
    return answer.error


# --- both eras at once -------------------------------------------------------------------------


def test_the_eras_are_told_apart_request_by_request(make_client: MakeClient) -> None:
    modern, legacy = make_client(MODERN), make_client("2025-11-25")
    opened = legacy.initialize()
    assert opened.result["protocolVersion"] == "2025-11-25"
    for _ in range(2):
        assert "resultType" in modern.request("tools/list").result
        assert "resultType" not in legacy.request("tools/list").result
        discovered = modern.request("server/discover").result
    assert discovered["supportedVersions"] == [version.name for version in VERSIONS]
    assert legacy.session_id
    assert modern.session_id is None


@pytest.mark.parametrize("version", LEGACY)
def test_legacy_requests_need_no_mirroring_headers(mcp: MCPClient) -> None:
    wrong = {"mcp-method": "tools/list", "mcp-name": "staff_only", "mcp-param-region": "x"}
    assert mcp.call("echo", {"text": "hi"}, headers=wrong).text == "hi"
    assert mcp.call("echo", {"text": "hi"}).text == "hi"


def test_a_session_means_nothing_to_a_modern_request(modern: MCPClient) -> None:
    for session_id in ("gone", "", "a b", "é", "x" * 10_000):
        answer = modern.call("echo", {"text": "hi"}, headers={"mcp-session-id": session_id})
        assert answer.text == "hi"
        assert "mcp-session-id" not in answer.headers
    assert not Session.objects.exists()


@pytest.mark.parametrize("only", [MODERN, *LEGACY])
def test_only_the_configured_revisions_are_served(
    make_client: MakeClient, settings: Any, only: str
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "VERSIONS": [only]}
    modern = make_client(MODERN)
    answer = modern.request("server/discover")
    if only != MODERN:
        error = refused(answer, UNSUPPORTED)
        assert error["data"] == {"supported": [only], "requested": MODERN}
        assert make_client(only).initialize().result["protocolVersion"] == only
        return
    assert answer.result["supportedVersions"] == [only]


def test_a_modern_endpoint_tells_older_clients_what_it_serves(
    make_client: MakeClient, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "VERSIONS": [MODERN]}
    client = make_client("2025-11-25")
    opening = client.initialize()
    error = refused(opening, UNSUPPORTED)
    assert error["data"] == {"supported": [MODERN], "requested": "2025-11-25"}
    assert MODERN in error["message"]
    assert "mcp-session-id" not in opening.headers
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert MODERN in refused(client.post(body), HEADER_MISMATCH)["message"]
    named = client.post(body, headers={"mcp-protocol-version": "2025-06-18"})
    assert refused(named, UNSUPPORTED)["data"]["requested"] == "2025-06-18"
    assert "id" not in client.post(b"{").response
    assert client.post([body]).error["code"] == -32600
    assert client.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 400


# --- initialize --------------------------------------------------------------------------------


def handshake(client: MCPClient, params: dict[str, Any], **headers: str) -> Answer:
    """`initialize` with exactly these params."""
    body = {"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": params}
    return client.post(body, headers={k.replace("_", "-"): v for k, v in headers.items()})


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        *((version, version) for version in LEGACY),
        (MODERN, "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("2024-10-07", "2025-11-25"),
        ("DRAFT-2026-v1", "2025-11-25"),
        ("", "2025-11-25"),
    ],
)
def test_a_handshake_agrees_on_what_is_asked_or_on_the_newest(
    make_client: MakeClient, asked: str, agreed: str
) -> None:
    answer = handshake(make_client("2025-11-25"), {"protocolVersion": asked, "capabilities": {}})
    assert (answer.status, answer.response["id"]) == (200, "first")
    assert answer.result["protocolVersion"] == agreed
    assert Session.objects.get().protocol_version == agreed


def test_a_handshake_without_a_version_is_refused(legacy: MCPClient) -> None:
    for wrong in ({}, {"protocolVersion": None}, {"protocolVersion": 20251125}):
        answer = handshake(legacy, {"capabilities": {}, **wrong})
        assert (answer.status, answer.error["code"]) == (200, -32602), wrong
    for wrong in ([], "x", 1, True):
        params = {"protocolVersion": "2025-11-25", "capabilities": wrong}
        assert handshake(legacy, params).error["code"] == -32602, wrong
    assert not Session.objects.exists()


def test_a_handshake_is_negotiated_from_its_body_whatever_its_header(legacy: MCPClient) -> None:
    for header in ("nonsense", "1999-01-01", MODERN, "", "2025-06-18"):
        params = {"protocolVersion": "2025-06-18", "capabilities": {}}
        answer = handshake(legacy, params, mcp_protocol_version=header, mcp_session_id="gone")
        assert answer.result["protocolVersion"] == "2025-06-18", header


def test_a_handshake_tolerates_whatever_a_client_says_of_itself(legacy: MCPClient) -> None:
    for info in (None, [], "x", {"name": 5}, {"name": "x" * 100_000, "version": "\x00"}, {}):
        params = {"protocolVersion": "2025-11-25", "capabilities": None, "clientInfo": info}
        assert handshake(legacy, params).status == 200, info


# --- versions ----------------------------------------------------------------------------------


def test_an_unknown_modern_version_is_told_what_there_is(modern: MCPClient) -> None:
    for asked in ("1900-01-01", "2025-11-25", "2099-01-01", "x", ""):
        answer = modern.request(
            "tools/list", meta={VERSION_KEY: asked}, headers={"mcp-protocol-version": asked}
        )
        error = refused(answer, UNSUPPORTED)
        assert error["data"] == {
            "supported": [version.name for version in VERSIONS],
            "requested": asked,
        }


@pytest.mark.parametrize("version", LEGACY)
def test_a_later_request_may_name_only_a_served_version(
    make_client: MakeClient, version: str
) -> None:
    client = ready(make_client(version))
    for header in ("1999-01-01", "nonsense", "", f"{version}, {version}", "x" * 5000):
        answer = client.request("tools/list", headers={"mcp-protocol-version": header})
        assert answer.status == 400, header
        assert answer.error["code"] == -32600


@pytest.mark.parametrize("version", LEGACY)
def test_without_the_header_the_sessions_version_is_spoken(
    make_client: MakeClient, version: str
) -> None:
    client = ready(make_client(version))
    answer = client.call("whoami", headers={"mcp-protocol-version": None})
    assert f'"version":"{version}"' in answer.text


def test_without_header_and_session_the_version_is_the_first_that_had_http(
    make_client: MakeClient, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "LEGACY_SESSIONS": False}
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "whoami", "arguments": {}},
    }
    client = make_client("2025-11-25")
    assert '"version":"2025-03-26"' in client.post(body).text
    named = client.post(body, headers={"mcp-protocol-version": "2025-06-18"})
    assert '"version":"2025-06-18"' in named.text


def test_the_header_is_required_where_that_first_version_is_not_served(
    make_client: MakeClient, settings: Any
) -> None:
    served = [MODERN, "2025-11-25", "2025-06-18"]
    settings.MCP_APP = {**settings.MCP_APP, "LEGACY_SESSIONS": False, "VERSIONS": served}
    client = make_client("2025-11-25")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = client.post(body)
    assert (answer.status, answer.error["code"]) == (400, -32600)
    assert "2025-06-18" in answer.error["message"]
    assert client.post(body, headers={"mcp-protocol-version": "2025-06-18"}).status == 200
    assert client.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202


def test_a_session_of_a_version_that_is_served_no_more_is_over(
    make_client: MakeClient, settings: Any
) -> None:
    client = ready(make_client("2025-03-26"))
    settings.MCP_APP = {**settings.MCP_APP, "VERSIONS": [MODERN, "2025-11-25"]}
    assert client.request("tools/list").status == 404
    assert client.initialize().result["protocolVersion"] == "2025-11-25"


# --- methods -----------------------------------------------------------------------------------


def test_an_unknown_method_is_a_404_in_the_modern_era_alone(
    make_client: MakeClient, version: str
) -> None:
    client = ready(make_client(version))
    for method in ("foo/bar", "tasks/list", "tools/List", "", "initialize/", "x" * 5000):
        answer = client.request(method)
        assert answer.status == (404 if version == MODERN else 200), method
        assert answer.error == {"code": -32601, "message": "Method not found"}


def test_the_handshakes_methods_are_gone_from_the_modern_era(modern: MCPClient) -> None:
    for method in ("ping", "initialize", "logging/setLevel", "resources/subscribe"):
        refused(modern.request(method, {"protocolVersion": "2025-11-25"}), -32601, 404)
    assert not Session.objects.exists()


def test_legacy_ping_is_an_empty_result(legacy: MCPClient) -> None:
    assert ready(legacy).request("ping").result == {}


# --- headers and body --------------------------------------------------------------------------

ABSENT = None
MISMATCHES: list[dict[str, str | None]] = [
    {"mcp-name": "echo"},
    {"mcp-name": ABSENT},
    {"mcp-name": ""},
    {"mcp-name": "COUNT"},
    {"mcp-name": "count, count"},
    {"mcp-name": "cöunt"},
    {"mcp-name": '"count"'},
    {"mcp-method": ABSENT},
    {"mcp-method": ""},
    {"mcp-method": "TOOLS/CALL"},
    {"mcp-method": "tools/list"},
    {"mcp-method": "tools/call,tools/call"},
    {"mcp-method": "=?base64?dG9vbHMvY2FsbA==?="},
    {"mcp-protocol-version": ABSENT},
    {"mcp-protocol-version": ""},
    {"mcp-protocol-version": "2025-11-25"},
    {"mcp-protocol-version": "1999-01-01"},
    {"mcp-protocol-version": f"{MODERN},{MODERN}"},
]


def test_headers_that_disagree_with_the_body_stop_the_request(
    modern: MCPClient, counted: Counted
) -> None:
    assert counted.name == "count"
    for number, headers in enumerate(MISMATCHES):
        answer = modern.call(counted.name, headers=headers, request_id=f"id {number}")
        refused(answer, HEADER_MISMATCH)
        assert answer.response["id"] == f"id {number}"
        event = CallEvent.objects.order_by("-id").first()
        assert event is not None
        assert (event.outcome, event.tool, event.username) == ("refused", "count", "ada")
    assert counted.runs == 0
    assert CallEvent.objects.count() == len(MISMATCHES)
    assert not Session.objects.exists()


def test_header_names_have_no_case_and_values_no_outer_space(modern: MCPClient) -> None:
    for headers in (
        {"MCP-PROTOCOL-VERSION": MODERN, "MCP-Method": "tools/call", "mCP-nAME": "echo"},
        {"mcp-method": " tools/call ", "mcp-name": "\techo ", "mcp-protocol-version": f" {MODERN}"},
    ):
        assert modern.call("echo", {"text": "hi"}, headers=headers).text == "hi"


def test_a_name_outside_ascii_is_mirrored_in_base64(modern: MCPClient) -> None:
    assert encode_value("日報") == "=?base64?5pel5aCx?="
    assert modern.call("日報", headers={"mcp-name": "=?base64?5pel5aCx?="}).text == "ok"
    # What is plain ASCII may be encoded, too.
    encoded = {"mcp-name": "=?base64?ZWNobw==?="}
    assert modern.call("echo", {"text": "hi"}, headers=encoded).text == "hi"


def test_a_name_that_is_encoded_wrongly_stops_the_request(modern: MCPClient) -> None:
    for header in (
        "=?BASE64?5pel5aCx?=",
        "=?Base64?5pel5aCx?=",
        "=?base64?5pel5aCx",
        "5pel5aCx?=",
        "5pel5aCx",
        "=?base64?5pel5aC?=",
        "=?base64?5pel 5aCx?=",
        "=?base64?!!!!?=",
        "=?base64?5pel5aCx=?=",
        "=?base64?5pel5aCy?=",
        "=?base64?/////w==?=",
        "=?base64??=",
        "=?base64?=",
        "=?utf-8?B?5pel5aCx?=",
        "日報".encode().decode("latin-1"),
        "%E6%97%A5%E5%A0%B1",
    ):
        refused(modern.call("日報", headers={"mcp-name": header}), HEADER_MISMATCH)
    assert set(CallEvent.objects.values_list("outcome", flat=True)) == {"refused"}


# --- _meta -------------------------------------------------------------------------------------


def test_metadata_that_is_missing_or_misshapen_is_a_wrong_parameter(
    modern: MCPClient, counted: Counted
) -> None:
    whole = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}}
    wrong: list[Any] = [
        None,
        [],
        "x",
        {},
        {CAPABILITIES_KEY: {}},
        {VERSION_KEY: MODERN},
        whole | {VERSION_KEY: None},
        whole | {VERSION_KEY: 5},
        whole | {CAPABILITIES_KEY: None},
        whole | {CAPABILITIES_KEY: []},
        whole | {CAPABILITIES_KEY: "x"},
        whole | {LOG_LEVEL_KEY: "loud"},
        whole | {LOG_LEVEL_KEY: 5},
        whole | {LOG_LEVEL_KEY: ["info"]},
        whole | {"progressToken": 1.5},
        whole | {"progressToken": True},
        whole | {"progressToken": {}},
        whole | {"progressToken": "x" * 4097},
    ]
    call = {"name": counted.name, "arguments": {}}
    for meta in wrong:
        body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call | {"_meta": meta}}
        answer = modern.post(body, headers=modern.headers_for("tools/call", call))
        refused(answer, -32602)
        assert answer.response["id"] == 7
    assert counted.runs == 0


def test_what_a_client_says_of_itself_is_optional(modern: MCPClient) -> None:
    for info in (None, [], "x", {}, {"name": 5}, {"name": "n", "version": "v", "icons": [1]}):
        answer = modern.call("echo", {"text": "hi"}, meta={CLIENT_KEY: info})
        assert answer.text == "hi"
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/list",
        "params": {"_meta": {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}, "vendor/key": [1]}},
    }
    assert modern.post(body, headers=modern.headers_for("tools/list")).status == 200


# --- results -----------------------------------------------------------------------------------


def results(client: MCPClient) -> dict[str, dict[str, Any]]:
    """One result of each kind."""
    found = {
        "tools/list": client.request("tools/list").result,
        "tools/call": client.call("add", {"a": 1}).result,
        "a tool's error": client.call("refuse").result,
        "invalid arguments": client.call("add").result,
        "progress": client.call("steps", meta={"progressToken": 1}).result,
    }
    if client.version.name == MODERN:
        return found | {"server/discover": client.request("server/discover").result}
    return found | {"initialize": client.initialize().result, "ping": client.request("ping").result}


def test_every_modern_result_names_its_type_and_its_server(modern: MCPClient) -> None:
    for what, result in results(modern).items():
        assert result["resultType"] == "complete", what
        assert result["_meta"][SERVER_KEY]["name"] == "tests", what
        assert ("ttlMs" in result) == (what in ("tools/list", "server/discover")), what
        assert ("cacheScope" in result) == ("ttlMs" in result), what


@pytest.mark.parametrize("version", LEGACY)
def test_no_legacy_result_has_a_field_of_the_modern_era(
    make_client: MakeClient, version: str
) -> None:
    for what, result in results(make_client(version)).items():
        assert not {"resultType", "_meta", "ttlMs", "cacheScope"} & set(result), what


def test_discovery_tells_what_is_served_and_nothing_of_the_caller(
    make_client: MakeClient, make_token: MakeToken, staff: Any
) -> None:
    ordinary = make_client().request("server/discover").result
    other = make_client(token=make_token(staff, name="other")).request("server/discover").result
    assert ordinary == other
    assert set(ordinary) <= {
        "resultType",
        "supportedVersions",
        "capabilities",
        "instructions",
        "ttlMs",
        "cacheScope",
        "_meta",
    }
    offered = {"tools", "logging", "resources", "prompts", "completions"}
    assert set(ordinary["capabilities"]) == offered
    assert "ada" not in json.dumps(ordinary)


def test_discovery_needs_a_credential_as_any_request_does(make_client: MakeClient) -> None:
    answer = make_client(token="").request("server/discover")
    assert (answer.status, answer.error["code"]) == (401, 401)
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert "supportedVersions" not in answer.body.decode()


def test_a_list_that_depends_on_its_reader_is_private_on_every_page(
    make_client: MakeClient, make_token: MakeToken, staff: Any, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "PAGE_SIZE": 3, "LIST_TTL_MS": 1500}
    for token in (make_token(), make_token(staff)):
        client, cursor, pages = make_client(token=token), {}, 0
        while cursor is not None:
            page = client.request("tools/list", cursor).result
            assert (page["ttlMs"], page["cacheScope"]) == (1500, "private")
            assert type(page["ttlMs"]) is int
            cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
            pages += 1
        assert pages > 2


def test_a_list_that_is_everybodys_may_be_shared(make_token: MakeToken, settings: Any) -> None:
    open_server = MCPServer("open")

    @open_server.tool(permission_classes=[AllowAny], read_only=True)
    def hello() -> str:
        """Say hello."""
        return "hello"

    settings.MCP_APP = {**settings.MCP_APP, "ALLOW_ANONYMOUS": True}
    client = MCPClient(door="asgi", server=open_server)
    assert client.request("tools/list").result["cacheScope"] == "public"
    settings.MCP_APP = {**settings.MCP_APP, "ALLOW_ANONYMOUS": False}
    client.token = make_token()
    assert client.request("tools/list").result["cacheScope"] == "private"


def test_whether_a_list_may_be_shared_is_told_by_what_holds_at_the_next_request(
    settings: Any,
) -> None:
    open_server = MCPServer("open")

    @open_server.tool(read_only=True)
    def hello() -> str:
        """Say hello."""
        return "hello"

    def guarded(**changes: Any) -> None:
        settings.MCP_APP = {**settings.MCP_APP, **changes}

    def scope() -> Any:
        return client.request("tools/list").result["cacheScope"]

    client = MCPClient(door="asgi", server=open_server)
    everybody = ["rest_framework.permissions.AllowAny"]
    guarded(ALLOW_ANONYMOUS=True, DEFAULT_PERMISSION_CLASSES=everybody)
    assert [scope(), scope()] == ["public", "public"]
    guarded(DEFAULT_PERMISSION_CLASSES=["rest_framework.permissions.IsAuthenticated"])
    assert scope() == "private"
    guarded(DEFAULT_PERMISSION_CLASSES=everybody)
    assert scope() == "public"
    open_server.tool(name="staff", permission_classes=[IsAdminUser])(hello)
    assert scope() == "private"
    open_server.remove("staff")
    assert scope() == "public"
    open_server.tool(name="scoped", scopes=["orders"])(hello)
    assert scope() == "private"


# --- the same list from every process ----------------------------------------------------------

_TOLD = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
import django; django.setup()
from mcp_app.protocol.versions import VERSIONS
from tests.interaction.tools import server
for version in VERSIONS:
    for tool in server.tools.values():
        sys.stdout.buffer.write(tool.definition_json(version) + b"\\n")
"""


def test_every_process_lists_the_same_bytes() -> None:
    told = set()
    for seed in ("0", "1", "4711", "random"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _TOLD],
            env=environment,
            capture_output=True,
            check=True,
        )
        told.add(run.stdout)
    assert len(told) == 1
    assert b'"name":"add"' in told.pop()


def test_tools_are_listed_by_name(mcp: MCPClient) -> None:
    names = [tool["name"] for tool in mcp.tools()]
    assert names == sorted(names)
    assert mcp.request("tools/list").result == mcp.request("tools/list").result
