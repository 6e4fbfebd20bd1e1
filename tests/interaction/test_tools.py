"""Tools listed and called, the same over every door and revision."""

import pytest

from mcp_app.models import CallEvent
from mcp_app.testing import MCPClient
from tests.interaction.conftest import MakeClient, MakeToken


def test_a_tool_is_listed_and_called(mcp: MCPClient) -> None:
    assert "add" in [tool["name"] for tool in mcp.tools()]
    answer = mcp.call("add", {"a": 2, "b": 3})
    assert answer.status == 200
    assert answer.text == '{"total":5}'


def test_a_call_is_an_event_when_its_answer_has_arrived(mcp: MCPClient) -> None:
    mcp.call("add", {"a": 2})
    event = CallEvent.objects.get(tool="add")
    assert (event.outcome, event.decision, event.username) == ("ok", "allow", "ada")
    assert event.arguments == {"a": 2}
    assert event.token_name == "laptop"
    assert event.protocol_version == mcp.version.name
    assert event.duration_ms is not None


def test_the_context_knows_the_caller(mcp: MCPClient) -> None:
    answer = mcp.call("whoami")
    assert answer.text.startswith('{"user":"ada","token":"laptop","scopes":[],"method":"GET"')


@pytest.mark.parametrize("name", ["steps", "reports", "asteps"])
def test_progress_arrives_before_the_one_response(
    make_client: MakeClient, name: str, version: str
) -> None:
    client = make_client(version)
    answer = client.call(name, meta={"progressToken": 7})
    assert answer.text == "done"
    if client._door == "view":
        assert not answer.is_stream
        return
    told = [message["params"] for message in answer.notifications]
    assert [params["progress"] for params in told] == sorted({p["progress"] for p in told})
    assert {params["progressToken"] for params in told} == {7}


def test_hidden_and_absent_tools_read_the_same(mcp: MCPClient) -> None:
    hidden = mcp.call("staff_only")
    absent = mcp.call("nowhere_at_all")
    assert "staff_only" not in [tool["name"] for tool in mcp.tools()]
    assert hidden.status == absent.status
    assert hidden.error == {"code": -32602, "message": "Unknown tool: staff_only"}
    assert absent.error == {"code": -32602, "message": "Unknown tool: nowhere_at_all"}
    outcomes = CallEvent.objects.values_list("outcome", flat=True)
    assert sorted(outcomes) == ["denied", "unknown"]


def test_a_token_without_the_scope_is_told_which_one(
    make_client: MakeClient, make_token: MakeToken, version: str
) -> None:
    answer = make_client(version).call("scoped")
    assert answer.status == 403
    assert answer.headers["www-authenticate"] == (
        'Bearer error="insufficient_scope", scope="rooms:write"'
    )
    allowed = make_client(version, make_token(None, "rooms:write"))
    assert allowed.call("scoped", {"number": 4}).text == "4"
