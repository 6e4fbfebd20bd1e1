"""What a tool gives back, as the CallToolResult of one protocol revision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcp_app.catalog.encoding import encode, json_text
from mcp_app.catalog.errors import OutputInvalid
from mcp_app.protocol.content import ContentBlock, text_block
from mcp_app.protocol.versions import ProtocolVersion

if TYPE_CHECKING:
    from mcp_app.catalog.definition import Tool
    from mcp_app.catalog.output import Output

Content = Sequence[ContentBlock | str] | ContentBlock | str

ABSENT: Final[Any] = ...
"""Stands for a structured result that was not given; None is one."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A result spelled out: content blocks, structured value, error flag and metadata.

    Without `content`, the text of the structured value is the content.
    """

    content: Content | None = None
    structured: Any = ABSENT
    is_error: bool = False
    meta: Mapping[str, Any] | None = None


def to_result(tool: "Tool", value: Any, version: ProtocolVersion) -> dict[str, Any]:
    """The CallToolResult for what `tool` returned: `2026-07-28 server/tools` Tool Result.

    Fields of one era alone (`resultType`) are not in it; `isError` is there when it is true.

    Raises:
        OutputInvalid: the value does not fit the tool's output schema.
        Unencodable: something in it has no JSON form.
    """
    output = tool.output
    if isinstance(value, ToolResult):
        return _spelled_out(output, value, version)
    blocks = _blocks(value, output)
    if blocks is not None:
        return _promised(output, {"content": [b.as_dict(version) for b in blocks]})
    if value is None and output.schema is None:
        return {"content": []}
    encoded = output.encode(value)
    return {"content": [text_block(_text(encoded))]} | _structured(output, encoded, version)


def _blocks(value: Any, output: "Output") -> Sequence[ContentBlock] | None:
    """The content blocks that a value consists of, None where it is something else."""
    if isinstance(value, ContentBlock):
        return [value]
    if not isinstance(value, list | tuple):
        return None
    if not value:
        return [] if output.content else None
    return value if all(isinstance(item, ContentBlock) for item in value) else None


def _promised(output: "Output", result: dict[str, Any]) -> dict[str, Any]:
    if output.schema is not None:
        raise OutputInvalid("the output schema promises a structured result, and there is none")
    return result


def _text(encoded: Any) -> str:
    return encoded if isinstance(encoded, str) else json_text(encoded)


def _structured(output: "Output", encoded: Any, version: ProtocolVersion) -> dict[str, Any]:
    """`structuredContent`: what the schema promises, and any object where there is no schema."""
    told = output.schema is not None or isinstance(encoded, dict)
    if not (told and output.offered and version.output_schema):
        return {}
    return {"structuredContent": output.wrap(encoded)}


def _spelled_out(output: "Output", given: ToolResult, version: ProtocolVersion) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if given.structured is not ABSENT:
        # An error need not look like a success: its structured value is only encoded.
        encoded = encode(given.structured) if given.is_error else output.encode(given.structured)
        result["content"] = [text_block(_text(encoded))]
        if version.output_schema:
            object_only = encoded if isinstance(encoded, dict) else {"result": encoded}
            result["structuredContent"] = object_only if given.is_error else output.wrap(encoded)
    elif not given.is_error:
        _promised(output, result)
    if given.content is not None or "content" not in result:
        result["content"] = _written(given.content, version)
    if given.is_error:
        result["isError"] = True
    if given.meta:
        result["_meta"] = encode(given.meta)
    return result


def _written(content: Content | None, version: ProtocolVersion) -> list[dict[str, Any]]:
    items = [content] if isinstance(content, ContentBlock | str) else content or []
    return [text_block(item) if isinstance(item, str) else item.as_dict(version) for item in items]
