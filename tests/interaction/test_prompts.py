"""Prompts listed and got, the same over every door and revision."""

from typing import Any

import pytest

from mcp_app.models import CallEvent
from mcp_app.protocol.versions import Era
from mcp_app.testing import MCPClient
from tests.catalog import wire
from tests.interaction.conftest import MakeClient, MakeToken
from tests.interaction.resources import ICON


def text_of(mcp: MCPClient, name: str, arguments: dict[str, str] | None = None) -> str:
    answer = mcp.prompt(name, arguments)
    assert answer.status == 200, answer.body
    wire.check(mcp.version, "GetPromptResult", answer.result)
    [message] = answer.result["messages"]
    assert message["role"] == "user"
    text: str = message["content"]["text"]
    return text


def test_prompts_are_listed_with_the_fields_of_the_revision(mcp: MCPClient) -> None:
    result = mcp.request("prompts/list").result
    wire.check(mcp.version, "ListPromptsResult", result)
    found = {prompt["name"]: prompt for prompt in result["prompts"]}
    assert list(found) == sorted(found)
    assert found["simple"] == {"name": "simple", "description": "A simple prompt."}
    summary = found["summary"]
    assert ("title" in summary) == mcp.version.titles
    assert ("_meta" in summary) == mcp.version.item_meta
    assert summary.get("icons") == ([ICON] if mcp.version.icons else None)
    topic = {"name": "topic", "description": "What it is about.", "required": True}
    if mcp.version.titles:
        topic["title"] = "Topic"
    assert summary["arguments"][0] == topic
    assert summary["arguments"][1] == {"name": "words", "required": False}


def test_a_text_is_one_message_of_the_user(mcp: MCPClient) -> None:
    assert text_of(mcp, "simple") == "This is simple."
    assert mcp.prompt("simple").result["description"] == "A simple prompt."


def test_arguments_may_be_left_out_where_none_is_needed(mcp: MCPClient) -> None:
    for params in ({"name": "simple"}, {"name": "simple", "arguments": None}):
        assert mcp.request("prompts/get", params).status == 200


def test_arguments_are_read_from_their_text(mcp: MCPClient) -> None:
    text = text_of(
        mcp,
        "summary",
        {
            "topic": "tea",
            "words": "20",
            "since": "2026-01-02",
            "tags": '["a","b"]',
            "style": "long",
            "formal": "true",
        },
    )
    assert text == "tea/20/datetime.date(2026, 1, 2)/['a', 'b']/long/True"
    assert text_of(mcp, "summary", {"topic": "5"}) == "5/100/None/None/short/False"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "topic: is required"),
        ({"topic": "tea", "words": "many"}, "words: should be a valid integer"),
        ({"topic": "tea", "words": "0"}, "words: should be greater than or equal to 1"),
        ({"topic": "tea", "colour": "red"}, "colour: is not a known argument"),
        ({"topic": 5}, "topic: should be a string"),
        ({"topic": "tea", "tags": "a,b"}, "tags: is not valid JSON"),
    ],
)
def test_arguments_that_do_not_fit_are_named(mcp: MCPClient, arguments: Any, told: str) -> None:
    answer = mcp.prompt("summary", arguments)
    assert answer.error["code"] == -32602
    assert told in answer.error["message"]
    event = CallEvent.objects.get()
    assert (event.outcome, event.tool) == ("invalid", "summary")


def test_a_conversation_keeps_its_roles_and_blocks(mcp: MCPClient) -> None:
    result = mcp.prompt("conversation", {"name": "Ada"}).result
    wire.check(mcp.version, "GetPromptResult", result)
    messages = result["messages"]
    assert [message["role"] for message in messages] == [
        *("user", "assistant", "user", "user", "user", "user")
    ]
    kinds = [message["content"]["type"] for message in messages]
    assert kinds[:4] == ["text", "text", "image", "resource"]
    assert kinds[4] == ("audio" if mcp.version.audio else "text")
    assert kinds[5] == ("resource_link" if mcp.version.resource_links else "text")
    assert messages[0]["content"]["text"] == "I am Ada."


