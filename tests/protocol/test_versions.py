"""The table of revisions, methods and errors."""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from mcp_app.protocol import errors, methods
from mcp_app.protocol.errors import InvalidParams, MethodNotFound, ProtocolError
from mcp_app.protocol.versions import BY_NAME, VERSIONS, WITHOUT_HEADER, Era, of_era

SCHEMAS = Path(__file__).parent.parent / "schema"


def definitions(version: str) -> dict[str, Any]:
    """The definitions of a revision's schema."""
    whole = json.loads((SCHEMAS / version / "schema.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = whole.get("$defs") or whole["definitions"]
    return found


def test_revisions_are_listed_newest_first_each_with_its_schema() -> None:
    names = [version.name for version in VERSIONS]
    assert names == sorted(names, reverse=True)
    assert set(names) == {path.name for path in SCHEMAS.iterdir() if path.is_dir()}
    assert BY_NAME["2026-07-28"].era is Era.MODERN
    assert [version.name for version in of_era(VERSIONS, Era.LEGACY)] == names[1:]
    assert str(WITHOUT_HEADER) == "2025-03-26"


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_revision_may_carry_is_what_its_schema_knows(version: Any) -> None:
    known = definitions(version.name)
    tool = known["Tool"]["properties"]
    assert version.annotations == ("annotations" in tool)
    assert version.titles == ("title" in tool)
    assert version.output_schema == ("outputSchema" in tool)
    assert version.output_schema == ("structuredContent" in known["CallToolResult"]["properties"])
    assert version.icons == ("icons" in tool)
    assert version.item_meta == ("_meta" in tool)
    assert version.item_meta == ("_meta" in known["TextContent"]["properties"])
    assert version.audio == ("AudioContent" in known)
    assert version.resource_links == ("ResourceLink" in known)
    assert version.batches == ("JSONRPCBatchRequest" in known)
    assert version.progress_messages == ("message" in json.dumps(progress(known)))


def progress(known: dict[str, Any]) -> Any:
    """The members of a progress notification's params."""
    params = known["ProgressNotification"]["properties"]["params"]
    if "$ref" in params:
        params = known[params["$ref"].rpartition("/")[2]]
    return list(params["properties"])


def test_client_capabilities_are_those_of_the_schemas() -> None:
    known = {
        name
        for version in VERSIONS
        for name in definitions(version.name)["ClientCapabilities"]["properties"]
    }
    assert known == methods.CLIENT_CAPABILITIES


# --- methods -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "eras"),
    [
        ("initialize", {Era.LEGACY}),
        ("ping", {Era.LEGACY}),
        ("server/discover", {Era.MODERN}),
        ("tools/list", {Era.LEGACY, Era.MODERN}),
        ("tools/call", {Era.LEGACY, Era.MODERN}),
        ("logging/setLevel", {Era.LEGACY}),
        ("subscriptions/listen", {Era.MODERN}),
        ("tasks/list", set()),
        ("Tools/List", set()),
        ("", set()),
    ],
)
def test_a_method_is_found_in_its_eras_alone(name: str, eras: set[Era]) -> None:
    for era in Era:
        if era in eras:
            assert methods.find(name, era).name == name
        else:
            with pytest.raises(MethodNotFound):
                methods.find(name, era)


def test_params_are_checked_by_name_and_type() -> None:
    call = methods.METHODS["tools/call"]
    call.check({"name": "echo"})
    call.check({"name": "", "arguments": None, "more": 1})
    for wrong in ({}, {"name": None}, {"name": 5}, {"name": "a", "arguments": []}):
        with pytest.raises(InvalidParams):
            call.check(wrong)


# --- errors --------------------------------------------------------------------------------------


def test_codes_stay_out_of_what_the_specification_reserves() -> None:
    kinds = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, ProtocolError)
    ]
    allowed = {-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022}
    assert len(kinds) > 15
    for kind in kinds:
        assert kind.code in allowed or not -32768 <= kind.code <= -32000, kind
        assert 200 <= kind.status < 600


def test_an_error_says_what_it_is_given_and_no_more() -> None:
    assert InvalidParams("no").to_error() == {"code": -32602, "message": "no"}
    throttled = errors.Throttled(3)
    assert throttled.to_error()["data"] == {"retryAfterSeconds": 3}
    assert throttled.headers == {"Retry-After": "3"}
    unknown = errors.UnsupportedVersion("1", ("2",))
    assert unknown.to_error()["data"] == {"supported": ["2"], "requested": "1"}
    assert errors.Unauthenticated("m", challenge="Bearer", reason="expired").to_error() == {
        "code": 401,
        "message": "m",
    }


def test_the_headers_of_one_error_are_not_those_of_another() -> None:
    errors.Throttled(3)
    assert errors.InvalidParams("no").headers == {}
