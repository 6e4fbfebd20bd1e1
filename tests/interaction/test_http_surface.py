"""What HTTP alone shows of the endpoint: paths, methods, media types, origins, hosts, caches."""

import json
import time
from typing import Any
from urllib.parse import quote

import pytest
from asgiref.sync import async_to_sync
from channels.routing import URLRouter
from django.core.exceptions import (
    BadRequest,
    DisallowedHost,
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
)
from django.core.handlers.asgi import ASGIHandler
from django.test import override_settings
from django.urls import re_path
from rest_framework.authentication import BaseAuthentication

from mcp_app.models import CallEvent
from mcp_app.routing import urlpatterns
from mcp_app.testing import Answer, MCPClient
from mcp_app.testing.client import _scope
from tests.interaction.conftest import LEGACY, MODERN, Counted, MakeClient, MakeToken, ready
from tests.interaction.tools import server
from tests.interaction.wire import Line

EVIL = "https://evil.example"

each_era = pytest.mark.parametrize("version", [MODERN, LEGACY[0]])
"""Gates come before the message: of the revision they only know the era, by its header."""


def refused_as_json(answer: Answer, status: int) -> dict[str, Any]:
    """The error of an answer that any client can read."""
    assert answer.status == status, answer
    assert answer.headers["content-type"] == "application/json"
    message = json.loads(answer.body)
    assert message["jsonrpc"] == "2.0"
    assert set(message["error"]) <= {"code", "message", "data"}
    error: dict[str, Any] = message["error"]
    return error


# --- both spellings ------------------------------------------------------------------------------


@each_era
@pytest.mark.parametrize("debug", [True, False], ids=["debug", "production"])
@pytest.mark.parametrize("token", [None, ""], ids=["with token", "without"])
def test_both_spellings_of_the_path_are_served_in_place(
    make_client: MakeClient, make_token: MakeToken, version: str, debug: bool, token: str | None
) -> None:
    secret = make_token() if token is None else token
    with override_settings(DEBUG=debug, APPEND_SLASH=True):
        bare, slashed = (make_client(version, secret, path=path) for path in ("/mcp", "/mcp/"))
        answers = [client.request("tools/list") for client in (bare, slashed)]
    assert answers[0].status == answers[1].status == (200 if secret else 401)
    assert answers[0].body == answers[1].body
    challenges = [answer.headers.get("www-authenticate", "") for answer in answers]
    assert challenges[0] == challenges[1]
    assert challenges[0].startswith("Bearer") == (not secret)


OTHER_PATHS = ["/mcp//", "/mcp/tools", "/mcp.json", "/mcp\n", "/x/mcp", "/MCP"]


@pytest.mark.parametrize("path", OTHER_PATHS)
def test_no_other_path_is_the_endpoint(make_token: MakeToken, path: str) -> None:
    assert MCPClient(make_token(), path=quote(path)).request("tools/list").status == 404


@pytest.mark.parametrize("path", ["//mcp", "///mcp/", *OTHER_PATHS])
def test_the_asgi_route_serves_no_other_path_either(make_token: MakeToken, path: str) -> None:
    """Channels' router lets any number of slashes through."""
    client = MCPClient(make_token(), server=server)
    routes = URLRouter([*urlpatterns("mcp", server), re_path(r"", ASGIHandler())])

    async def statuses() -> list[int]:
        lines = []
        for asked in ("/mcp", "/mcp/", path):
            scope = _scope("POST", "/mcp", client.headers_for("tools/list", {})) | {"path": asked}
            lines.append(Line(routes, scope, b""))
            await lines[-1].end()
        return [line.status for line in lines]

    assert async_to_sync(statuses)() == [415, 415, 404]


# --- methods -------------------------------------------------------------------------------------


@each_era
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "TRACE", "BREW"])
def test_every_method_but_post_and_delete_is_refused_at_once(
    make_client: MakeClient, version: str, method: str
) -> None:
    for client in (make_client(version), make_client(version, token="")):
        began = time.monotonic()
        answer = client.send(method, b"", {"accept": "text/event-stream"})
        assert time.monotonic() - began < 1
        assert answer.status == 405
        assert answer.headers["allow"] == "POST, DELETE"
        assert len(answer.body) < 200
        assert "www-authenticate" not in answer.headers


