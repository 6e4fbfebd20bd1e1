"""What tools return, as it arrives: values, schemas, sizes and pages (D-050, 053, 055, 056)."""

import dataclasses
import datetime
import decimal
import enum
import json
import re
import uuid
from collections.abc import Callable
from typing import Any

import jsonschema
import pydantic
import pytest
from django.contrib.auth import get_user_model
from django.db import models
from django.utils.translation import gettext_lazy

from mcp_app import ImageContent, MCPServer, ResourceLink, TextContent, ToolResult
from mcp_app.models import CallEvent
from mcp_app.protocol.versions import BY_NAME
from mcp_app.testing import MCPClient
from tests.interaction.conftest import MODERN, MakeClient, MakeToken
from tests.interaction.tools import server

Serve = Callable[..., str]
User = get_user_model()
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")
NOON = datetime.datetime(2026, 7, 28, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))


class Colour(enum.Enum):
    RED = "red"


class Size(models.TextChoices):
    SMALL = "s", gettext_lazy("Small")


@dataclasses.dataclass
class Point:
    x: decimal.Decimal
    at: datetime.date


class Box(pydantic.BaseModel):
    corner: Point
    tags: set[str]


VALUES: list[tuple[Any, Any]] = [
    (decimal.Decimal("1.10"), "1.10"),
    (ID, str(ID)),
    (datetime.date(2026, 7, 28), "2026-07-28"),
    (NOON, "2026-07-28T12:00:00+02:00"),
    (NOON.replace(tzinfo=None), "2026-07-28T12:00:00"),
    (datetime.time(9, 30), "09:30:00"),
    (datetime.timedelta(hours=1), "PT1H"),
    (b"\x00\xff", "AP8="),
    (memoryview(b"\x00\xff"), "AP8="),
    (gettext_lazy("Small"), "Small"),
    (Colour.RED, "red"),
    (Size.SMALL, "s"),
    ({"b", "a"}, ["a", "b"]),
    ((1, 2), [1, 2]),
    ({ID: 1, 5: 2, datetime.date(2026, 1, 1): 3}, {str(ID): 1, "5": 2, "2026-01-01": 3}),
    (Point(decimal.Decimal("2.50"), datetime.date(2026, 1, 1)), {"x": "2.50", "at": "2026-01-01"}),
    (
        Box(corner=Point(decimal.Decimal(1), datetime.date(2026, 1, 1)), tags={"t"}),
        {"corner": {"x": "1", "at": "2026-01-01"}, "tags": ["t"]},
    ),
    (
        {"nested": [{"deep": (decimal.Decimal("0.10"), None)}]},
        {"nested": [{"deep": ["0.10", None]}]},
    ),
    ([], []),
    ("", ""),
    (True, True),
    (2**70, 2**70),
    ("é😀 \u2028", "é😀 \u2028"),
]


def test_values_of_every_kind_arrive(mcp: MCPClient, serve: Serve) -> None:
    def give(number: int) -> Any:
        return {"value": VALUES[number][0]}

    serve(give, read_only=True)
    for number, (value, expected) in enumerate(VALUES):
        answer = mcp.call("give", {"number": number})
        assert answer.status == 200
        assert json.loads(answer.text) == {"value": expected}, value
        if mcp.version.output_schema:
            # One encoder: what the model reads and what a program reads are the same.
            assert answer.structured == {"value": expected}, value
        else:
            assert "structuredContent" not in answer.result


