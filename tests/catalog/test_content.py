"""Content blocks, as each revision writes them."""

from typing import Any

import pytest

from mcp_app.protocol.content import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)
from mcp_app.protocol.versions import (
    V_2024_11_05,
    V_2025_03_26,
    V_2025_06_18,
    V_2025_11_25,
    VERSIONS,
    ProtocolVersion,
)
from tests.catalog import wire

NOTES = {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-02T03:04:05Z"}
META = {"example.com/kind": "x"}
ICON = {"src": "https://example.com/icon.png"}
BLOCKS: list[ContentBlock] = [
    TextContent("text", NOTES, META),
    ImageContent(b"\xff\xfe", "image/png", NOTES, META),
    AudioContent(b"\xff\xfe", "audio/wav", NOTES, META),
    ResourceLink("file:///a", "a", "A", "An a", "text/plain", 5, (ICON,), NOTES, META),
    EmbeddedResource("file:///a", text="a", mime_type="text/plain", annotations=NOTES, meta=META),
    EmbeddedResource("file:///b", blob=b"\xff\xfe"),
]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: type(block).__name__)
def test_a_block_is_what_the_revision_has_in_its_schema(
    block: ContentBlock, version: ProtocolVersion
) -> None:
    written = block.as_dict(version)
    result = {"content": [written], "resultType": "complete"}
    wire.check(version, "CallToolResult", result)
    assert ("_meta" in written) == (version.item_meta and getattr(block, "meta", None) is not None)


def test_bytes_are_written_in_base64_and_text_is_taken_for_base64() -> None:
    for data in (b"\xff\xfe", bytearray(b"\xff\xfe"), memoryview(b"\xff\xfe"), "//4="):
        assert ImageContent(data, "image/png").as_dict(V_2024_11_05)["data"] == "//4="


@pytest.mark.parametrize(
    ("block", "version", "told"),
    [
        (BLOCKS[2], V_2024_11_05, "audio/wav"),
        (BLOCKS[3], V_2024_11_05, "A: file:///a (An a)"),
        (BLOCKS[3], V_2025_03_26, "A: file:///a (An a)"),
        (ResourceLink("file:///a", "a"), V_2025_03_26, "a: file:///a"),
    ],
)
def test_a_block_that_a_revision_does_not_know_is_told_as_text(
    block: ContentBlock, version: ProtocolVersion, told: str
) -> None:
    written = block.as_dict(version)
    assert written["type"] == "text"
    assert told in written["text"]


def test_icons_and_modification_times_go_only_where_they_are_known() -> None:
    link = BLOCKS[3]
    assert "icons" not in link.as_dict(V_2025_06_18)
    assert link.as_dict(V_2025_11_25)["icons"] == [ICON]
    assert "lastModified" not in BLOCKS[0].as_dict(V_2025_03_26)["annotations"]
    assert BLOCKS[0].as_dict(V_2025_06_18)["annotations"] == NOTES


def test_a_lone_surrogate_in_text_is_replaced() -> None:
    assert TextContent("a\ud800b😀").as_dict(V_2025_06_18)["text"] == "a\ufffdb😀"


@pytest.mark.parametrize("given", [{}, {"text": "a", "blob": b"a"}])
def test_an_embedded_resource_has_either_text_or_blob(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="either text or blob"):
        EmbeddedResource("file:///a", **given)
