"""The suite's fixture tools that need no more than tools, built with the public API alone.

Names, texts and numbers are the suite's (0.2.0-alpha.12), not ours.
"""

import time
from typing import Annotated

from pydantic import Field

from mcp_app import (
    AudioContent,
    Context,
    EmbeddedResource,
    ImageContent,
    TextContent,
    ToolError,
    ToolResult,
    tool,
)

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAF"
    "BQIAX8jx0gAAAABJRU5ErkJggg=="
)
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
STEP = 0.05
"""Seconds between two notifications."""


@tool(read_only=True)
def test_simple_text() -> str:
    """Returns a text."""
    return "This is a simple text response for testing."


@tool(read_only=True)
def test_image_content() -> ImageContent:
    """Returns an image of one pixel."""
    return ImageContent(data=PNG, mime_type="image/png")


@tool(read_only=True)
def test_audio_content() -> AudioContent:
    """Returns a very short sound."""
    return AudioContent(data=WAV, mime_type="audio/wav")


@tool(read_only=True)
def test_embedded_resource() -> EmbeddedResource:
    """Returns an embedded text resource."""
    return EmbeddedResource(
        uri="test://embedded-resource",
        mime_type="text/plain",
        text="This is an embedded resource content.",
    )


@tool(read_only=True)
def test_multiple_content_types() -> ToolResult:
    """Returns a text, an image and a resource."""
    return ToolResult(
        content=[
            TextContent("Multiple content types test:"),
            ImageContent(data=PNG, mime_type="image/png"),
            EmbeddedResource(
                uri="test://mixed-content-resource",
                mime_type="application/json",
                text='{"test":"data","value":123}',
            ),
        ]
    )


@tool(read_only=True)
def test_error_handling() -> str:
    """Fails."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool(read_only=True)
def test_tool_with_logging(ctx: Context) -> str:
    """Logs three lines while it runs."""
    for line in ("Tool execution started", "Tool processing data"):
        ctx.log("info", line)
        time.sleep(STEP)
    ctx.log("info", "Tool execution completed")
    return "Tool with logging executed successfully."


@tool(read_only=True)
def test_tool_with_progress(ctx: Context) -> str:
    """Reports progress three times while it runs."""
    for done in (0, 50):
        ctx.report_progress(done, total=100)
        time.sleep(STEP)
    ctx.report_progress(100, total=100)
    return "Tool with progress executed successfully."


@tool(read_only=True)
def test_logging_tool(ctx: Context) -> str:
    """Logs one line, which only reaches a request that asked for logs."""
    ctx.log("info", "A line for those who asked for it")
    return "Logged."


@tool(read_only=True)
def test_x_mcp_header(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
) -> str:
    """Takes an argument that clients repeat in the header Mcp-Param-Region."""
    return f"Region: {region}"
