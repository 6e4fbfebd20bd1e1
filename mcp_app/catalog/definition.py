"""What a product declares as immutable values: what guards and describes any of them, and tools.

Each writes its own definition for each protocol revision.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mcp_app.catalog.arguments import Arguments
from mcp_app.catalog.output import Output
from mcp_app.catalog.signature import ContextBase, Kind
from mcp_app.protocol import messages
from mcp_app.protocol.versions import ProtocolVersion

__all__ = ["ContextBase", "Declaration", "Kind", "Tool"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Declaration:
    """A function under a name. What guards it is stated here and judged elsewhere."""

    noun: ClassVar[str] = "declaration"
    """What it is called in a sentence."""

    name: str
    description: str
    function: Callable[..., Any]
    kind: Kind
    arguments: Arguments
    module: str
    title: str | None = None
    read_only: bool = False
    permission_classes: tuple[Callable[[], Any], ...] | None = None
    """None: the project's default. Never empty."""
    throttle_classes: tuple[Callable[[], Any], ...] | None = None
    """None: the project's default."""
    throttle_scope: str | None = None
    scopes: tuple[str, ...] = ()
    """What a token must hold, all of it."""
    client_capabilities: tuple[str, ...] = ()
    """What a client must have declared that it can do, such as `sampling`."""
    timeout: float | None = None
    """Seconds; None: the project's default."""
    atomic: bool | None = None
    """Whether a call runs in a transaction; None: the project's default."""
    audit: str | None = None
    """How much the call log keeps of its arguments; None: the project's default."""
    queryset: Any = None
    """For permission classes that look at the model behind a view."""
    icons: tuple[Mapping[str, Any], ...] = ()
    meta: Mapping[str, Any] | None = None
    _definitions: dict[str, dict[str, Any]] = field(default_factory=dict, init=False, repr=False)
    _written: dict[str, bytes] = field(default_factory=dict, init=False, repr=False)

    @property
    def key(self) -> str:
        """What identifies it among its kind, and orders their list."""
        return self.name

    @property
    def is_async(self) -> bool:
        """Whether the function runs on the event loop."""
        return self.kind in (Kind.ASYNC, Kind.ASYNC_GENERATOR)

    @property
    def takes_context(self) -> bool:
        """Whether the function asks for a Context."""
        return self.arguments.context_name is not None

    @property
    def sensitive(self) -> frozenset[str]:
        """The arguments that no log may hold."""
        return self.arguments.sensitive

    def definition(self, version: ProtocolVersion) -> dict[str, Any]:
        """The object that lists it in `version`, one for all callers: not to be changed."""
        known = self._definitions.get(version.name)
        if known is None:
            fields = self._described(version) | self._defined(version)
            known = {key: value for key, value in fields.items() if value not in (None, [], {}, "")}
            self._definitions[version.name] = known
        return known

    def definition_json(self, version: ProtocolVersion) -> bytes:
        """`definition` as JSON."""
        known = self._written.get(version.name)
        if known is None:
            known = self._written[version.name] = messages.dumps(self.definition(version))
        return known

    def _described(self, version: ProtocolVersion) -> dict[str, Any]:
        """The fields that every kind has, as far as `version` knows them."""
        return {
            "name": self.name,
            "title": self.title if version.titles else None,
            "description": self.description,
            "icons": [dict(icon) for icon in self.icons] if version.icons else None,
            "_meta": dict(self.meta) if self.meta and version.item_meta else None,
        }

    def _defined(self, version: ProtocolVersion) -> dict[str, Any]:
        """The fields of its own kind; what is empty is left out."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Tool(Declaration):
    """Everything known about a tool."""

    noun: ClassVar[str] = "tool"

    output: Output
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    confirm: str | None = None
    """What a person is asked before it runs, with the names of arguments in braces."""
    method: str | None = None
    """The HTTP method that permission classes are asked about; None: what its hints amount to."""

    def _defined(self, version: ProtocolVersion) -> dict[str, Any]:
        return {
            "inputSchema": self.arguments.schema,
            "outputSchema": self.output.schema if version.output_schema else None,
            "annotations": self._annotations(version) if version.annotations else None,
        }

    def _annotations(self, version: ProtocolVersion) -> dict[str, Any]:
        """The hints that the author declared; a client assumes the schema's defaults for others."""
        hints: dict[str, Any] = {
            "title": None if version.titles else self.title,
            "readOnlyHint": self.read_only or None,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        }
        return {key: value for key, value in hints.items() if value is not None}