@pytest.mark.parametrize(
    "configured", [{"LEGACY_SESSIONS": False}, {"VERSIONS": [MODERN]}], ids=["stateless", "modern"]
)
def test_delete_is_a_method_only_where_there_are_sessions(
    make_client: MakeClient, settings: Any, configured: dict[str, Any]
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, **configured}
    answer = make_client().send("DELETE", b"", {})
    refused_as_json(answer, 405)
    assert answer.headers["allow"] == "POST"


def test_a_session_is_ended_whatever_the_client_accepts(legacy: MCPClient) -> None:
    for accept in ("text/html", "*/*", "", None):
        legacy.initialize()
        assert legacy.send("DELETE", b"", {"accept": accept, "content-type": None}).status == 204


# --- Accept --------------------------------------------------------------------------------------

BOTH, JSON_ONLY, EVENTS_ONLY = "both", "JSON", "events"
ACCEPTED = {
    "": BOTH,
    "*/*": BOTH,
    "application/json, text/event-stream": BOTH,
    "application/*;q=0.9, text/event-stream": EVENTS_ONLY,
    "APPLICATION/JSON, Text/Event-Stream": BOTH,
    "application/json": JSON_ONLY,
    "application/*": JSON_ONLY,
    "application/json;q=0.001": JSON_ONLY,
    "text/html, application/json;charset=utf-8;q=0.5": JSON_ONLY,
    "text/event-stream;q=0, */*": JSON_ONLY,
    "application/json , text/event-stream ; q=0": JSON_ONLY,
    "text/event-stream": EVENTS_ONLY,
    "text/*": EVENTS_ONLY,
    "application/json;q=0, text/event-stream": EVENTS_ONLY,
    "application/json; Q=0.0, text/event-stream": EVENTS_ONLY,
}


@each_era
def test_an_answer_comes_in_a_type_that_is_accepted(make_client: MakeClient, version: str) -> None:
    client = make_client(version)
    for accept in (None, *ACCEPTED):
        answer = client.call("echo", {"text": "hi"}, headers={"accept": accept})
        assert (answer.status, answer.text) == (200, "hi"), accept
        assert answer.is_stream == (ACCEPTED.get(accept or "") == EVENTS_ONLY), accept


def test_progress_goes_only_to_a_client_that_accepts_events(make_client: MakeClient) -> None:
    silent = make_client().call(
        "steps", headers={"accept": "application/json"}, meta={"progressToken": 1}
    )
    assert (silent.is_stream, silent.text) == (False, "done")


@each_era
def test_nothing_runs_for_a_client_that_accepts_nothing_we_send(
    make_client: MakeClient, version: str
) -> None:
    client = ready(make_client(version))
    for accept in ("text/html", "application/xml", "application/json;q=0", "*/*;q=0", "json", ","):
        refused_as_json(client.call("echo", {"text": "hi"}, headers={"accept": accept}), 406)
    assert not CallEvent.objects.filter(outcome="ok").exists()


@pytest.mark.parametrize("version", LEGACY)
def test_the_session_is_told_to_a_client_that_accepts_events_alone(
    make_client: MakeClient, version: str
) -> None:
    client = make_client(version)
    answer = client.request(
        "initialize", {"protocolVersion": version}, headers={"accept": "text/event-stream"}
    )
    assert answer.is_stream
    client.session_id = answer.headers["mcp-session-id"]
    assert client.call("echo", {"text": "hi"}).text == "hi"


def test_refusals_are_json_even_where_only_events_are_accepted(modern: MCPClient) -> None:
    answer = modern.request("foo/bar", headers={"accept": "text/event-stream"})
    assert refused_as_json(answer, 404)["code"] == -32601


# --- Content-Type --------------------------------------------------------------------------------


