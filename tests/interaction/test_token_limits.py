"""Tokens that are limited to some tools, or to reading (D-064, D-068)."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from mcp_app.auth.tokens import issue, rotate
from mcp_app.models import CallEvent, Token
from mcp_app.testing import MCPClient
from tests.interaction.conftest import Counted, MakeClient, ready


@pytest.fixture
def limited(make_client: MakeClient, user: Any, version: str) -> Any:
    """Make a client of a token with limits."""

    def make(**limits: Any) -> MCPClient:
        secret = issue(user=user, name="limited", **limits)[1]
        return ready(make_client(version, secret.reveal()))

    return make


def refused(client: MCPClient, method: str, **params: Any) -> bool:
    """Whether the limits refuse it, in words that a model can read."""
    answer = client.request(method, params)
    if answer.status == 403:
        assert answer.error["code"] == 403
        assert "limits" in answer.error["message"]
        assert CallEvent.objects.latest("pk").outcome == "denied"
    return answer.status == 403


def test_a_token_limited_to_tools_lists_and_calls_those_alone(limited: Any) -> None:
    client = limited(tools=["add"])
    assert [tool["name"] for tool in client.tools()] == ["add"]
    assert client.call("add", {"a": 1}).status == 200
    assert refused(client, "tools/call", name="echo", arguments={"text": "a"})
    # What the user may not see stays unseen.
    assert client.call("staff_only").error["message"] == "Unknown tool: staff_only"


def test_a_token_limited_to_tools_reads_no_resource_and_gets_no_prompt(
    limited: Any, settings: Any
) -> None:
    client = limited(tools=["add"])
    everything: MCPClient = limited()
    assert client.resources() == client.templates() == client.prompts() == []
    uri, prompt = everything.resources()[0]["uri"], everything.prompts()[0]["name"]
    assert refused(client, "resources/read", uri=uri)
    assert refused(client, "prompts/get", name=prompt)


def test_the_log_says_which_limit_it_was(limited: Any, counted: Counted) -> None:
    for limits, told in (
        ({"tools": ["echo"]}, "the token is limited to named tools"),
        ({"read_only": True}, "the token is limited to reading"),
        ({"tools": [], "read_only": True}, "the token is limited to reading and named tools"),
    ):
        answer = limited(**limits).call(counted.name)
        event = CallEvent.objects.latest("pk")
        assert (event.error_class, event.error_text) == ("OutsideLimits", told)
        assert told not in answer.body.decode()


def test_a_token_limited_to_no_tool_calls_none(limited: Any) -> None:
    client = limited(tools=[])
    everything: MCPClient = limited()
    assert client.tools() == client.resources() == client.templates() == client.prompts() == []
    assert refused(client, "tools/call", name="add", arguments={"a": 1})
    assert refused(client, "resources/read", uri=everything.resources()[0]["uri"])
    assert refused(client, "prompts/get", name=everything.prompts()[0]["name"])


def test_a_token_limited_to_reading_changes_nothing(limited: Any, counted: Counted) -> None:
    client, everything = limited(read_only=True), limited()
    listed = client.tools()
    assert listed
    assert all(tool["annotations"]["readOnlyHint"] for tool in listed if "annotations" in tool)
    assert counted.name not in [tool["name"] for tool in listed]
    assert client.call("add", {"a": 1}).status == 200
    assert refused(client, "tools/call", name=counted.name)
    assert counted.runs == 0
    assert client.resources() == everything.resources()
    assert client.prompts() == everything.prompts()


def test_limits_and_scopes_both_narrow(limited: Any) -> None:
    client = limited(tools=["scoped"])
    assert client.tools() == []
    answer = client.call("scoped")
    assert answer.status == 403
    assert "insufficient_scope" in answer.headers["www-authenticate"]


def test_limits_act_on_the_next_request(limited: Any) -> None:
    client = limited()
    assert client.call("add", {"a": 1}).status == 200
    for tools in (["echo"], []):
        Token.objects.update(tools=tools)
        assert refused(client, "tools/call", name="add", arguments={"a": 1})
    Token.objects.update(tools=None)
    assert client.call("add", {"a": 1}).status == 200


def test_a_tool_that_is_gone_does_no_harm(limited: Any) -> None:
    client = limited()
    Token.objects.update(tools=["add", "was_once"])
    assert [tool["name"] for tool in client.tools()] == ["add"]


@pytest.mark.django_db
def test_a_tool_that_there_is_not_is_refused_with_what_was_meant(user: Any) -> None:
    with pytest.raises(ValidationError) as refusal:
        issue(user=user, name="typo", tools=["ad", "qqqq"])
    (sentence,) = refusal.value.message_dict["tools"]
    assert sentence == "There is no tool ad (or add?), qqqq."


@pytest.mark.django_db
@pytest.mark.parametrize("tools", [None, [], ["add", "echo"]])
def test_a_rotation_keeps_the_limits(user: Any, tools: list[str] | None) -> None:
    token, _ = issue(user=user, name="kept", tools=tools, read_only=True)
    rotate(token, grace=timedelta(0))
    token.refresh_from_db()
    assert (token.tools, token.read_only) == (tools, True)
