"""Resources and resource templates as immutable values (`2026-07-28 server/resources`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from mcp_app.catalog.completers import Completer
from mcp_app.catalog.definition import Declaration
from mcp_app.catalog.texts import TextArguments
from mcp_app.catalog.uris import UriTemplate
from mcp_app.protocol.content import kept_annotations
from mcp_app.protocol.versions import ProtocolVersion

CacheScope = Literal["public", "private"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Readable(Declaration):
    """What a client reads by a URI."""

    arguments: TextArguments
    read_only: bool = True
    mime_type: str | None = None
    annotations: Mapping[str, Any] | None = None
    ttl_ms: int = 0
    """Milliseconds for which what was read stays fresh."""
    cache_scope: CacheScope = "private"
    """"public": the contents are the same for everybody who may read them."""

    def _defined(self, version: ProtocolVersion) -> dict[str, Any]:
        return {
            "mimeType": self.mime_type,
            "annotations": kept_annotations(version, self.annotations),
        }


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Resource(Readable):
    """A resource with a URI of its own."""

    noun: ClassVar[str] = "resource"

    uri: str
    size: int | None = None
    """Bytes, before any encoding."""

    @property
    def key(self) -> str:
        """Its URI."""
        return self.uri

    def _defined(self, version: ProtocolVersion) -> dict[str, Any]:
        return {"uri": self.uri, **Readable._defined(self, version), "size": self.size}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ResourceTemplate(Readable):
    """Resources whose URIs share a template; its variables are the function's arguments."""

    noun: ClassVar[str] = "resource template"

    uri_template: UriTemplate
    completers: Mapping[str, Completer] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The template as it was written."""
        return self.uri_template.text

    def _defined(self, version: ProtocolVersion) -> dict[str, Any]:
        return {"uriTemplate": self.key, **Readable._defined(self, version)}