@each_era
def test_json_is_json_whatever_its_case_and_parameters(mcp: MCPClient) -> None:
    for kind in (
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8;x=1",
        "Application/JSON",
        " application/json ;",
    ):
        answer = mcp.call("echo", {"text": "é😀"}, headers={"content-type": kind})
        assert answer.text == "é😀", kind


@each_era
def test_what_does_not_call_itself_json_runs_nothing(
    make_client: MakeClient, version: str, counted: Counted
) -> None:
    client = ready(make_client(version))
    for kind in (
        None,
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json-patch+json",
        "application/jsonx",
        "text/json",
        "application/json, text/plain",
        "*/*",
    ):
        refused_as_json(client.call(counted.name, headers={"content-type": kind}), 415)
    assert counted.runs == 0
    assert not CallEvent.objects.filter(outcome="ok").exists()


# --- notifications -------------------------------------------------------------------------------


NOTIFICATIONS: list[dict[str, Any]] = [
    {"method": "notifications/initialized"},
    {"method": "notifications/initialized", "params": {}},
    {"method": "notifications/initialized", "params": None},
    {"method": "notifications/cancelled", "params": {"requestId": 404, "reason": "unknown"}},
    {"method": "notifications/cancelled", "params": {}},
    {"method": "notifications/roots/list_changed"},
    {"method": "notifications/made-up", "params": {"anything": [1]}},
    {"method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
    {"method": ""},
]


@each_era
def test_every_notification_is_accepted_without_a_word(
    make_client: MakeClient, version: str, counted: Counted
) -> None:
    client = ready(make_client(version))
    call = {"method": "tools/call", "params": {"name": counted.name}}
    for message in (*NOTIFICATIONS, call):
        answer = client.post({"jsonrpc": "2.0", **message})
        assert (answer.status, answer.body) == (202, b""), message
        assert "content-type" not in answer.headers
    assert counted.runs == 0
    assert not CallEvent.objects.exists()


@each_era
def test_a_notification_that_cannot_be_accepted_gets_a_status_and_no_id(
    make_client: MakeClient, version: str
) -> None:
    client = ready(make_client(version))
    for params in ([], "x", 5):
        answer = client.post({"jsonrpc": "2.0", "method": "notifications/x", "params": params})
        assert refused_as_json(answer, 400)["code"] == -32600
        assert json.loads(answer.body).get("id") is None


def test_a_notification_needs_a_credential_as_any_message_does(make_client: MakeClient) -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    refused_as_json(make_client(token="").post(message), 401)


# --- every refusal can be read -------------------------------------------------------------------


def refusals(client: MCPClient) -> dict[str, Answer]:
    """One answer for each thing that can be wrong with a request."""
    return {
        "method": client.send("PUT", b"", {}),
        "path of a method": client.request("foo/bar"),
        "not JSON": client.post(b"{"),
        "not a message": client.post(b"[]"),
        "no version": client.request("tools/list", headers={"mcp-protocol-version": "1999-01-01"}),
        "bad params": client.request("tools/call"),
        "unknown tool": client.call("nope"),
        "bad session": client.request("tools/list", headers={"mcp-session-id": "gone"}),
        "Accept": client.request("tools/list", headers={"accept": "image/png"}),
        "Content-Type": client.request("tools/list", headers={"content-type": "text/plain"}),
        "Origin": client.request("tools/list", headers={"origin": EVIL}),
        "credential": client.request("tools/list", headers={"authorization": "Bearer x"}),
        "scheme": client.request("tools/list", headers={"authorization": "Basic eDp5"}),
        "size": client.post(b" " * 2000),
    }


@pytest.mark.parametrize("debug", [True, False], ids=["debug", "production"])
def test_no_refusal_is_a_page_or_empty(
    make_client: MakeClient, version: str, debug: bool, settings: Any
) -> None:
    settings.DEBUG = debug
    settings.MCP_APP = {**settings.MCP_APP, "MAX_BODY_BYTES": 1500}
    client = ready(make_client(version))
    told = refusals(client)
    if version == MODERN:
        assert told.pop("bad session").status == 200
    for what, answer in told.items():
        error = refused_as_json(answer, answer.status)
        assert error["message"], what
        in_band = version != MODERN and error["code"] in (-32601, -32602)
        assert (answer.status == 200) == in_band, what
        assert "id" in json.loads(answer.body) or version == MODERN, what


def test_a_request_that_is_no_request_gets_an_answer_in_the_right_shape(
    make_client: MakeClient, version: str
) -> None:
    answer = make_client(version).post(b"{")
    assert refused_as_json(answer, 400)["code"] == -32700
    assert ("id" in json.loads(answer.body)) == (version != MODERN)


@pytest.mark.parametrize("declared", ["5000", "00005000", "9" * 400])
def test_a_body_is_refused_by_the_length_it_declares(settings: Any, declared: str) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "MAX_BODY_BYTES": 1500}
    # Django's test clients declare the length themselves.
    client = MCPClient(door="asgi", server=server)
    refused_as_json(client.post(b"{}", headers={"content-length": declared}), 413)


