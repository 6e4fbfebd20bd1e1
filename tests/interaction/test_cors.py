"""A page of another origin calls: preflights, and answers that its script may read (D-009)."""

from typing import Annotated, Any

import pytest
from pydantic import Field

from mcp_app.testing import Answer, MCPClient
from tests.interaction.conftest import MODERN, Counted, MakeClient, Serve

PAGE = "https://inspector.example"
EVIL = "https://evil.example"
ASKED = {
    "access-control-request-method": "POST",
    "access-control-request-headers": (
        "authorization, content-type, mcp-protocol-version, mcp-session-id,"
        " mcp-method, mcp-name, last-event-id"
    ),
}
EXPOSED = {"Mcp-Session-Id", "WWW-Authenticate", "Retry-After"}


@pytest.fixture
def shared(settings: Any) -> None:
    """CORS is on for one page."""
    settings.MCP_APP = {**settings.MCP_APP, "CORS": True, "ALLOWED_ORIGINS": [PAGE]}


def preflight(client: MCPClient, origin: str | None = PAGE, **more: str) -> Answer:
    asked = ASKED | {name.replace("_", "-"): value for name, value in more.items()}
    return client.send("OPTIONS", b"", {**asked, "origin": origin, "authorization": None})


def listed(answer: Answer, header: str) -> set[str]:
    return {name.strip() for name in answer.headers[header].split(",")}


def is_shared(answer: Answer) -> bool:
    """Whether the page may read it; no answer is shared by halves, with others or with cookies."""
    if "access-control-allow-origin" not in answer.headers:
        assert not [name for name in answer.headers if name.startswith("access-control")]
        return False
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert listed(answer, "access-control-expose-headers") == EXPOSED
    assert "access-control-allow-credentials" not in answer.headers
    assert "Origin" in listed(answer, "vary")
    return True


@pytest.mark.usefixtures("shared")
def test_a_preflight_is_answered_without_a_credential(make_client: MakeClient) -> None:
    answer = preflight(make_client(token=""))

    assert (answer.status, answer.body, is_shared(answer)) == (204, b"", True)
    assert listed(answer, "access-control-allow-headers") >= {
        name.strip() for name in ASKED["access-control-request-headers"].split(",")
    }
    assert {"POST", "DELETE"} <= listed(answer, "access-control-allow-methods")
    assert int(answer.headers["access-control-max-age"]) > 0


@pytest.mark.usefixtures("shared")
def test_the_headers_that_schemas_mirror_arguments_in_are_allowed_and_no_others(
    make_client: MakeClient, serve: Serve
) -> None:
    def routed(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
        return region

    def names() -> set[str]:
        allowed = listed(preflight(make_client()), "access-control-allow-headers")
        return {name for name in allowed if name.startswith("mcp-param-")}

    before = names()
    serve(routed)

    assert names() - before == {"mcp-param-region"}
    assert "*" not in before


@pytest.mark.usefixtures("shared")
def test_a_page_that_is_not_listed_is_refused_and_told_nothing(
    make_client: MakeClient, counted: Counted
) -> None:
    client = make_client()
    for answer in (
        preflight(client, EVIL),
        preflight(client, "null"),
        client.call(counted.name, headers={"origin": EVIL}),
    ):
        assert (answer.status, is_shared(answer)) == (403, False)
    assert counted.runs == 0


@pytest.mark.usefixtures("shared")
def test_a_page_reads_the_whole_life_of_a_session(make_client: MakeClient, door: str) -> None:
    client = make_client("2025-11-25")
    origin = {"origin": PAGE}
    opened = client.request("initialize", {"protocolVersion": "2025-11-25"}, headers=origin)
    client.session_id = opened.headers["mcp-session-id"]
    answers = [
        opened,
        client.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=origin),
        client.call("echo", {"text": "hi"}, headers=origin),
        client.send("DELETE", b"", origin),
    ]

    assert [answer.status for answer in answers] == [200, 202, 200, 204]
    assert all(map(is_shared, answers))


@pytest.mark.usefixtures("shared")
def test_a_page_reads_why_it_was_refused(make_client: MakeClient, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "MAX_BODY_BYTES": 1500}
    client, nobody = make_client(), make_client(token="")
    origin = {"origin": PAGE}
    answers = [
        client.request("foo/bar", headers=origin),
        nobody.request("tools/list", headers=origin),
        client.request("tools/list", headers=origin | {"content-type": "text/plain"}),
        client.request("tools/list", headers=origin | {"accept": "image/png"}),
        client.post(b" " * 2000, headers=origin),
        client.post(b"{", headers=origin),
        client.send("GET", b"", origin),
        client.send("OPTIONS", b"", origin),
    ]

    assert [a.status for a in answers] == [404, 401, 415, 406, 413, 400, 405, 405]
    assert all(map(is_shared, answers))


@pytest.mark.usefixtures("shared")
def test_a_page_reads_a_stream(make_client: MakeClient, door: str) -> None:
    answer = make_client().call("steps", meta={"progressToken": 1}, headers={"origin": PAGE})

    assert answer.is_stream == (door != "view")
    assert is_shared(answer)


@pytest.mark.usefixtures("shared")
def test_who_is_no_page_gets_none_of_it(make_client: MakeClient) -> None:
    client = make_client()

    assert not is_shared(client.call("echo", {"text": "hi"}))
    assert preflight(client, None).status == 405


def test_without_the_switch_a_listed_page_may_call_and_may_not_read(
    make_client: MakeClient, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "ALLOWED_ORIGINS": [PAGE]}
    client = make_client()
    called = client.call("echo", {"text": "hi"}, headers={"origin": PAGE})

    assert (called.status, is_shared(called)) == (200, False)
    assert (preflight(client).status, is_shared(preflight(client))) == (405, False)


@pytest.mark.usefixtures("shared")
def test_a_server_that_is_off_answers_no_preflight(make_client: MakeClient, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "ENABLED": False}
    answer = preflight(make_client())

    assert (answer.status, answer.body, is_shared(answer)) == (404, b"", False)


def breaks(origin: str) -> bool:
    """Stands for a product's rule that has a fault."""
    raise RuntimeError("no database")


def leaves(origin: str) -> bool:
    """Stands for one that raises what is no `Exception`."""
    raise SystemExit


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("rule", ["breaks", "leaves"])
def test_a_rule_that_breaks_admits_nobody(
    make_client: MakeClient, settings: Any, caplog: pytest.LogCaptureFixture, rule: str
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "ORIGIN_CHECK": f"{__name__}.{rule}"}
    answer = make_client(MODERN).call("echo", {"text": "x"}, headers={"origin": EVIL})

    assert (answer.status, is_shared(answer)) == (403, False)
    assert "ORIGIN_CHECK" in caplog.text
