"""Arrays and objects that arrive as strings of JSON, as many clients send them (D-059)."""

import json
from typing import Any

import pytest

from mcp_app.models import CallEvent
from mcp_app.testing import MCPClient
from tests.interaction.conftest import MakeClient, Serve, ready


def take(
    numbers: list[int] | None = None,
    filters: dict[str, int] | None = None,
    text: str = "",
    count: int = 0,
    flag: bool = True,
) -> dict[str, Any]:
    """Tell what arrived."""
    return {"numbers": numbers, "filters": filters, "text": text, "count": count, "flag": flag}


@pytest.fixture
def client(make_client: MakeClient, version: str, serve: Serve) -> MCPClient:
    serve(take, read_only=True, structured=False)
    return ready(make_client(version))


DECODED: list[tuple[str, str, Any]] = [
    ("numbers", "[1,2]", [1, 2]),
    ("numbers", " [1, 2]\n", [1, 2]),
    ("filters", '{"a":1}', {"a": 1}),
    ("filters", "{}", {}),
]
NEVER: list[tuple[str, Any]] = [
    ("numbers", '"[1,2]"'),
    ("numbers", '{"a":1}'),
    ("numbers", "[1,2"),
    ("numbers", '["[1]"]'),
    ("numbers", "[NaN]"),
    ("numbers", "1,2"),
    ("numbers", ""),
    ("numbers", "[" * 100_000),
    ("numbers", f"[{'1,' * 200_000}1]"),
    ("filters", "[1]"),
    ("filters", '{"a":"1"}'),
    ("filters", '"{}"'),
    ("count", "5"),
    ("count", "[5]"),
    ("flag", "false"),
    ("flag", "0"),
    ("text", [1, 2]),
    ("text", {"a": 1}),
]


@pytest.mark.parametrize(("name", "sent", "arrives"), DECODED)
def test_a_declared_array_or_object_is_decoded_once(
    client: MCPClient, settings: Any, name: str, sent: str, arrives: Any
) -> None:
    answer = client.call("take", {name: sent})
    assert not answer.is_error, answer.text
    assert json.loads(answer.text)[name] == arrives
    settings.MCP_APP = {**settings.MCP_APP, "LENIENT_ARGUMENTS": False}
    strict = client.call("take", {name: sent})
    assert (strict.status, strict.is_error) == (200, True)
    assert name in strict.text


@pytest.mark.parametrize(("name", "sent"), NEVER, ids=range(len(NEVER)))
def test_nothing_else_becomes_what_it_is_not(client: MCPClient, name: str, sent: Any) -> None:
    answer = client.call("take", {name: sent})
    assert (answer.status, answer.is_error) == (200, True)
    assert name in answer.text
    assert CallEvent.objects.get(tool="take").outcome == "invalid"


@pytest.mark.parametrize("text", ["[1,2]", '{"a":1}', "null", "5", "true"])
def test_a_text_stays_the_text_that_it_is(client: MCPClient, text: str) -> None:
    assert json.loads(client.call("take", {"text": text}).text)["text"] == text