def test_hidden_and_absent_prompts_read_the_same(mcp: MCPClient) -> None:
    hidden, absent = mcp.prompt("staff_prompt", {"name": "x"}), mcp.prompt("nowhere")
    assert hidden.error == {"code": -32602, "message": "Unknown prompt: staff_prompt"}
    assert absent.error == {"code": -32602, "message": "Unknown prompt: nowhere"}
    assert hidden.status == absent.status == (400 if mcp.version.era is Era.MODERN else 200)
    assert "staff_prompt" not in [prompt["name"] for prompt in mcp.prompts()]
    outcomes = CallEvent.objects.order_by("pk").values_list("method", "tool", "outcome")
    assert list(outcomes) == [
        ("prompts/get", "staff_prompt", "denied"),
        ("prompts/get", "nowhere", "unknown"),
    ]


def test_staff_get_what_is_theirs(
    make_client: MakeClient, make_token: MakeToken, staff: Any, version: str
) -> None:
    client = make_client(version, make_token(staff))
    assert "staff_prompt" in [prompt["name"] for prompt in client.prompts()]
    assert text_of(client, "staff_prompt", {"name": "x"}) == "x"


def test_a_token_without_the_scope_is_told_which_one(
    make_client: MakeClient, make_token: MakeToken, version: str
) -> None:
    client = make_client(version)
    answer = client.prompt("scoped_prompt", {"number": "4"})
    assert answer.status == 403
    assert 'scope="rooms:write"' in answer.headers["www-authenticate"]
    assert "scoped_prompt" not in [prompt["name"] for prompt in client.prompts()]
    allowed = make_client(version, make_token(None, "rooms:write"))
    assert text_of(allowed, "scoped_prompt", {"number": "4"}) == "4"


def test_prompts_are_throttled(mcp: MCPClient) -> None:
    assert [mcp.prompt("rare_prompt").status for _ in range(3)] == [200, 200, 429]


def test_a_prompt_is_an_event_without_its_secrets(mcp: MCPClient) -> None:
    assert text_of(mcp, "with_secret", {"user": "ada", "password": "hunter2"}) == "ada"
    event = CallEvent.objects.get()
    assert (event.method, event.tool, event.outcome) == ("prompts/get", "with_secret", "ok")
    assert event.arguments["user"] == "ada"
    assert "hunter2" not in str(event.arguments)


def test_lists_come_in_pages(mcp: MCPClient, settings: Any) -> None:
    whole = mcp.prompts()
    settings.MCP_APP = {**settings.MCP_APP, "PAGE_SIZE": 2}
    assert mcp.prompts() == whole
    assert len(mcp.request("prompts/list").result["prompts"]) == 2
    assert mcp.request("prompts/list", {"cursor": "garbage"}).error["code"] == -32602


def test_lists_have_caching_hints_and_prompts_have_none(modern: MCPClient) -> None:
    listed = modern.request("prompts/list").result
    assert (listed["ttlMs"], listed["cacheScope"]) == (60_000, "private")
    assert "ttlMs" not in modern.prompt("simple").result


@pytest.mark.parametrize(
    ("how", "code", "text"),
    [
        ("said", -32603, "The printer is out of paper"),
        ("missing", -32602, "No such report"),
    ],
)
def test_a_failure_with_words_for_the_caller_is_an_error_with_them(
    mcp: MCPClient, how: str, code: int, text: str
) -> None:
    assert mcp.prompt("failing", {"how": how}).error == {"code": code, "message": text}
    assert CallEvent.objects.get().outcome == "error"


@pytest.mark.parametrize("how", ["unexpected", "odd"])
def test_an_unexpected_failure_is_an_error_with_a_correlation_id(
    mcp: MCPClient, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = mcp.prompt("failing", {"how": how})
    event = CallEvent.objects.get()
    assert answer.error == {
        "code": -32603,
        "message": f"The prompt failed. Correlation id: {event.correlation_id}",
    }
    assert event.correlation_id in caplog.text
