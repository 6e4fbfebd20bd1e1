"""What a resource function gives back, as the ReadResourceResult of one protocol revision."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_app.catalog.encoding import encode, json_text
from mcp_app.catalog.errors import NotFound, Unencodable
from mcp_app.catalog.resources import Readable
from mcp_app.protocol.content import ContentBlock, resource_contents
from mcp_app.protocol.versions import ProtocolVersion

Bytes = bytes | bytearray | memoryview

_JSON: Final = "application/json"
_TEXT: Final = "text/plain"
_BYTES: Final = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class ResourceContents:
    """Contents spelled out: either `text` or `blob` (bytes, or text that is base64 already).

    Without `uri` and `mime_type` they are those that were asked for and declared.
    """

    text: str | None = None
    blob: Bytes | str | None = None
    uri: str | None = None
    mime_type: str | None = None
    meta: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if (self.text is None) == (self.blob is None):
            raise ValueError("contents have either text or blob")


def to_contents(
    resource: Readable, uri: str, value: Any, version: ProtocolVersion
) -> dict[str, Any]:
    """The ReadResourceResult for what `resource` returned.

    A text stays one, bytes become a blob, ResourceContents (one or a list) say it themselves, and
    anything else is written as JSON.

    Raises:
        NotFound: it returned None: there is nothing at this URI.
        Unencodable: something in the value has no JSON form.
    """
    if value is None:
        raise NotFound("There is nothing at this URI.")
    value = list(value) if isinstance(value, Iterator) else value
    given = value if _are_spelled_out(value) else [_contents(value, resource.mime_type)]
    return {"contents": [_written(item, uri, resource.mime_type, version) for item in given]}


def _are_spelled_out(value: Any) -> bool:
    several = isinstance(value, list | tuple) and bool(value)
    return several and all(isinstance(item, ResourceContents) for item in value)


def _contents(value: Any, declared: str | None) -> ResourceContents:
    if isinstance(value, ResourceContents):
        return value
    if isinstance(value, str):
        return ResourceContents(text=value)
    if isinstance(value, Bytes):
        return ResourceContents(blob=value)
    if isinstance(value, ContentBlock):
        raise Unencodable(type(value).__name__, "is a content block, not contents of a resource")
    return ResourceContents(text=json_text(encode(value)), mime_type=declared or _JSON)


def _written(
    given: ResourceContents, uri: str, declared: str | None, version: ProtocolVersion
) -> dict[str, Any]:
    kind = given.mime_type or declared or (_BYTES if given.text is None else _TEXT)
    written = resource_contents(given.uri or uri, given.text, given.blob, kind)
    if given.meta and version.item_meta:
        written["_meta"] = encode(given.meta)
    return written
