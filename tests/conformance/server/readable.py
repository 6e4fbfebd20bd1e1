"""The suite's fixture resources, prompts and completions."""

import base64
from typing import Annotated

from pydantic import Field

from mcp_app import EmbeddedResource, ImageContent, Message, prompt, resource
from tests.conformance.server.fixtures import PNG


@resource("test://static-text", name="a-static-text", mime_type="text/plain")
def static_text() -> str:
    """A text that never changes."""
    return "This is the content of the static text resource."


@resource("test://static-binary", name="static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """An image of one pixel."""
    return base64.b64decode(PNG)


@resource("test://watched-resource", name="watched-resource", mime_type="text/plain")
def watched() -> str:
    """A resource to subscribe to."""
    return "Watched."


@resource("test://template/{id}/data", name="template-data", mime_type="application/json")
def template_data(id: str) -> dict[str, object]:
    """Data by its id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@prompt
def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@prompt(complete={"arg1": ["testValue1", "testValue2"], "arg2": ["testValue2"]})
def test_prompt_with_arguments(
    arg1: Annotated[str, Field(description="The first")],
    arg2: Annotated[str, Field(description="The second")],
) -> str:
    """A prompt with two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@prompt
def test_prompt_with_embedded_resource(
    resourceUri: Annotated[str, Field(description="What to embed")],
) -> list[Message]:
    """A prompt that embeds a resource."""
    embedded = EmbeddedResource(
        uri=resourceUri,
        mime_type="text/plain",
        text="Embedded resource content for testing.",
    )
    return [
        Message("user", embedded),
        Message("user", "Please process the embedded resource above."),
    ]


@prompt
def test_prompt_with_image() -> list[Message]:
    """A prompt with an image."""
    return [
        Message("user", ImageContent(data=PNG, mime_type="image/png")),
        Message("user", "Please analyze the image above."),
    ]
