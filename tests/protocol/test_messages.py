"""JSON-RPC from bytes and to bytes."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_app.protocol import messages
from mcp_app.protocol.errors import InvalidParams, InvalidRequest, ParseError
from mcp_app.protocol.messages import Batch, Malformed, Notification, Request, Response, parse

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def told(body: Any) -> Any:
    """What the JSON of `body` parses to."""
    return parse(json.dumps(body).encode(), most=50)


@given(json_values)
def test_values_survive_being_written_and_read(value: Any) -> None:
    assert messages.loads(messages.dumps(value)) == value


@given(json_values)
def test_writing_agrees_with_the_standard_library(value: Any) -> None:
    assert json.loads(messages.dumps(value)) == value
    assert b"\n" not in messages.dumps(value)  # an event stream needs it on one line


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_a_parse_error(body: bytes) -> None:
    parsed = parse(body, most=50)
    assert isinstance(parsed, Request | Notification | Response | Malformed | Batch)
    try:
        json.loads(body.decode())
    except (ValueError, RecursionError):
        valid = False
    else:
        valid = b"NaN" not in body and b"Infinity" not in body
    if not valid and not body.startswith(b"\xef\xbb\xbf"):
        assert isinstance(parsed, Malformed)
        assert isinstance(parsed.error, ParseError | InvalidRequest)


@pytest.mark.parametrize(
    "value", [10**18, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1, 10**30, 9007199254740993]
)
def test_integers_of_any_size_stay_integers(value: int) -> None:
    body = f'{{"a":{value}}}'.encode()
    assert messages.loads(body) == {"a": value}
    assert type(messages.loads(body)["a"]) is int
    assert messages.dumps({"a": value}) == body


@pytest.mark.parametrize("inner", [b"1", b""])
def test_depth_has_one_limit_whatever_reads_the_body(inner: bytes) -> None:
    deep = 800  # Python 3.11's own library goes no deeper than about a thousand.
    long = b"12345678901234567890"
    for body in (inner, long):
        assert messages.loads(b"[" * deep + body + b"]" * deep)
    assert messages.loads(b"[" * 1_024 + inner + b"]" * 1_024)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nul",
        b"NaN",
        b"[Infinity]",
        b"[-Infinity]",
        b"[1e999]",
        b"[-1e999]",
        b"[1e999,12345678901234567890]",
        b"[NaN,12345678901234567890]",
        b"[12345678901234567890",
        b'"\xff"',
        b'"\xff12345678901234567890"',
        b'"\xed\xa0\x80"',
        "{}".encode("utf-16"),
        "{}".encode("utf-32"),
        b"[" * 100_000,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b"[" * 100_000 + b"12345678901234567890" + b"]" * 100_000,
        b"[" * 1_025 + b"]" * 1_025,
        b"[" * 1_025 + b"12345678901234567890" + b"]" * 1_025,
        b"1" * 5_000,
    ],
)
def test_what_is_not_json_is_a_parse_error(body: bytes) -> None:
    parsed = parse(body, most=50)
    assert isinstance(parsed, Malformed)
    assert isinstance(parsed.error, ParseError)
    assert parsed.id is None


def test_one_grammar_holds_however_long_an_integer_is() -> None:
    """The slow path must not take what the fast one refuses, nor the other way round."""
    long = b"12345678901234567890"
    for good in (b"[%s]", b"[1.5,%s]", b'[" \\ud800 ",%s]', b"\xef\xbb\xbf[%s]"):
        assert messages.loads(good.replace(b"%s", long))
        assert messages.loads(good.replace(b"%s", b"1"))
    for bad in (b"[%s,NaN]", b"[%s,01]", b"[%s,]", b"[%s,'a']", b"[%s,.5]", b"[%s,+1]", b"[%s"):
        for number in (long, b"1"):
            with pytest.raises(ParseError):
                messages.loads(bad.replace(b"%s", number))


def test_a_request_a_notification_and_a_response_are_told_apart() -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": 1}}
    assert told(request) == Request(1, "m", {"a": 1})
    assert told(request | {"params": None}) == Request(1, "m")
    assert told({"jsonrpc": "2.0", "method": "m"}) == Notification("m")
    assert told({"jsonrpc": "2.0", "id": "a", "result": None}) == Response("a")
    assert told({"jsonrpc": "2.0", "id": "a", "error": {"code": 1}}).error == {"code": 1}
    assert told(request | {"unheardOf": 1}) == told(request)


@pytest.mark.parametrize("request_id", ["", "1", 0, -1, 2**70, "\ud800", "x" * 4096])
def test_strings_and_integers_are_ids(request_id: str | int) -> None:
    assert told({"jsonrpc": "2.0", "id": request_id, "method": "m"}).id == request_id
    assert messages.is_request_id(request_id)


@pytest.mark.parametrize("request_id", [None, True, False, 1.5, 1.0, {}, [], [1], "x" * 4097])
def test_nothing_else_is_an_id(request_id: Any) -> None:
    parsed = told({"jsonrpc": "2.0", "id": request_id, "method": "m"})
    assert isinstance(parsed, Malformed)
    assert (type(parsed.error), parsed.id) == (InvalidRequest, None)
    assert not messages.is_request_id(request_id)


@pytest.mark.parametrize(
    "body",
    [
        1,
        "x",
        None,
        True,
        {},
        {"id": 1},
        {"jsonrpc": "2.0"},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "1.0", "id": 1, "method": "m"},
        {"jsonrpc": 2.0, "id": 1, "method": "m"},
        {"jsonrpc": "2.0", "id": 1, "method": 1},
        {"jsonrpc": "2.0", "id": 1, "method": None},
        {"jsonrpc": "2.0", "id": 1, "result": 1, "error": {}},
        {"jsonrpc": "2.0", "result": 1},
        [],
    ],
)
def test_json_that_is_no_message_is_an_invalid_request(body: Any) -> None:
    parsed = told(body)
    assert isinstance(parsed, Malformed)
    assert type(parsed.error) is InvalidRequest
    assert parsed.id == (body.get("id") if isinstance(body, dict) else None)


@pytest.mark.parametrize("params", [[], [1], "x", 5, False, 0, ""])
def test_params_that_are_no_object_are_refused_as_their_message_can_be(params: Any) -> None:
    request = told({"jsonrpc": "2.0", "id": 1, "method": "m", "params": params})
    assert (type(request.error), request.id) == (InvalidParams, 1)
    notification = told({"jsonrpc": "2.0", "method": "m", "params": params})
    assert (type(notification.error), notification.id) == (InvalidRequest, None)


def test_a_batch_keeps_what_is_wrong_in_its_place() -> None:
    parsed = told([1, {"jsonrpc": "2.0", "id": 1, "method": "m"}, []])
    assert isinstance(parsed, Batch)
    assert [type(message) for message in parsed.messages] == [Malformed, Request, Malformed]


def test_what_was_written_before_is_put_in_as_it_is() -> None:
    fragment = orjson.Fragment(b'{"b": 1}')
    assert messages.dumps({"a": fragment}) == b'{"a":{"b": 1}}'
    # The standard library knows no fragments, and writes what orjson will not.
    told_again = json.loads(messages.dumps({"a": [fragment], "id": 10**30, "s": "\ud800"}))
    assert told_again == {"a": [{"b": 1}], "id": 10**30, "s": "\ud800"}


def test_messages_are_built_in_full() -> None:
    assert messages.result_response(1, {}) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert messages.notification("m", {"a": 1}) == {
        "jsonrpc": "2.0",
        "method": "m",
        "params": {"a": 1},
    }


def test_a_batch_over_its_bound_is_refused_without_a_look_at_its_messages() -> None:
    assert isinstance(parse(b"[1,1]", most=2), Batch)
    refused = parse(b"[1,1,1]", most=2)
    assert isinstance(refused, Malformed)
    assert refused.error.message == "A batch may hold at most 2 messages."


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (b"[]", 1),
        (b"[1,2,3]", 3),
        (b"[[],[],{}]", 6),
        (b'{"a":1,"b":[1,2]}', 4),
        (b'{"a,[{":"\\\\","b\\",":"[,,,"}', 2),
        (b'["' + b"," * 100 + b'"]', 1),
        (b'"' + b"\\" * 101 + b",,,", 0),
    ],
)
def test_what_stands_in_strings_is_no_value(body: bytes, count: int) -> None:
    assert not messages.holds_more(body, count)
    assert not count or messages.holds_more(body, count - 1)
