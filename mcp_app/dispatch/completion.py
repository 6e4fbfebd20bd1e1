"""`completion/complete`: suggestions for an argument of a prompt or a resource template.

What the caller may not use is unknown here, too, and its throttles count these requests with the
others (`2026-07-28 server/utilities/completion` Security).
"""

from collections.abc import Mapping
from typing import Any, Final

from mcp_app.catalog.completers import to_completion
from mcp_app.catalog.definition import Declaration
from mcp_app.catalog.prompts import Prompt
from mcp_app.catalog.resources import Readable, ResourceTemplate
from mcp_app.dispatch.admission import call_of, let_in
from mcp_app.dispatch.calls import Call
from mcp_app.dispatch.manners import COMPLETING
from mcp_app.dispatch.services import Inbound, Services
from mcp_app.protocol.errors import InvalidParams

NOTHING: Final[Mapping[str, Any]] = to_completion(())


def complete(inbound: Inbound, services: Services) -> Call | None:
    """The call of a completer; None where the argument has none, so that nothing is suggested.

    Raises:
        InvalidParams: no such prompt or template for this caller, or it has no such argument.
        InsufficientScope, Throttled, MissingCapability: as for what it belongs to.
    """
    ref, argument = inbound.params["ref"], inbound.params["argument"]
    name, value = _text(argument, "name"), _text(argument, "value")
    others = _others(inbound.params.get("context"))
    found = _find(ref, services)
    inbound.record.tool = found.key if found is not None else ""
    owner = let_in(found, inbound, services, InvalidParams("Unknown reference"))
    if name not in owner.arguments.schema["properties"]:
        raise InvalidParams("Unknown argument")
    completers = owner.completers if isinstance(owner, Prompt | ResourceTemplate) else {}
    completer = completers.get(name)
    if completer is None:
        return None
    return call_of(completer, completer.bound(value, others), inbound, services, COMPLETING)


def _find(ref: Mapping[str, Any], services: Services) -> Declaration | None:
    match ref.get("type"):
        case "ref/prompt":
            return services.server.prompts.get(_text(ref, "name"))
        case "ref/resource":
            return _find_resource(_text(ref, "uri"), services)
    raise InvalidParams("The ref must be a ref/prompt or a ref/resource.")


def _find_resource(uri: str, services: Services) -> Readable | None:
    """The template of that text, else what would be read at that URI."""
    template = services.server.templates.get(uri)
    if template is not None:
        return template
    found = services.server.find_resource(uri)
    return found[0] if found is not None else None


def _others(context: Mapping[str, Any] | None) -> dict[str, str]:
    """What the other arguments are already, as far as the client says so."""
    arguments = (context or {}).get("arguments")
    if arguments is None:
        return {}
    if isinstance(arguments, dict) and all(isinstance(v, str) for v in arguments.values()):
        return arguments
    raise InvalidParams("context.arguments must map names to strings.")


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    if isinstance(found, str):
        return found
    raise InvalidParams(f"The member {name!r} must be a string.")
