"""Content blocks of a result, each written as one protocol revision knows it.

A block that a revision has no name for is told as text, so that an older client still reads
something. Knows nothing of tools: prompts and resources carry the same blocks.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_app.protocol.versions import ProtocolVersion

Annotations = Mapping[str, Any]
"""`audience`, `priority` (0 to 1) and `lastModified`: `2026-07-28 server/resources` Annotations."""


def well_formed(text: str) -> str:
    """`text` with U+FFFD for each lone surrogate, which UTF-8 cannot carry."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def encoded(data: bytes | bytearray | memoryview | str) -> str:
    """Base64 of bytes. A string is taken to be base64 already."""
    return data if isinstance(data, str) else base64.b64encode(data).decode("ascii")


def text_block(text: str) -> dict[str, Any]:
    """A text block that carries nothing but `text`."""
    return {"type": "text", "text": well_formed(text)}


def resource_contents(
    uri: str,
    text: str | None,
    blob: bytes | bytearray | memoryview | str | None,
    mime_type: str | None,
) -> dict[str, Any]:
    """`TextResourceContents` or `BlobResourceContents`, whichever of the two is given."""
    contents: dict[str, Any] = {"uri": uri}
    if mime_type is not None:
        contents["mimeType"] = mime_type
    if text is not None:
        contents["text"] = well_formed(text)
    if blob is not None:
        contents["blob"] = encoded(blob)
    return contents


class ContentBlock:
    """What the blocks have in common: each can write itself for one revision."""

    __slots__ = ()

    def as_dict(self, version: ProtocolVersion) -> dict[str, Any]:
        """The block as `version` has it in its schema."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TextContent(ContentBlock):
    """Text for the model."""

    text: str
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    def as_dict(self, version: ProtocolVersion) -> dict[str, Any]:
        """A text block."""
        return text_block(self.text) | _common(version, self.annotations, self.meta)


@dataclass(frozen=True, slots=True)
class ImageContent(ContentBlock):
    """A picture: `data` as bytes, or as text that is base64 already."""

    data: bytes | bytearray | memoryview | str
    mime_type: str
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    def as_dict(self, version: ProtocolVersion) -> dict[str, Any]:
        """An image block."""
        block = {"type": "image", "data": encoded(self.data), "mimeType": self.mime_type}
        return block | _common(version, self.annotations, self.meta)


@dataclass(frozen=True, slots=True)
class AudioContent(ContentBlock):
    """A sound: `data` as bytes, or as text that is base64 already. Known from 2025-03-26 on."""

    data: bytes | bytearray | memoryview | str
    mime_type: str
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    def as_dict(self, version: ProtocolVersion) -> dict[str, Any]:
        """An audio block, or a line of text that says what is missing."""
        if not version.audio:
            return text_block(f"[audio left out: {self.mime_type}]")
        block = {"type": "audio", "data": encoded(self.data), "mimeType": self.mime_type}
        return block | _common(version, self.annotations, self.meta)


@dataclass(frozen=True, slots=True)
class ResourceLink(ContentBlock):
    """A resource that the client may read. Known from 2025-06-18 on."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    """Bytes, before any encoding."""
    icons: tuple[Mapping[str, Any], ...] = ()
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    def as_dict(self, version: ProtocolVersion) -> dict[str, Any]:
        """A resource link, or a line of text with its name, address and description."""
        if not version.resource_links:
            told = f"{self.title or self.name}: {self.uri}"
            return text_block(f"{told} ({self.description})" if self.description else told)
        fields: dict[str, Any] = {
            "title": self.title,
            "description": self.description,
            "mimeType": self.mime_type,
            "size": self.size,
            "icons": [dict(icon) for icon in self.icons] if version.icons else None,
        }
        block = {"type": "resource_link", "uri": self.uri, "name": self.name}
        given = {key: value for key, value in fields.items() if value not in (None, [])}
        return block | given | _common(version, self.annotations, self.meta)


@dataclass(frozen=True, slots=True)
class EmbeddedResource(ContentBlock):
    """A resource's contents, carried along: either `text` or `blob` (bytes, or base64 text)."""

    uri: str
    text: str | None = None
    blob: bytes | bytearray | memoryview | str | None = None
    mime_type: str | None = None
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if (self.text is None) == (self.blob is None):
            raise ValueError("an embedded resource has either text or blob")

    def as_dict(self, version: ProtocolVersion) -> dict[str, Any]:
        """An embedded resource block."""
        resource = resource_contents(self.uri, self.text, self.blob, self.mime_type)
        block = {"type": "resource", "resource": resource}
        return block | _common(version, self.annotations, self.meta)


BLOCKS: Final = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)


def _common(
    version: ProtocolVersion, annotations: Annotations | None, meta: Mapping[str, Any] | None
) -> dict[str, Any]:
    """`annotations` and `_meta`, as far as `version` knows them."""
    common: dict[str, Any] = {}
    if kept := kept_annotations(version, annotations):
        common["annotations"] = kept
    if meta and version.item_meta:
        common["_meta"] = dict(meta)
    return common


def kept_annotations(version: ProtocolVersion, annotations: Annotations | None) -> dict[str, Any]:
    """What `version` knows of `annotations`."""
    # `lastModified` and a block's `_meta` arrived in the same revision.
    return {
        name: value
        for name, value in (annotations or {}).items()
        if version.item_meta or name != "lastModified"
    }