@pytest.mark.parametrize(
    ("parameters", "query"),
    [
        ("charset*=nope''x", ""),
        ("charset*=\x00''x", ""),
        # With a charset Django reads the address as soon as it makes a request.
        ("charset=utf-8", "&".join(f"a{n}" for n in range(1001))),
        ("charset=latin-1", "&" * 1001),
    ],
)
def test_a_header_that_django_cannot_read_is_answered_at_our_own_door(
    make_token: MakeToken, settings: Any, parameters: str, query: str
) -> None:
    # At the other doors Django itself fails, before anything of ours is asked.
    kind = f"application/json; {parameters}"
    client = MCPClient(make_token(), door="asgi", path=f"/mcp?{query}", server=server)
    answer = client.call("echo", {"text": "hi"}, headers={"content-type": kind})
    assert refused_as_json(answer, 400)["code"] == -32600

    settings.MCP_APP = {**settings.MCP_APP, "ENABLED": False}
    gone = client.call("echo", {"text": "hi"}, headers={"content-type": kind})
    assert (gone.status, gone.body) == (404, b"")


@each_era
@pytest.mark.parametrize("allowed", [True, False], ids=["query tokens", "none"])
@pytest.mark.parametrize("parameters", [[f"a{n}" for n in range(1001)], ["token=x"] * 1001])
def test_an_address_that_django_does_not_read_is_refused_at_every_door(
    make_client: MakeClient,
    settings: Any,
    counted: Counted,
    version: str,
    allowed: bool,
    parameters: list[str],
) -> None:
    client = ready(make_client(version))
    settings.MCP_APP = {**settings.MCP_APP, "ALLOW_QUERY_TOKEN": allowed}
    client.path += f"?{'&'.join(parameters)}"
    assert refused_as_json(client.call(counted.name), 400)["code"] == -32600
    assert counted.runs == 0
    settings.MCP_APP = {**settings.MCP_APP, "ENABLED": False}
    gone = client.call(counted.name)
    assert (gone.status, gone.body) == (404, b"")


class FindsItBad(BaseAuthentication):
    """A product's own class that says as Django does that a request is no good."""

    error: Any = SuspiciousOperation

    def authenticate(self, request: Any) -> None:
        raise self.error("the reason")


