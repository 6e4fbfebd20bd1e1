"""From what a tool returns to the CallToolResult of each revision."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest

from mcp_app.catalog.definition import Tool
from mcp_app.catalog.errors import OutputInvalid, Unencodable
from mcp_app.catalog.registry import MCPServer
from mcp_app.catalog.results import ToolResult, to_result
from mcp_app.protocol.content import AudioContent, ContentBlock, ImageContent, TextContent
from mcp_app.protocol.versions import (
    V_2024_11_05,
    V_2025_03_26,
    V_2025_06_18,
    V_2026_07_28,
    VERSIONS,
    Era,
    ProtocolVersion,
)
from tests.catalog import wire


@dataclass
class Stock:
    sku: str
    price: Decimal


STOCK = Stock("a", Decimal("1.10"))
STOCK_JSON = {"sku": "a", "price": "1.10"}
STOCK_TEXT = '{"sku":"a","price":"1.10"}'


class Color(Enum):
    RED = "red"


def declared(returns: Any = ..., **options: Any) -> Tool:
    def run() -> Any:
        """Do it."""

    run.__annotations__["return"] = returns
    if returns is ...:
        del run.__annotations__["return"]
    server = MCPServer()
    server.tool(**options)(run)
    assert not server.problems
    return server.tools["run"]


def text(value: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": value}]


CASES: list[tuple[Any, Any, dict[str, Any]]] = [
    (..., "plain", {"content": text("plain")}),
    (str, "plain", {"content": text("plain")}),
    (..., None, {"content": []}),
    (None, None, {"content": []}),
    (..., 5, {"content": text("5")}),
    (..., True, {"content": text("true")}),
    (..., 2**70, {"content": text(str(2**70))}),
    (..., [1, 2], {"content": text("[1,2]")}),
    (..., [], {"content": text("[]")}),
    (..., {"a": 1}, {"content": text('{"a":1}'), "structuredContent": {"a": 1}}),
    (..., STOCK, {"content": text(STOCK_TEXT), "structuredContent": STOCK_JSON}),
    (..., {"a": 2**70}, {"content": text(f'{{"a":{2**70}}}'), "structuredContent": {"a": 2**70}}),
    (Stock, STOCK, {"content": text(STOCK_TEXT), "structuredContent": STOCK_JSON}),
    (
        list[Stock],
        [STOCK],
        {"content": text(f"[{STOCK_TEXT}]"), "structuredContent": {"result": [STOCK_JSON]}},
    ),
    (int, 5, {"content": text("5"), "structuredContent": {"result": 5}}),
    (int | None, None, {"content": text("null"), "structuredContent": {"result": None}}),
    (Color, Color.RED, {"content": text("red"), "structuredContent": {"result": "red"}}),
    (Decimal, Decimal("1.10"), {"content": text("1.10"), "structuredContent": {"result": "1.10"}}),
    (..., TextContent("a"), {"content": text("a")}),
    (..., [TextContent("a"), TextContent("b")], {"content": text("a") + text("b")}),
    (list[TextContent], [], {"content": []}),
    (..., ToolResult("a"), {"content": text("a")}),
    (..., ToolResult(), {"content": []}),
    (..., ToolResult(["a", TextContent("b")]), {"content": text("a") + text("b")}),
    (..., ToolResult("no", is_error=True), {"content": text("no"), "isError": True}),
    (..., ToolResult("a", meta={"x/y": 1}), {"content": text("a"), "_meta": {"x/y": 1}}),
    (
        ...,
        ToolResult("short", structured={"a": 1}),
        {"content": text("short"), "structuredContent": {"a": 1}},
    ),
    (
        ...,
        ToolResult(structured=[1]),
        {"content": text("[1]"), "structuredContent": {"result": [1]}},
    ),
    (
        ...,
        ToolResult(structured=None),
        {"content": text("null"), "structuredContent": {"result": None}},
    ),
    (
        Stock,
        ToolResult("short", structured=STOCK),
        {"content": text("short"), "structuredContent": STOCK_JSON},
    ),
    (Stock, ToolResult("gone", is_error=True), {"content": text("gone"), "isError": True}),
    (
        Stock,
        ToolResult("gone", structured={"why": "sold"}, is_error=True),
        {"content": text("gone"), "structuredContent": {"why": "sold"}, "isError": True},
    ),
    (..., "a\ud800", {"content": text("a\ufffd")}),
    (
        ...,
        {"a": "\ud800"},
        {"content": text('{"a":"\ufffd"}'), "structuredContent": {"a": "\ufffd"}},
    ),
]  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("returns", "value", "expected"), CASES)
def test_each_value_becomes_a_result_of_each_revision(
    returns: Any, value: Any, expected: dict[str, Any], version: ProtocolVersion
) -> None:
    result = to_result(declared(returns), value, version)
    wanted = dict(expected)
    if not version.output_schema:
        wanted.pop("structuredContent", None)
    assert result == wanted
    complete = {"resultType": "complete"} if version.era is Era.MODERN else {}
    wire.check(version, "CallToolResult", result | complete)


@pytest.mark.parametrize("returns", [Stock, list[Stock], dict[str, Any], int])
def test_text_and_structure_say_the_same(returns: Any) -> None:
    values: dict[Any, Any] = {Stock: STOCK, int: 5, dict[str, Any]: {"a": b"\xff"}}
    result = to_result(declared(returns), values.get(returns, [STOCK]), V_2026_07_28)
    structured = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) in (structured, structured.get("result"))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "value",
    [None, "oops", {"sku": "a"}, TextContent("a"), [TextContent("a")], ToolResult("a"),
     ToolResult(structured={"sku": 5})],
)  # fmt: skip
def test_a_misfit_is_refused_in_every_revision(value: Any, version: ProtocolVersion) -> None:
    with pytest.raises(OutputInvalid):
        to_result(declared(Stock), value, version)


def test_content_is_written_for_the_revision() -> None:
    audio = declared(AudioContent)
    assert to_result(audio, AudioContent(b"a", "audio/wav"), V_2024_11_05)["content"][0][
        "type"
    ] == ("text")
    assert to_result(audio, AudioContent(b"a", "audio/wav"), V_2025_03_26)["content"][0][
        "type"
    ] == ("audio")


@pytest.mark.parametrize("value", [object(), {"a": object()}, ToolResult(structured=object())])
def test_what_has_no_json_is_refused(value: Any) -> None:
    with pytest.raises(Unencodable, match=r"^object: "):
        to_result(declared(), value, V_2026_07_28)


def test_unstructured_tools_answer_in_text_alone() -> None:
    tool = declared(Stock, structured=False)
    assert to_result(tool, STOCK, V_2026_07_28) == {"content": text(STOCK_TEXT)}
    assert "outputSchema" not in tool.definition(V_2026_07_28)


def test_output_stands_above_the_annotation() -> None:
    assert declared(Any, output=Stock).output.schema is not None
    assert declared(Stock, output=None).output.schema is None
    without = declared(Stock, output=None)
    assert to_result(without, STOCK, V_2025_06_18)["structuredContent"] == STOCK_JSON


def test_a_picture_goes_out_as_it_is() -> None:
    picture: Callable[[], ContentBlock] = lambda: ImageContent(b"\xff\xfe", "image/png")  # noqa: E731
    assert to_result(declared(), [picture(), picture()], V_2026_07_28) == {
        "content": [{"type": "image", "data": "//4=", "mimeType": "image/png"}] * 2
    }
