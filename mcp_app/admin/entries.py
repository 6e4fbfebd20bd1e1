"""What the servers declare, as pages name it: one entry for each tool, resource and prompt."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote

from django.utils.translation import gettext_lazy as _

from mcp_app.catalog.definition import Declaration, Tool
from mcp_app.catalog.prompts import Prompt
from mcp_app.catalog.registry import MCPServer, default_server, servers
from mcp_app.catalog.resources import Resource, ResourceTemplate

KINDS: Final[Mapping[type[Declaration], tuple[str, Any]]] = {
    Tool: ("tool", _("Tool")),
    Resource: ("resource", _("Resource")),
    ResourceTemplate: ("template", _("Resource template")),
    Prompt: ("prompt", _("Prompt")),
}
LABELS: Final[Mapping[str, Any]] = dict(KINDS.values())
METHODS: Final = {"tools/call": ["tool"], "resources/read": ["resource", "template"]} | {
    "prompts/get": ["prompt"]
}
"""The kinds that a method is about."""

HINTS: Final[Mapping[str, Any]] = {
    "read_only": _("read-only"),
    "destructive": _("destructive"),
    "idempotent": _("idempotent"),
    "open_world": _("open world"),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that a server declares."""

    server: MCPServer
    declared: Declaration

    @property
    def kind(self) -> str:
        """One of the names in `LABELS`."""
        return KINDS[type(self.declared)][0]

    @property
    def label(self) -> Any:
        """Its kind in words."""
        return KINDS[type(self.declared)][1]

    @property
    def reference(self) -> str:
        """What names it in an address."""
        return reference(self.server, self.kind, self.declared.key)

    @property
    def hints(self) -> list[Any]:
        """What its author said of it, in words; what is not said is left out."""
        return [word for name, word in HINTS.items() if getattr(self.declared, name, None)]

    def mentions(self, text: str) -> bool:
        """Whether its name, title or description has a text in it."""
        said = (self.declared.key, self.declared.title, self.declared.description)
        return any(text.casefold() in str(each or "").casefold() for each in said)


def reference(server: MCPServer, kind: str, key: str) -> str:
    """What names one thing of a server's in an address."""
    return f"{quote(server.name, safe='')}:{kind}:{key}"


def offering() -> list[MCPServer]:
    """The servers that have something to offer, the default one first."""
    found = [server for server in servers() if server.kinds()]
    return sorted(found, key=lambda server: (server is not default_server, server.name))


def entries() -> list[Entry]:
    """Everything that is declared: by server, by kind, by name."""
    return [Entry(server, declared) for server in offering() for declared in _declared(server)]


def find(reference: str) -> Entry | None:
    """The entry that a reference names; None where it names nothing."""
    server, _kind, rest = reference.partition(":")
    kind, _name, name = rest.partition(":")
    return _found(kind, name, [one for one in offering() if one.name == unquote(server)])


def find_called(method: str, name: str) -> Entry | None:
    """What a call of `method` was about: of the first server that has it, since no event tells."""
    found = (_found(kind, name, offering()) for kind in METHODS.get(method, ()))
    return next((entry for entry in found if entry is not None), None)


def find_switched(server: str, noun: str, name: str) -> Entry | None:
    """What a switch is for; None for a switch of a whole server."""
    kinds = ["resource", "template"] if noun == "resource" else [noun]
    among = [one for one in offering() if one.name == server]
    return next(filter(None, (_found(kind, name, among) for kind in kinds)), None)


def _found(kind: str, name: str, among: list[MCPServer]) -> Entry | None:
    for server in among:
        shelves: Mapping[str, Mapping[str, Declaration]] = {
            "tool": server.tools,
            "resource": server.resources,
            "template": server.templates,
            "prompt": server.prompts,
        }
        declared = shelves.get(kind, {}).get(name)
        if declared is not None:
            return Entry(server, declared)
    return None


def _declared(server: MCPServer) -> Iterator[Declaration]:
    for kind in ("tools", "resources", "prompts"):
        yield from server.listed(kind)