@pytest.mark.parametrize(
    "error", [SuspiciousOperation, TooManyFieldsSent, RequestDataTooBig, DisallowedHost, BadRequest]
)
def test_what_an_authentication_class_finds_bad_is_a_refusal(
    make_client: MakeClient,
    settings: Any,
    counted: Counted,
    error: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(FindsItBad, "error", error)
    classes = [f"{__name__}.FindsItBad"]
    settings.MCP_APP = {**settings.MCP_APP, "AUTHENTICATION_CLASSES": classes}
    answer = make_client().call(counted.name)
    assert refused_as_json(answer, 400)["code"] == -32600
    assert "the reason" not in answer.body.decode()
    assert (counted.runs, CallEvent.objects.get().outcome) == (0, "refused")


# --- Origin and Host -----------------------------------------------------------------------------


@each_era
def test_no_origin_our_own_and_a_listed_one_are_let_in(mcp: MCPClient, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "ALLOWED_ORIGINS": ["https://app.example"]}
    # Django's asynchronous test client names the host by itself.
    host = "testserver" if mcp._door == "async view" else "localhost"
    ours = (f"http://{host}", f"http://{host}:80", "https://app.example", "HTTPS://App.Example")
    for origin in (None, *ours):
        assert mcp.call("echo", {"text": "hi"}, headers={"origin": origin}).status == 200, origin


FOREIGN = (
    EVIL,
    "null",
    "",
    "http://localhost:6274",
    "https://localhost",
    "http://localhost.evil.example",
    "http://localhost@evil.example",
    "https://app.example.evil.example",
    "https://app.example:8443",
    "file://localhost",
    "http://localhost:notaport",
    "http://[::1",
    "chrome-extension://abcdef",
    f"https://app.example, {EVIL}",
    "http://evil.example@localhost",
    "http://localhost:0",
    "http://localhost:",
    "http://localhost/",
    "http://localhost?",
    "http://localhost\t",
)


@each_era
def test_a_foreign_origin_is_refused_before_anything_else(
    make_client: MakeClient, version: str, settings: Any, counted: Counted
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "ALLOWED_ORIGINS": ["https://app.example"]}
    client, nobody = ready(make_client(version)), make_client(version, token="")
    for origin in FOREIGN:
        answer = client.call(counted.name, headers={"origin": origin})
        assert refused_as_json(answer, 403)["code"] == 403
        assert "access-control-allow-origin" not in answer.headers
        refused_as_json(nobody.post(b"{", headers={"origin": origin}), 403)
    assert counted.runs == 0


def test_a_page_on_this_machine_is_let_in_while_developing(modern: MCPClient) -> None:
    with override_settings(DEBUG=True):
        for origin in ("http://localhost:6274", "http://127.0.0.1:1", "http://[::1]:80"):
            assert modern.request("tools/list", headers={"origin": origin}).status == 200
        assert modern.request("tools/list", headers={"origin": EVIL}).status == 403


def is_partner(origin: str) -> bool:
    """Stands for a product's own rule."""
    return origin.endswith(".partner.example")


def test_a_product_may_bring_its_own_rule_for_origins(modern: MCPClient, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "ORIGIN_CHECK": f"{__name__}.is_partner"}
    let_in = modern.request("tools/list", headers={"origin": "https://a.partner.example"})
    assert let_in.status == 200
    assert modern.request("tools/list", headers={"origin": EVIL}).status == 403


@each_era
@pytest.mark.parametrize("door", ["view", "asgi"])  # Django's async client names its own host
def test_a_host_that_is_not_served_is_refused_as_json(
    make_client: MakeClient, version: str, settings: Any
) -> None:
    # CommonMiddleware asks for the host before any view does, and answers with a page.
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "CommonMiddleware" not in name]
    for host in ("evil.example", "localhost.evil.example", "a b", "localhost:x"):
        answer = make_client(version).post(b"{}", headers={"host": host})
        assert refused_as_json(answer, 400)["code"] == 400, host


# --- HTTP's own caches ---------------------------------------------------------------------------


@each_era
def test_no_answer_is_kept_by_a_cache_between(make_client: MakeClient, version: str) -> None:
    client = make_client(version)
    answers = [
        client.request("tools/list"),
        client.call("echo", {"text": "hi"}),
        client.call("steps", meta={"progressToken": 1}),
        client.call("nope"),
        client.send("GET", b"", {}),
        client.post({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        make_client(version, token="").post(b"{}"),
    ]
    for answer in answers:
        assert "no-store" in answer.headers["cache-control"]
        assert "Authorization" in answer.headers["vary"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in answer.headers


@each_era
def test_the_switch_turns_everything_into_a_bare_404(
    make_client: MakeClient, version: str, settings: Any
) -> None:
    client = make_client(version)
    settings.MCP_APP = {**settings.MCP_APP, "ENABLED": False}
    for method in ("GET", "OPTIONS", "POST", "DELETE"):
        answer = client.send(method, b"{}", {})
        assert (answer.status, answer.body) == (404, b"")
        assert "www-authenticate" not in answer.headers