def test_rows_are_sent_by_explicit_fields_only(
    make_client: MakeClient, serve: Serve, user: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def by_fields() -> Any:
        return User.objects.values("username", "is_staff")

    def by_column() -> Any:
        return User.objects.values_list("username", flat=True)

    def one_row() -> Any:
        return {"user": User.objects.first()}

    def rows() -> Any:
        return User.objects.all()

    client = make_client()
    assert client.call(serve(by_fields)).text == '[{"username":"ada","is_staff":false}]'
    assert client.call(serve(by_column)).text == '["ada"]'
    for tool in (one_row, rows):
        answer = client.call(serve(tool))
        assert answer.is_error
        (sentence,) = [block["text"] for block in answer.result["content"]]
        assert re.fullmatch(r"The tool failed\. Correlation id: [0-9a-f]{32}", sentence)
        assert "structuredContent" not in answer.result
        assert "has no JSON form" in caplog.text
        assert CallEvent.objects.get(tool=tool.__name__).outcome == "failed"


def test_an_object_nobody_taught_the_encoder_is_a_failure_that_shows_nothing(
    mcp: MCPClient, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    class Secretive:
        def __repr__(self) -> str:
            return "hunter2"

    def give() -> Any:
        return [1, {"in": Secretive()}]

    answer = mcp.call(serve(give))
    assert answer.status == 200
    assert answer.is_error
    assert "structuredContent" not in answer.result
    assert b"hunter2" not in answer.body
    assert "Secretive" in caplog.text


# --- output schemas ------------------------------------------------------------------------------


@dataclasses.dataclass
class Total:
    total: int


def test_a_schema_is_kept_by_every_answer_that_is_no_error(
    mcp: MCPClient, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    def sums(how: str) -> Total:
        match how:
            case "well":
                return Total(3)
            case "nothing":
                return None  # type: ignore[return-value]
            case "misfit":
                return {"total": "three"}  # type: ignore[return-value]
        raise RuntimeError("secret")

    serve(sums, read_only=True)
    (tool,) = (tool for tool in mcp.tools() if tool["name"] == "sums")
    well = mcp.call("sums", {"how": "well"})
    if mcp.version.output_schema:
        jsonschema.validate(well.structured, tool["outputSchema"])
        assert well.structured == {"total": 3}
    else:
        assert "outputSchema" not in tool
    for how in ("nothing", "misfit", "raises"):
        answer = mcp.call("sums", {"how": how})
        assert answer.status == 200
        assert answer.is_error
        assert answer.text.startswith("The tool failed. Correlation id: ")
        assert "structuredContent" not in answer.result
    classes = CallEvent.objects.filter(outcome="failed").values_list("error_class", flat=True)
    assert sorted(classes) == ["OutputInvalid", "OutputInvalid", "RuntimeError"]
    assert "total" in caplog.text


@pytest.mark.parametrize(
    ("value", "structured"),
    [(7, {"result": 7}), ([1, 2], {"result": [1, 2]}), (None, {"result": None})],
)
def test_what_is_no_object_is_wrapped_and_its_text_is_not(
    make_client: MakeClient, serve: Serve, value: Any, structured: Any
) -> None:
    def give() -> int | list[int] | None:
        return value  # type: ignore[no-any-return]

    answer = make_client().call(serve(give))
    assert answer.structured == structured
    assert json.loads(answer.text) == value


def test_no_annotation_no_schema(make_client: MakeClient, serve: Serve) -> None:
    def give():  # type: ignore[no-untyped-def]
        return 1

    serve(give)
    (tool,) = (tool for tool in make_client().tools() if tool["name"] == "give")
    assert "outputSchema" not in tool


def test_content_blocks_and_results_spelled_out(make_client: MakeClient, serve: Serve) -> None:
    def blocks() -> list[TextContent | ImageContent | ResourceLink]:
        return [
            TextContent("see"),
            ImageContent(b"\x89PNG", "image/png"),
            ResourceLink("https://example.com/a", "a"),
        ]

    def spelled() -> ToolResult:
        return ToolResult("no stock", structured={"left": 0}, is_error=True, meta={"k": ID})

    client = make_client()
    content = client.call(serve(blocks)).result["content"]
    assert [block["type"] for block in content] == ["text", "image", "resource_link"]
    answer = client.call(serve(spelled))
    assert (answer.text, answer.is_error) == ("no stock", True)
    assert answer.structured == {"left": 0}
    assert answer.result["_meta"]["k"] == str(ID)
    assert CallEvent.objects.get(tool="spelled").outcome == "error"


# --- sizes and pages -----------------------------------------------------------------------------


def test_a_result_over_the_limit_says_so_and_a_small_one_is_measured(
    mcp: MCPClient, serve: Serve
) -> None:
    def much(count: int) -> str:
        return "x" * count

    serve(much, read_only=True)
    answer = mcp.call("much", {"count": 5_000_000})
    assert answer.status == 200
    assert answer.is_error
    assert "too large" in answer.text
    assert len(answer.body) < 1000
    event = CallEvent.objects.get(tool="much")
    assert event.outcome == "error"
    assert event.result_bytes > 5_000_000
    assert mcp.call("much", {"count": 3_000_000}).text == "x" * 3_000_000


@pytest.fixture
def hundreds(serve: Serve, settings: Any) -> list[str]:
    """More tools than a page holds."""
    settings.MCP_APP = {**settings.MCP_APP, "PAGE_SIZE": 50}

    def many() -> str:
        return ""

    return [serve(many, name=f"many_{number:04}") for number in range(300)]


def test_thousands_are_listed_once_each_and_the_last_can_be_called(make_token: MakeToken) -> None:
    large = MCPServer("large")

    @large.tool(name="many_0000", read_only=True)
    def many() -> str:
        """Be one of many."""
        return "one"

    for number in range(1, 3000):
        large.add(dataclasses.replace(large.tools["many_0000"], name=f"many_{number:04}"))
    client = MCPClient(make_token(), version=MODERN, door="asgi", server=large)
    names = [tool["name"] for tool in client.tools()]
    assert names == [f"many_{number:04}" for number in range(3000)]
    first = client.request("tools/list").result
    assert len(first["tools"]) == 200
    assert client.call("many_2999").text == "one"


def test_pages_hold_each_tool_once_in_one_order(mcp: MCPClient, hundreds: list[str]) -> None:
    listed = [tool["name"] for tool in mcp.tools()]
    assert listed == sorted(listed)
    assert len(listed) == len(set(listed))
    assert set(hundreds) <= set(listed)


def test_the_last_page_has_no_cursor_and_all_share_one_cache_scope(
    make_client: MakeClient, hundreds: list[str]
) -> None:
    client = make_client()
    pages, cursor = [], {}
    while True:
        page = client.request("tools/list", cursor).result
        pages.append(page)
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert len(pages) > 6
    assert {page["cacheScope"] for page in pages} == {"private"}
    assert len({page["ttlMs"] for page in pages}) == 1


@pytest.mark.parametrize("cursor", ["garbage", "", "AAAA", "\0", "é", "x" * 10_000])
def test_a_cursor_that_is_none_is_refused(mcp: MCPClient, cursor: str) -> None:
    answer = mcp.request("tools/list", {"cursor": cursor})
    assert answer.error["code"] == -32602


def test_a_cursor_outlives_a_tool_and_shows_nobody_more_than_their_own(
    make_client: MakeClient, make_token: MakeToken, staff: Any, hundreds: list[str]
) -> None:
    first = make_client(MODERN, make_token(staff)).request("tools/list").result
    assert first["tools"][-1]["name"] in hundreds
    server.remove(first["tools"][-1]["name"])
    page = make_client().request("tools/list", {"cursor": first["nextCursor"]}).result
    names = [tool["name"] for tool in page["tools"]]
    assert names == sorted(names)
    assert names[0] > first["tools"][-1]["name"]
    everything = {tool["name"] for tool in make_client().tools()}
    assert "staff_only" not in everything


# --- the shape of a list -------------------------------------------------------------------------


class Node(pydantic.BaseModel):
    children: "list[Node]" = []


def recursive(root: Node) -> Node:
    """Take and give a tree."""
    return root


def choosing(
    what: Point | Box, colour: Colour = Colour.RED, rest: dict[str, Any] | None = None
) -> Any:
    """Take one of two objects."""
    return what


def nothing() -> None:
    """Take nothing."""


def test_every_listed_schema_is_one_that_clients_take(mcp: MCPClient, serve: Serve) -> None:
    for tool in (recursive, choosing, nothing):
        serve(tool)
    for tool in mcp.tools():
        shape = tool["inputSchema"]
        assert shape["type"] == "object"
        assert isinstance(shape["properties"], dict)
        assert not {"oneOf", "anyOf", "allOf", "$ref"} & set(shape)
        for schema in (shape, tool.get("outputSchema", {"type": "object"})):
            assert schema["type"] == "object"
            jsonschema.Draft202012Validator.check_schema(schema)
            _check_references(schema, schema)
        known = {"name", "description", "inputSchema"}
        if BY_NAME[mcp.version.name].annotations:
            known |= {"annotations"}
        if BY_NAME[mcp.version.name].output_schema:
            known |= {"outputSchema", "title"}
        assert set(tool) <= known


def _check_references(node: Any, root: Any) -> None:
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            assert reference.startswith("#/$defs/")
            assert reference.removeprefix("#/$defs/") in root["$defs"]
        for value in node.values():
            _check_references(value, root)
    elif isinstance(node, list):
        for item in node:
            _check_references(item, root)
