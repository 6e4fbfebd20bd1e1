"""The Tool object of each revision."""

import json
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from mcp_app.catalog.definition import Tool
from mcp_app.catalog.registry import MCPServer
from mcp_app.protocol.versions import (
    V_2024_11_05,
    V_2025_03_26,
    V_2025_06_18,
    V_2025_11_25,
    V_2026_07_28,
    VERSIONS,
    ProtocolVersion,
)
from tests.catalog import wire

ICON: Mapping[str, Any] = {"src": "https://example.com/icon.png", "sizes": ["48x48"]}


def made(**options: Any) -> Tool:
    server = MCPServer()

    @server.tool(**options)
    def stock(sku: str, limit: int = 5) -> list[int]:
        """How much there is."""
        return []

    assert not server.problems
    return server.tools["stock"]


FULL = made(
    title="Stock",
    read_only=True,
    idempotent=True,
    destructive=False,
    open_world=False,
    icons=[ICON],
    meta={"example.com/kind": "x"},
)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("tool", [FULL, made()], ids=["full", "bare"])
def test_a_definition_is_what_the_revision_has_in_its_schema(
    tool: Tool, version: ProtocolVersion
) -> None:
    definition = tool.definition(version)
    wire.check(version, "Tool", definition)
    known = wire.validator(version, "Tool").schema
    keyword = "$defs" if "$defs" in known else "definitions"
    assert set(definition) <= set(known[keyword]["Tool"]["properties"])


def test_each_field_goes_only_where_it_is_known() -> None:
    fields = {version: set(FULL.definition(version)) for version in VERSIONS}
    base = {"name", "description", "inputSchema"}
    assert fields[V_2024_11_05] == base
    assert fields[V_2025_03_26] == base | {"annotations"}
    assert fields[V_2025_06_18] == base | {"annotations", "title", "outputSchema", "_meta"}
    assert fields[V_2025_11_25] == fields[V_2026_07_28] == fields[V_2025_06_18] | {"icons"}


def test_the_title_stands_among_the_annotations_where_it_has_no_field() -> None:
    assert FULL.definition(V_2025_03_26)["annotations"]["title"] == "Stock"
    assert "title" not in FULL.definition(V_2025_06_18)["annotations"]


@pytest.mark.parametrize(
    ("options", "annotations"),
    [
        ({}, None),
        ({"read_only": True}, {"readOnlyHint": True}),
        ({"destructive": True}, {"destructiveHint": True}),
        ({"destructive": False}, {"destructiveHint": False}),
        ({"idempotent": True, "open_world": False},
         {"idempotentHint": True, "openWorldHint": False}),
    ],
)  # fmt: skip
def test_hints_are_those_that_were_declared(
    options: dict[str, Any], annotations: dict[str, Any] | None
) -> None:
    assert made(**options).definition(V_2026_07_28).get("annotations") == annotations


def test_a_definition_is_made_once_for_each_revision_and_reads_the_same_as_bytes() -> None:
    for version in VERSIONS:
        assert FULL.definition(version) is FULL.definition(version)
        assert FULL.definition_json(version) is FULL.definition_json(version)
        assert json.loads(FULL.definition_json(version)) == FULL.definition(version)


def test_a_tool_does_not_change_and_a_copy_defines_itself_anew() -> None:
    with pytest.raises(FrozenInstanceError):
        FULL.name = "other"  # type: ignore[misc]
    FULL.definition(V_2026_07_28)
    assert replace(FULL, name="other").definition(V_2026_07_28)["name"] == "other"
