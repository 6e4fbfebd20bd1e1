"""Arguments completed, the same over every door and revision."""

from typing import Any

import pytest

from mcp_app.models import CallEvent
from mcp_app.testing import Answer, MCPClient
from tests.catalog import wire
from tests.interaction.conftest import MakeClient, MakeToken


def completion(mcp: MCPClient, *args: Any) -> dict[str, Any]:
    answer = mcp.complete(*args)
    assert answer.status == 200, answer.body
    wire.check(mcp.version, "CompleteResult", answer.result)
    found: dict[str, Any] = answer.result["completion"]
    return found


def test_a_list_gives_what_begins_with_the_text_and_then_what_holds_it(mcp: MCPClient) -> None:
    assert completion(mcp, "completed", "country", "d") == {
        "values": ["de", "DK", "Sudan"],
        "total": 3,
        "hasMore": False,
    }
    assert completion(mcp, "completed", "country", "zz")["values"] == []


def test_a_function_sees_the_other_arguments(mcp: MCPClient) -> None:
    assert completion(mcp, "completed", "city", "B", {"country": "fr"})["values"] == ["Brest"]
    assert completion(mcp, "completed", "city", "Be")["values"] == ["Berlin", "Bern"]


def test_an_async_function_may_ask_for_the_context(mcp: MCPClient, staff: Any) -> None:
    assert completion(mcp, "completed", "user", "gr")["values"] == ["ada", "grace"]


def test_a_query_is_completed_from_its_rows(mcp: MCPClient) -> None:
    found = completion(mcp, "completed", "rows", "")
    assert found == {"values": ["ada"], "hasMore": False}


def test_at_most_a_hundred_values_are_given(mcp: MCPClient) -> None:
    many = completion(mcp, "completed", "many", "item")
    assert (len(many["values"]), many["total"], many["hasMore"]) == (100, 250, True)
    unknown = completion(mcp, "completed", "number", "")
    assert unknown == {"values": [str(n) for n in range(100)], "hasMore": True}


def test_a_completion_may_be_spelled_out(mcp: MCPClient) -> None:
    assert completion(mcp, "completed", "spelled", "a") == {
        "values": ["a!"],
        "total": 7,
        "hasMore": True,
    }


def test_closed_choices_complete_themselves(mcp: MCPClient) -> None:
    assert completion(mcp, "completed", "style", "l")["values"] == ["long"]
    assert completion(mcp, "completed", "formal", "")["values"] == ["true", "false"]
    assert completion(mcp, "orders://all{?status,page}", "status", "")["values"] == [
        *("open", "shipped")
    ]


def test_an_argument_without_a_completer_has_no_suggestions(mcp: MCPClient) -> None:
    assert completion(mcp, "completed", "plain", "x") == {
        "values": [],
        "total": 0,
        "hasMore": False,
    }


def test_templates_are_completed_by_their_text_or_a_uri(mcp: MCPClient) -> None:
    assert completion(mcp, "orders://{number}", "number", "1")["values"] == ["1", "10"]
    assert completion(mcp, "orders://17", "number", "2")["values"] == ["2"]


@pytest.mark.parametrize("ref", ["staff_prompt", "nowhere", "staff://{name}", "nowhere://{name}"])
def test_what_the_caller_may_not_use_is_unknown(mcp: MCPClient, ref: str) -> None:
    answer = mcp.complete(ref, "name", "s")
    assert answer.error == {"code": -32602, "message": "Unknown reference"}
    assert b"secret-plan" not in answer.body


def test_staff_get_suggestions_of_theirs(
    make_client: MakeClient, make_token: MakeToken, staff: Any, version: str
) -> None:
    client = make_client(version, make_token(staff))
    for ref in ("staff_prompt", "staff://{name}"):
        assert completion(client, ref, "name", "s")["values"] == ["secret-plan"]


def test_a_token_without_the_scope_gets_no_suggestions(mcp: MCPClient) -> None:
    assert mcp.complete("scoped_prompt", "number", "").status == 403


def test_completions_count_with_what_they_belong_to(mcp: MCPClient) -> None:
    assert mcp.complete("rare_prompt", "name", "").status == 200
    assert mcp.prompt("rare_prompt").status == 200
    assert mcp.complete("rare_prompt", "name", "").status == 429


def refused(mcp: MCPClient, params: dict[str, Any]) -> Answer:
    return mcp.request("completion/complete", params)


@pytest.mark.parametrize(
    "wrong",
    [
        {"ref": None},
        {"ref": "completed"},
        {"ref": {"type": "ref/tool", "name": "add"}},
        {"ref": {"type": "ref/prompt"}},
        {"ref": {"type": "ref/resource", "uri": 5}},
        {"argument": {"name": "nowhere", "value": ""}},
        {"argument": {"name": "country"}},
        {"argument": {"name": "country", "value": 5}},
        {"context": {"arguments": ["de"]}},
        {"context": {"arguments": {"country": 5}}},
    ],
)
def test_what_is_badly_formed_is_refused(modern: MCPClient, wrong: dict[str, Any]) -> None:
    params: dict[str, Any] = {
        "ref": {"type": "ref/prompt", "name": "completed"},
        "argument": {"name": "country", "value": ""},
    }
    assert refused(modern, params).status == 200
    answer = refused(modern, params | wrong)
    assert (answer.status, answer.error["code"]) == (400, -32602)


def test_only_refused_completions_are_events(mcp: MCPClient) -> None:
    mcp.complete("completed", "country", "d")
    assert not CallEvent.objects.exists()
    mcp.complete("staff_prompt", "name", "")
    event = CallEvent.objects.get()
    assert (event.method, event.tool, event.outcome) == (
        "completion/complete",
        "staff_prompt",
        "denied",
    )


def test_a_completer_that_fails_says_nothing_but_an_id(
    mcp: MCPClient, caplog: pytest.LogCaptureFixture
) -> None:
    answer = mcp.complete("completed", "broken", "")
    event = CallEvent.objects.get()
    assert answer.error == {
        "code": -32603,
        "message": f"The completer failed. Correlation id: {event.correlation_id}",
    }
    assert (event.tool, event.outcome) == ("completed", "failed")
    assert "hunter2" in caplog.text
