"""Prompts as immutable values, and the messages that they give (`2026-07-28 server/prompts`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from mcp_app.catalog.completers import Completer
from mcp_app.catalog.definition import Declaration
from mcp_app.catalog.errors import Unencodable
from mcp_app.catalog.texts import TextArguments
from mcp_app.protocol.content import ContentBlock, text_block
from mcp_app.protocol.versions import ProtocolVersion

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt: who says it, and a text or a content block."""

    role: Role
    content: ContentBlock | str

    def __post_init__(self) -> None:
        if self.role not in ("user", "assistant"):
            raise ValueError(f"a message is from the user or the assistant, not {self.role!r}")
        if not isinstance(self.content, ContentBlock | str):
            raise TypeError("a message holds one text or one content block")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Prompt(Declaration):
    """Everything known about a prompt."""

    noun: ClassVar[str] = "prompt"

    arguments: TextArguments
    read_only: bool = True
    completers: Mapping[str, Completer] = field(default_factory=dict)

    def _defined(self, version: ProtocolVersion) -> dict[str, Any]:
        properties = self.arguments.schema["properties"]
        return {"arguments": [self._argument(n, s, version) for n, s in properties.items()]}

    def _argument(
        self, name: str, schema: Mapping[str, Any], version: ProtocolVersion
    ) -> dict[str, Any]:
        told: dict[str, Any] = {"name": name}
        if version.titles and "title" in schema:
            told["title"] = schema["title"]
        if "description" in schema:
            told["description"] = schema["description"]
        return told | {"required": name in self.arguments.required}


def to_messages(prompt: Prompt, value: Any, version: ProtocolVersion) -> dict[str, Any]:
    """The GetPromptResult for what `prompt` returned: a text, a block, a Message, or several.

    Texts and blocks are the user's.

    Raises:
        Unencodable: it is something else.
    """
    several = isinstance(value, list | tuple | Iterator)
    messages = [_message(item) for item in (value if several else [value])]
    result: dict[str, Any] = {"description": prompt.description}
    result["messages"] = [
        {"role": m.role, "content": _content(m.content, version)} for m in messages
    ]
    return result


def _message(value: Any) -> Message:
    if isinstance(value, Message):
        return value
    if isinstance(value, ContentBlock | str):
        return Message("user", value)
    raise Unencodable(type(value).__name__, "is no message of a prompt")


def _content(content: ContentBlock | str, version: ProtocolVersion) -> dict[str, Any]:
    return text_block(content) if isinstance(content, str) else content.as_dict(version)
