"""The legacy era: what a handshake agrees on, and how later requests are routed."""

from typing import Any

import pytest

from mcp_app.protocol import errors
from mcp_app.protocol.handshake import (
    DIALECT,
    assumed_version,
    check_version_header,
    later_route,
    opening_route,
    read_initialize,
)
from mcp_app.protocol.messages import Request
from mcp_app.protocol.route import Caching, Client
from mcp_app.protocol.versions import (
    V_2024_11_05,
    V_2025_03_26,
    V_2025_06_18,
    V_2025_11_25,
    VERSIONS,
    Era,
    of_era,
)

LEGACY = of_era(VERSIONS, Era.LEGACY)


@pytest.mark.parametrize("version", LEGACY)
def test_a_served_version_is_agreed_on(version: Any) -> None:
    assert read_initialize({"protocolVersion": version.name}, LEGACY).version is version


@pytest.mark.parametrize("asked", ["2026-07-28", "2099-01-01", "", "latest"])
def test_any_other_is_answered_with_the_newest(asked: str) -> None:
    assert read_initialize({"protocolVersion": asked}, LEGACY).version is V_2025_11_25
    fewer = (V_2025_03_26, V_2024_11_05)
    assert read_initialize({"protocolVersion": asked}, fewer).version is V_2025_03_26


def test_a_client_is_read_as_far_as_it_can_be() -> None:
    agreed = read_initialize(
        {"clientInfo": {"name": "n", "version": 5}, "capabilities": {"roots": {}}}, LEGACY
    )
    assert (agreed.client, agreed.capabilities) == (Client("n", ""), {"roots": {}})
    assert read_initialize({"capabilities": None}, LEGACY).capabilities == {}


@pytest.mark.parametrize("capabilities", [[], "x", 0, False])
def test_capabilities_that_are_no_object_are_refused(capabilities: Any) -> None:
    with pytest.raises(errors.InvalidParams):
        read_initialize({"capabilities": capabilities}, LEGACY)


@pytest.mark.parametrize(("depth", "is_taken"), [(99, True), (100, False), (1000, False)])
def test_capabilities_that_are_nested_beyond_reason_are_refused(depth: int, is_taken: bool) -> None:
    nested: dict[str, Any] = {}
    for _ in range(depth):
        nested = {"a": nested}
    if is_taken:
        assert read_initialize({"capabilities": nested}, LEGACY).capabilities == nested
    else:
        with pytest.raises(errors.InvalidParams, match="nested"):
            read_initialize({"capabilities": nested}, LEGACY)


def test_a_header_names_a_served_version_or_nothing() -> None:
    assert check_version_header({}, LEGACY) is None
    named = {"mcp-protocol-version": " 2025-06-18 "}
    assert check_version_header(named, LEGACY) is V_2025_06_18
    for wrong in ("", "1999-01-01", "2026-07-28", "2025-06-18,2025-06-18"):
        with pytest.raises(errors.InvalidRequest, match="2025-11-25"):
            check_version_header({"mcp-protocol-version": wrong}, LEGACY)


def test_a_request_without_a_version_needs_the_one_that_is_assumed() -> None:
    assert assumed_version(LEGACY) is V_2025_03_26
    with pytest.raises(errors.InvalidRequest, match="2025-06-18"):
        assumed_version((V_2025_11_25, V_2025_06_18))


def routed(named: Any, session: str | None, params: Any = None) -> Any:
    """The route of a request with a header and in a session."""
    return later_route(Request(1, "tools/list", params), named, session, Client(), {})


def test_the_session_decides_then_the_header_then_the_default() -> None:
    assert routed(None, None).version is V_2025_03_26
    assert routed(V_2025_06_18, None).version is V_2025_06_18
    assert routed(V_2025_06_18, "2024-11-05").version is V_2024_11_05
    assert routed(None, "2024-11-05").version is V_2024_11_05
    # A session of a revision that is not known any more.
    assert routed(None, "1999-01-01").version is V_2025_03_26
    assert opening_route(LEGACY).version is V_2025_11_25


@pytest.mark.parametrize("token", ["", "t", 0, -5, 2**70])
def test_a_progress_token_is_taken(token: Any) -> None:
    assert routed(None, None, {"_meta": {"progressToken": token}}).progress_token == token


@pytest.mark.parametrize(
    "meta",
    [None, [], "x", {}, *({"progressToken": token} for token in (1.5, [], "x" * 4097))],
)
def test_anything_else_is_no_progress_token(meta: Any) -> None:
    assert routed(None, None, {"_meta": meta}).progress_token is None


def test_answers_are_bare() -> None:
    result = {"tools": []}
    told = DIALECT.complete(result, {"name": "shop"}, Caching(5, "private"))
    assert told == {"tools": []}
    assert told is not result


def test_an_error_without_an_id_has_a_null_one() -> None:
    assert DIALECT.failure(None, errors.ParseError("no"))["id"] is None
    assert DIALECT.failure(0, errors.ParseError("no"))["id"] == 0


def test_json_rpc_errors_travel_under_200() -> None:
    for kind in (errors.MethodNotFound, errors.InvalidParams, errors.UnknownTool):
        assert DIALECT.status(kind("")) == 200
    for wrong in (errors.ParseError(""), errors.InvalidRequest("")):
        assert DIALECT.status(wrong) == 400
    missing = DIALECT.undeclared(["sampling"])
    assert (missing.code, DIALECT.status(missing), missing.data) == (-32600, 200, None)


def test_nothing_is_mirrored() -> None:
    DIALECT.check_name(Request(1, "tools/call", {"name": "a"}), {"mcp-name": "b"})
    DIALECT.check_parameter("Region", "a", {"mcp-param-region": "b"})
