"""JSON-RPC as it arrives: ids, broken JSON, params, batches, names that nothing answers to."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from rest_framework.throttling import BaseThrottle

from mcp_app.auth.tokens import revoke
from mcp_app.models import CallEvent, Token
from mcp_app.testing import Answer, MCPClient
from tests.interaction.conftest import (
    LEGACY,
    MODERN,
    Counted,
    MakeClient,
    MakeToken,
    ready,
)

Serve = Callable[..., str]

each_era = pytest.mark.parametrize("version", [MODERN, LEGACY[0]])


def sent(client: MCPClient, body: bytes, method: str = "tools/list", name: str = "") -> Answer:
    """POST `body` with the headers that mirror a well-formed one."""
    headers = client.headers_for(method, {"name": name} if name else {})
    return client.post(body, headers=headers)


def message(client: MCPClient, request_id: str, method: str = "tools/list") -> bytes:
    """A request whose id is spelt exactly so."""
    params = json.dumps(client.params({}))
    return f'{{"jsonrpc":"2.0","id":{request_id},"method":"{method}","params":{params}}}'.encode()


# --- ids ---------------------------------------------------------------------------------------

IDS = (
    '"1"',
    "1",
    "0",
    '""',
    "-5",
    "9007199254740993",
    "-9223372036854775809",
    "123456789012345678901234567890",
    f'"{"x" * 4096}"',
    '"é😀"',
    '"\\ud83d\\ude00"',
    '"\\ud800"',
    '"\\u0000"',
    '"</script>"',
)
NO_IDS = ("null", "true", "false", "1.5", "1.0", "1e2", "{}", "[]", "[1]")


def test_an_id_comes_back_in_its_own_type_and_digits(make_client: MakeClient, version: str) -> None:
    client = ready(make_client(version))
    for spelt in IDS:
        answer = sent(client, message(client, spelt))
        assert answer.status == 200, spelt
        echoed = json.loads(answer.body)["id"]
        assert echoed == json.loads(spelt)
        assert type(echoed) is type(json.loads(spelt))


def test_a_long_integer_keeps_its_digits_on_the_wire(mcp: MCPClient) -> None:
    client = ready(mcp)
    assert b'"id":9007199254740993,' in sent(client, message(client, "9007199254740993")).body


@pytest.mark.parametrize("number", [-(2**63) - 1, 2**63, int("1" * 60)], ids=["low", "high", "60"])
def test_an_integer_of_any_length_is_an_argument(
    make_client: MakeClient, version: str, number: int
) -> None:
    client = ready(make_client(version))
    (block,) = client.call("add", {"a": number, "b": 1}).result["content"]
    assert json.loads(block["text"]) == {"total": number + 1}


def test_what_is_no_id_is_refused_and_nothing_runs(
    make_client: MakeClient, version: str, counted: Counted
) -> None:
    client = ready(make_client(version))
    params = json.dumps(client.params({"name": counted.name}))
    for spelt in NO_IDS:
        body = f'{{"jsonrpc":"2.0","id":{spelt},"method":"tools/call","params":{params}}}'
        answer = sent(client, body.encode(), "tools/call", counted.name)
        told = json.loads(answer.body)
        assert (answer.status, told["error"]["code"]) == (400, -32600), spelt
        assert told.get("id", "absent") == ("absent" if version == MODERN else None)
    assert counted.runs == 0


# --- JSON ----------------------------------------------------------------------------------------

UNPARSABLE = (
    b"",
    b" ",
    b"{",
    b'{"a":NaN}',
    b'{"a":Infinity}',
    b'{"a":-Infinity}',
    b'{"a":1e999}',
    b'{"a":01}',
    b"{'a':1}",
    b'{"a":1,}',
    b'{"a":1}{"b":2}',
    b'"\xff"',
    b'{"a":"\xc3\x28"}',
    b"\x00",
    b'"\n"',
    "{}".encode("utf-16"),
    b"[" * 100_000,
    b"[" * 100_000 + b"]" * 100_000,
    b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    b'{"id":' + b"9" * 5000 + b"}",
)
NO_MESSAGES = (
    b"123",
    b'"x"',
    b"null",
    b"true",
    b"{}",
    b'{"jsonrpc":"2.0"}',
    b'{"jsonrpc":"2.0","id":1}',
    b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    b'{"jsonrpc":2.0,"id":1,"method":"ping"}',
    b'{"id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":5}',
    b'{"jsonrpc":"2.0","id":1,"method":null}',
    b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}',
)


@pytest.mark.parametrize("in_session", [True, False], ids=["session", "no session"])
def test_what_cannot_be_parsed_is_a_parse_error(
    make_client: MakeClient, version: str, in_session: bool
) -> None:
    client = make_client(version)
    for body in UNPARSABLE:
        answer = sent(ready(client) if in_session else client, body)
        assert (answer.status, answer.error["code"]) == (400, -32700), body[:40]
        assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("in_session", [True, False], ids=["session", "no session"])
def test_json_that_is_no_message_is_an_invalid_request(
    make_client: MakeClient, version: str, in_session: bool
) -> None:
    client = make_client(version)
    for body in NO_MESSAGES:
        answer = sent(ready(client) if in_session else client, body)
        assert (answer.status, answer.error["code"]) == (400, -32600), body
        known = 1 if b'"id":1' in body else None
        assert answer.response.get("id") == known, body


def test_a_byte_order_mark_does_no_harm(mcp: MCPClient) -> None:
    client = ready(mcp)
    assert sent(client, b"\xef\xbb\xbf" + message(client, "1")).status == 200


@each_era
def test_a_member_said_twice_counts_once_and_consistently(mcp: MCPClient) -> None:
    """The last one wins: the headers, the call and the event all see the same."""
    params = json.dumps(mcp.params({"name": "echo", "arguments": {"text": "hi"}}))
    doubled = params.replace('{"name"', '{"name":"staff_only","name"', 1)
    body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{doubled}}}'
    assert sent(ready(mcp), body.encode(), "tools/call", "echo").text == "hi"
    assert CallEvent.objects.get().tool == "echo"


def test_arguments_nested_beyond_reason_are_told_to_the_model(
    make_client: MakeClient, version: str
) -> None:
    client = ready(make_client(version))
    for depth in (200, 900):
        nested = "[" * depth + "]" * depth
        call = client.params({"name": "echo", "arguments": {"text": "PLACE"}})
        params = json.dumps(call).replace('"PLACE"', nested)
        body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'
        answer = sent(client, body.encode(), "tools/call", "echo")
        assert (answer.status, answer.is_error) == (200, True)
    assert set(CallEvent.objects.values_list("outcome", flat=True)) == {"invalid"}


# --- arguments and params ------------------------------------------------------------------------


@pytest.mark.parametrize("version", [MODERN, *LEGACY])
def test_absent_null_and_empty_arguments_are_the_same(
    make_client: MakeClient, version: str, counted: Counted
) -> None:
    client = ready(make_client(version))
    for call in ({}, {"arguments": None}, {"arguments": {}}):
        answer = client.request("tools/call", {"name": counted.name, **call})
        assert (answer.status, answer.is_error) == (200, False), call
    assert counted.runs == 3


def test_arguments_that_are_no_object_are_the_clients_mistake(
    make_client: MakeClient, version: str, counted: Counted
) -> None:
    client = ready(make_client(version))
    for value in ([], "{}", 5, True, "x"):
        answer = client.request("tools/call", {"name": counted.name, "arguments": value})
        assert answer.status == (400 if version == MODERN else 200), value
        assert answer.error["code"] == -32602, value
    assert counted.runs == 0
    assert not client.request("tools/call", {"name": counted.name}).is_error


@pytest.mark.parametrize("version", LEGACY)
def test_legacy_params_may_be_absent_null_or_empty(make_client: MakeClient, version: str) -> None:
    client = ready(make_client(version))
    for params in ({}, {"params": {}}, {"params": None}):
        answer = client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list", **params})
        assert answer.result["tools"], params
    for wrong in ([], "x", 5, False):
        answer = client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": wrong})
        assert (answer.status, answer.error["code"]) == (200, -32602), wrong
        assert answer.response["id"] == 1


def test_modern_params_cannot_be_absent(modern: MCPClient) -> None:
    for params in ({}, {"params": {}}, {"params": None}, {"params": []}, {"params": "x"}):
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", **params}
        answer = modern.post(body, headers=modern.headers_for("tools/list"))
        assert (answer.status, answer.error["code"]) == (400, -32602), params
        assert answer.response["id"] == 1


# --- batches -------------------------------------------------------------------------------------


def calls(*named: str) -> list[dict[str, Any]]:
    """One call for each tool, with ids from 1."""
    return [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name}}
        for number, name in enumerate(named, 1)
    ]


def test_only_one_revision_takes_a_batch(
    make_client: MakeClient, version: str, counted: Counted
) -> None:
    client = ready(make_client(version))
    if version == "2025-03-26":
        assert client.post(calls(counted.name)).status == 200
        return
    batches: list[list[Any]] = [calls(counted.name, counted.name), calls(counted.name), [1], []]
    for batch in batches:
        answer = client.post(batch)
        assert (answer.status, answer.error["code"]) == (400, -32600), batch
        assert "one message at a time" in answer.error["message"] or not batch
    assert counted.runs == 0


@pytest.fixture
def older(make_client: MakeClient) -> MCPClient:
    """A client of the revision that has batches, after its handshake."""
    return ready(make_client("2025-03-26"))


def answers(answer: Answer) -> list[dict[str, Any]]:
    """The responses of a batch."""
    (responses,) = answer.messages
    assert isinstance(responses, list)
    return responses


def test_each_item_of_a_batch_is_let_in_by_itself(older: MCPClient, counted: Counted) -> None:
    batch = calls(counted.name, "staff_only", "scoped", "nope", "add")
    answer = older.post(batch)
    assert answer.status == 200
    first, hidden, scoped, unknown, invalid = answers(answer)
    assert [r["id"] for r in (first, hidden, scoped, unknown, invalid)] == [1, 2, 3, 4, 5]
    assert "result" in first
    assert (hidden["error"]["code"], unknown["error"]["code"]) == (-32602, -32602)
    assert scoped["error"]["code"] == 403
    assert invalid["result"]["isError"]
    recorded = dict(CallEvent.objects.values_list("tool", "outcome"))
    assert recorded == {
        counted.name: "ok",
        "staff_only": "denied",
        "scoped": "denied",
        "nope": "unknown",
        "add": "invalid",
    }
    assert set(CallEvent.objects.values_list("username", flat=True)) == {"ada"}


class Twice(BaseThrottle):
    """Admits two calls."""

    calls = 0

    def allow_request(self, request: Any, view: Any) -> bool:
        type(self).calls += 1
        return self.calls <= 2

    def wait(self) -> float:
        return 30.0


def revoke_it() -> None:
    revoke(Token.objects.get())


def deactivate() -> None:
    get_user_model().objects.update(is_active=False)


def demote() -> None:
    get_user_model().objects.update(is_staff=False)


@pytest.mark.parametrize(
    ("end", "code"), [(revoke_it, 401), (deactivate, 401), (demote, -32602), (None, None)]
)
def test_no_item_of_a_batch_begins_once_its_sender_is_let_in_no_more(
    older: MCPClient, serve: Serve, counted: Counted, user: Any, end: Any, code: int | None
) -> None:
    get_user_model().objects.update(is_staff=True)

    def take_a_while() -> str:
        if end is not None:
            end()
        time.sleep(0.1)
        return "done"

    slow = serve(take_a_while)
    first, second, third = answers(older.post(calls(slow, "staff_only", counted.name)))
    assert first["result"]["content"][0]["text"] == "done"
    assert second.get("error", {}).get("code") == code
    assert ("error" in third) is (code == 401)
    assert counted.runs == (code != 401)
    if code == 401:
        assert second["error"]["message"] == "Invalid or expired token."
        rows = CallEvent.objects.order_by("id").values_list("tool", "outcome", "username")
        refused = [
            ("staff_only", "unauthenticated", "ada"),
            (counted.name, "unauthenticated", "ada"),
        ]
        assert list(rows)[1:] == refused


def test_each_item_of_a_batch_counts_against_the_rate(older: MCPClient, serve: Serve) -> None:
    def limited() -> str:
        return "ok"

    Twice.calls = 0
    name = serve(limited, throttle_classes=[Twice])
    answered = answers(older.post(calls(name, name, name)))
    assert ["result" in response for response in answered] == [True, True, False]
    assert answered[2]["error"]["code"] == 429
    outcomes = CallEvent.objects.order_by("id").values_list("outcome", flat=True)
    assert list(outcomes) == ["ok", "ok", "throttled"]


def test_a_batch_answers_what_asks_and_nothing_else(older: MCPClient, counted: Counted) -> None:
    silent = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    (only,) = answers(older.post([silent, *calls(counted.name), silent]))
    assert only["id"] == 1
    nothing = older.post([silent, silent])
    assert (nothing.status, nothing.body) == (202, b"")
    (malformed, good) = answers(older.post([1, *calls(counted.name)]))
    assert (malformed["error"]["code"], malformed["id"]) == (-32600, None)
    assert "result" in good


def test_a_batch_is_bounded_and_holds_no_handshake(
    older: MCPClient, counted: Counted, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "BATCH_LIMIT": 3}
    handshake = {
        "jsonrpc": "2.0",
        "id": 9,
        "method": "initialize",
        "params": {"protocolVersion": "2025-03-26"},
    }
    for batch in (calls(*[counted.name] * 4), [*calls(counted.name), handshake], []):
        answer = older.post(batch)
        assert (answer.status, answer.error["code"]) == (400, -32600)
    assert counted.runs == 0


def test_a_batch_without_its_session_runs_nothing(older: MCPClient, counted: Counted) -> None:
    assert older.post(calls(counted.name), headers={"mcp-session-id": None}).status == 400
    assert older.post(calls(counted.name), headers={"mcp-session-id": "gone"}).status == 404
    assert counted.runs == 0


# --- responses -----------------------------------------------------------------------------------


def test_a_response_from_the_client_is_taken_by_the_era_that_has_it(
    make_client: MakeClient, version: str
) -> None:
    client = ready(make_client(version))
    answer = client.post({"jsonrpc": "2.0", "id": 5, "result": {}})
    if version != MODERN:
        assert (answer.status, answer.body) == (202, b"")
        return
    assert (answer.status, answer.error["code"]) == (400, -32600)


# --- names ---------------------------------------------------------------------------------------


def test_an_unknown_name_is_an_error_and_tells_of_no_other(
    make_client: MakeClient, version: str
) -> None:
    client = ready(make_client(version))
    for name in ("nope", "", "staff_onl", "STAFF_ONLY", " echo", "echo ", "é", "x" * 10_000):
        answer = client.call(name)
        assert answer.status == (400 if version == MODERN else 200), name
        assert answer.error["code"] == -32602, name
        assert "staff_only" not in json.dumps(answer.error)
        assert len(answer.body) < 1000


def test_a_name_of_the_wrong_type_is_a_wrong_parameter(
    make_client: MakeClient, version: str
) -> None:
    client = ready(make_client(version))
    for params in ({"name": 5}, {"name": None}, {"name": ["echo"]}, {"name": {}}, {}):
        answer = client.request("tools/call", params)
        assert answer.status == (400 if version == MODERN else 200), params
        assert answer.error["code"] == -32602, params


def test_what_is_not_offered_is_an_unknown_method(make_client: MakeClient, version: str) -> None:
    client = ready(make_client(version))
    for method, params in (
        ("tasks/get", {"taskId": "nope"}),
        ("tasks/list", {}),
        ("roots/list", {}),
        ("sampling/createMessage", {}),
    ):
        answer = client.request(method, params)
        assert answer.status == (404 if version == MODERN else 200), method
        assert answer.error["code"] == -32601, method


@each_era
def test_a_second_token_is_not_needed_to_see_that_a_hidden_tool_is_hidden(
    make_client: MakeClient, make_token: MakeToken, staff: Any, version: str
) -> None:
    ordinary, allowed = make_client(version), make_client(version, make_token(staff))
    assert "staff_only" not in [tool["name"] for tool in ordinary.tools()]
    assert "staff_only" in [tool["name"] for tool in allowed.tools()]
    assert allowed.call("staff_only").text == "staff"
