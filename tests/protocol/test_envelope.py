"""The modern era's ladder, rung by rung, and how it words its answers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mcp_app.protocol import errors
from mcp_app.protocol.envelope import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    DIALECT,
    LOG_LEVEL_KEY,
    LOG_LEVELS,
    SERVER_KEY,
    VERSION_KEY,
    decline_handshake,
    open_envelope,
)
from mcp_app.protocol.messages import Malformed, Request
from mcp_app.protocol.route import Caching, Client, Route
from mcp_app.protocol.versions import V_2025_11_25, V_2026_07_28, VERSIONS

MODERN = V_2026_07_28.name
META: Mapping[str, Any] = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {"roots": {}}}
HEADERS = {"mcp-protocol-version": MODERN, "mcp-method": "tools/list"}
ABSENT = object()


def request(**changed: Any) -> Request:
    """A sound request, with metadata changed by key."""
    meta = {**META, **{_KEYS[name]: value for name, value in changed.items()}}
    kept = {key: value for key, value in meta.items() if value is not ABSENT}
    return Request(1, "tools/list", {"_meta": kept})


_KEYS = {
    "version": VERSION_KEY,
    "capabilities": CAPABILITIES_KEY,
    "client": CLIENT_KEY,
    "level": LOG_LEVEL_KEY,
    "token": "progressToken",
}


def test_a_sound_request_has_a_route() -> None:
    sound = request(client={"name": "n", "version": "1"}, level="info", token="t")
    assert open_envelope(sound, HEADERS, VERSIONS) == Route(
        version=V_2026_07_28,
        dialect=DIALECT,
        client=Client("n", "1"),
        capabilities={"roots": {}},
        log_level="info",
        progress_token="t",
    )


@pytest.mark.parametrize(
    ("params", "error"),
    [
        (None, errors.InvalidParams),
        ({}, errors.InvalidParams),
        ({"_meta": None}, errors.InvalidParams),
        ({"_meta": []}, errors.InvalidParams),
        ({"_meta": {}}, errors.InvalidParams),
        ({"_meta": {VERSION_KEY: MODERN}}, errors.InvalidParams),
        ({"_meta": {CAPABILITIES_KEY: {}}}, errors.InvalidParams),
    ],
)
def test_metadata_is_required(params: Any, error: type) -> None:
    refusal = open_envelope(Request(1, "tools/list", params), HEADERS, VERSIONS)
    assert type(refusal) is error


@pytest.mark.parametrize(
    ("changed", "headers", "error"),
    [
        ({"version": 5}, {}, errors.InvalidParams),
        ({"capabilities": []}, {}, errors.InvalidParams),
        ({}, {"mcp-protocol-version": None}, errors.HeaderMismatch),
        ({}, {"mcp-protocol-version": "2025-11-25"}, errors.HeaderMismatch),
        ({"version": "1900-01-01"}, {}, errors.HeaderMismatch),
        (
            {"version": "1900-01-01"},
            {"mcp-protocol-version": "1900-01-01"},
            errors.UnsupportedVersion,
        ),
        (
            {"version": "2025-11-25"},
            {"mcp-protocol-version": "2025-11-25"},
            errors.UnsupportedVersion,
        ),
        # What is not served is said before what else may be wrong: the client tries another.
        (
            {"version": "1900-01-01", "level": "loud"},
            {"mcp-protocol-version": "1900-01-01", "mcp-method": None},
            errors.UnsupportedVersion,
        ),
        ({}, {"mcp-method": None}, errors.HeaderMismatch),
        ({}, {"mcp-method": "Tools/List"}, errors.HeaderMismatch),
        ({"level": "loud"}, {}, errors.InvalidParams),
        ({"level": ["info"]}, {}, errors.InvalidParams),
        ({"token": 1.5}, {}, errors.InvalidParams),
        ({"token": True}, {}, errors.InvalidParams),
    ],
)
def test_the_first_rung_that_fails_is_the_answer(
    changed: dict[str, Any], headers: dict[str, str | None], error: type
) -> None:
    sent = {name: value for name, value in (HEADERS | headers).items() if value is not None}
    assert type(open_envelope(request(**changed), sent, VERSIONS)) is error


@pytest.mark.parametrize("client", [None, [], "x", {}, {"name": 1}, ABSENT])
def test_a_client_need_not_say_who_it_is(client: Any) -> None:
    route = open_envelope(request(client=client), HEADERS, VERSIONS)
    assert isinstance(route, Route)
    assert route.client == Client()


@pytest.mark.parametrize("level", [None, ABSENT, *LOG_LEVELS])
def test_silence_is_the_default_log_level(level: Any) -> None:
    route = open_envelope(request(level=level), HEADERS, VERSIONS)
    assert isinstance(route, Route)
    assert route.log_level == (level if level in LOG_LEVELS else None)


def test_a_legacy_endpoint_serves_no_modern_request() -> None:
    refusal = open_envelope(request(), HEADERS, (V_2025_11_25,))
    assert isinstance(refusal, errors.UnsupportedVersion)
    assert refusal.data == {"supported": ["2025-11-25"], "requested": MODERN}


@pytest.mark.parametrize(
    ("message", "headers", "asked"),
    [
        (Request(1, "initialize", {"protocolVersion": "2025-11-25"}), {}, "2025-11-25"),
        (Request(1, "initialize", {}), {"mcp-protocol-version": "2025-06-18"}, "2025-06-18"),
        (Request(1, "initialize", None), {}, None),
        (Request(1, "initialize", {"protocolVersion": 5}), {}, None),
        (Request(1, "tools/list", {"protocolVersion": "x"}), {}, None),
        (Malformed(errors.ParseError("x")), {"mcp-protocol-version": "1"}, "1"),
    ],
)
def test_a_modern_endpoint_declines_a_handshake_by_naming_what_it_serves(
    message: Any, headers: dict[str, str], asked: str | None
) -> None:
    refusal = decline_handshake(message, headers, (V_2026_07_28,))
    assert MODERN in refusal.message
    if asked is None:
        assert type(refusal) is errors.HeaderMismatch
    else:
        assert refusal.data == {"supported": [MODERN], "requested": asked}


# --- mirrored headers ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "params", "header"),
    [
        ("tools/call", {"name": "echo"}, "echo"),
        ("tools/call", {"name": "日報"}, "=?base64?5pel5aCx?="),
        ("tools/call", {"name": ""}, ""),
        ("prompts/get", {"name": "p"}, " p "),
        ("resources/read", {"uri": "file:///a"}, "file:///a"),
        ("tools/list", {"name": "anything"}, None),
        ("tools/list", {}, "unasked"),
    ],
)
def test_a_name_that_is_mirrored_passes(method: str, params: Any, header: str | None) -> None:
    headers = {} if header is None else {"mcp-name": header}
    DIALECT.check_name(Request(1, method, params), headers)


@pytest.mark.parametrize(
    ("params", "header"),
    [
        ({"name": "echo"}, None),
        ({"name": "echo"}, "Echo"),
        ({"name": "echo"}, "echo,echo"),
        ({"name": "echo"}, "écho"),
        ({"name": "=?base64?YQ==?="}, "=?base64?YQ==?="),
        ({"uri": "echo"}, "echo"),
        (None, "echo"),
    ],
)
def test_a_name_that_is_not_mirrored_stops_the_request(params: Any, header: str | None) -> None:
    headers = {} if header is None else {"mcp-name": header}
    with pytest.raises(errors.HeaderMismatch):
        DIALECT.check_name(Request(1, "tools/call", params), headers)


@pytest.mark.parametrize(
    ("value", "header"),
    [("a", "a"), (" a ", "=?base64?IGEg?="), (42, "42.0"), (True, "true"), (None, None)],
)
def test_an_argument_that_is_mirrored_passes(value: Any, header: str | None) -> None:
    headers = {} if header is None else {"mcp-param-region": header}
    DIALECT.check_parameter("Region", value, headers)


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("a", None),
        ("a", "b"),
        ("a ", "a "),
        (" ", ""),
        (42, "43"),
        (42, "é"),
        (True, "True"),
        (None, ""),
        (None, "null"),
        ("é", "é"),
        ("a", "=?base64?!?="),
    ],
)
def test_an_argument_that_is_not_mirrored_stops_the_call(value: Any, header: str | None) -> None:
    headers = {} if header is None else {"mcp-param-region": header}
    with pytest.raises(errors.HeaderMismatch, match="Mcp-Param-Region"):
        DIALECT.check_parameter("Region", value, headers)


# --- answers -------------------------------------------------------------------------------------


def test_a_result_says_that_it_is_complete_and_whose_it_is() -> None:
    server = {"name": "shop", "version": "1"}
    result = DIALECT.complete({"content": [], "_meta": {"k": 1}}, server, None)
    assert result == {
        "resultType": "complete",
        "content": [],
        "_meta": {"k": 1, SERVER_KEY: server},
    }
    assert DIALECT.complete({}, {}, Caching(5, "private")) == {
        "resultType": "complete",
        "ttlMs": 5,
        "cacheScope": "private",
    }


def test_the_result_of_a_tool_is_not_changed_by_being_sent() -> None:
    result: dict[str, Any] = {"_meta": {"k": 1}}
    DIALECT.complete(result, {"name": "shop"}, Caching(5, "private"))
    assert result == {"_meta": {"k": 1}}


def test_an_error_without_an_id_has_none() -> None:
    error = errors.ParseError("no")
    assert DIALECT.failure(None, error) == {
        "jsonrpc": "2.0",
        "error": {"code": -32700, "message": "no"},
    }
    assert DIALECT.failure(0, error)["id"] == 0
    assert DIALECT.failure("", error)["id"] == ""


def test_statuses_are_those_of_the_modern_era() -> None:
    assert DIALECT.status(errors.MethodNotFound("")) == 404
    assert DIALECT.status(errors.InvalidParams("")) == 400
    assert DIALECT.status(errors.UnknownTool("")) == 400
    assert DIALECT.status(errors.InternalError("")) == 500
    missing = DIALECT.undeclared({"sampling": {}})
    assert (missing.code, DIALECT.status(missing)) == (-32021, 400)
    assert missing.data == {"requiredCapabilities": {"sampling": {}}}


def test_a_route_is_a_value() -> None:
    route = open_envelope(request(), HEADERS, VERSIONS)
    assert isinstance(route, Route)
    assert replace(route, log_level="debug") != route
