"""The methods that are served: in which eras, what their parameters are, what may be cached."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_app.protocol.errors import InvalidParams, MethodNotFound
from mcp_app.protocol.versions import Era

_BOTH: Final = frozenset(Era)
_JSON_NAMES: Final[Mapping[type, str]] = {str: "a string", dict: "an object"}


CLIENT_CAPABILITIES: Final = frozenset(
    {"elicitation", "experimental", "extensions", "roots", "sampling", "tasks"}
)
"""What a client of some revision may declare: the schemas' `ClientCapabilities`."""


@dataclass(frozen=True, slots=True)
class Param:
    """One member of `params`. `null` reads as absent, since several clients send it so."""

    type: type
    required: bool = False


@dataclass(frozen=True, slots=True)
class Method:
    """What one method is, in every revision that has it."""

    name: str
    eras: frozenset[Era] = _BOTH
    params: Mapping[str, Param] = field(default_factory=dict)
    cacheable: bool = False
    """Its result carries `ttlMs` and `cacheScope` (`2026-07-28 server/utilities/caching`)."""
    feature: str | None = None
    """The server's capability that it belongs to; where that is not offered, nor is the method."""
    recorded: bool = False
    """Whether every answer is an event; of others only refusals are."""

    def check(self, params: Mapping[str, Any]) -> None:
        """Raise InvalidParams for the first member that is missing or of the wrong type."""
        for name, param in self.params.items():
            value = params.get(name)
            if value is None:
                if param.required:
                    raise InvalidParams(f"The parameter {name!r} is required.")
            elif not isinstance(value, param.type):
                kind = _JSON_NAMES[param.type]
                raise InvalidParams(f"The parameter {name!r} must be {kind}.")


_CURSOR: Final = {"cursor": Param(str)}
_TABLE: Final = (
    Method("server/discover", frozenset({Era.MODERN}), cacheable=True),
    Method("initialize", frozenset({Era.LEGACY}), {"protocolVersion": Param(str, required=True)}),
    Method("ping", frozenset({Era.LEGACY})),
    Method("logging/setLevel", frozenset({Era.LEGACY}), {"level": Param(str, required=True)}),
    Method(
        "subscriptions/listen",
        frozenset({Era.MODERN}),
        {"notifications": Param(dict, required=True)},
    ),
    Method("tools/list", params=_CURSOR, cacheable=True, feature="tools"),
    Method(
        "tools/call",
        params={"name": Param(str, required=True), "arguments": Param(dict)},
        feature="tools",
        recorded=True,
    ),
    Method("resources/list", params=_CURSOR, cacheable=True, feature="resources"),
    Method("resources/templates/list", params=_CURSOR, cacheable=True, feature="resources"),
    Method(
        "resources/read",
        params={"uri": Param(str, required=True)},
        cacheable=True,
        feature="resources",
        recorded=True,
    ),
    Method(
        "resources/subscribe",
        frozenset({Era.LEGACY}),
        {"uri": Param(str, required=True)},
        feature="resources",
    ),
    Method(
        "resources/unsubscribe",
        frozenset({Era.LEGACY}),
        {"uri": Param(str, required=True)},
        feature="resources",
    ),
    Method("prompts/list", params=_CURSOR, cacheable=True, feature="prompts"),
    Method(
        "prompts/get",
        params={"name": Param(str, required=True), "arguments": Param(dict)},
        feature="prompts",
        recorded=True,
    ),
    Method(
        "completion/complete",
        params={
            "ref": Param(dict, required=True),
            "argument": Param(dict, required=True),
            "context": Param(dict),
        },
        feature="completions",
    ),
)

METHODS: Final[Mapping[str, Method]] = {method.name: method for method in _TABLE}

RECORDED: Final = frozenset(method.name for method in _TABLE if method.recorded)


def find(name: str, era: Era) -> Method:
    """The method of that name in that era.

    Raises:
        MethodNotFound: the era has no such method, or it is not served here.
    """
    method = METHODS.get(name)
    if method is None or era not in method.eras:
        raise MethodNotFound("Method not found")
    return method
