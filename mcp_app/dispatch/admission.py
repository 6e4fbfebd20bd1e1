"""May it run? Gate by gate, the same for tools, resources, prompts and completion.

Visible, in scope, within limits, well addressed; then the arguments are bound, and there is a Call.
"""

import math
from collections.abc import Mapping
from typing import Any, TypeVar

from mcp_app.catalog.definition import Declaration, Tool
from mcp_app.catalog.errors import ArgumentsInvalid
from mcp_app.catalog.prompts import Prompt
from mcp_app.catalog.registry import MCPServer
from mcp_app.catalog.resources import Readable
from mcp_app.dispatch.calls import Call, Manner
from mcp_app.dispatch.context import Context
from mcp_app.dispatch.hooks import ALLOWED, CANNOT_ASK, Confirm, Deny, judged
from mcp_app.dispatch.inputs import Binding, Inputs, InputUnavailable
from mcp_app.dispatch.interfaces import (
    NOT_PERMITTED,
    PERMISSION_DENIED,
    WITHDRAWN,
    Decision,
    Outcome,
)
from mcp_app.dispatch.manners import CALLING, PROMPTING, READING
from mcp_app.dispatch.services import Inbound, Services
from mcp_app.protocol.errors import (
    InsufficientScope,
    InvalidParams,
    OutsideLimits,
    ProtocolError,
    ResourceNotFound,
    Throttled,
    Unauthenticated,
    UnknownPrompt,
    UnknownTool,
)

Declared = TypeVar("Declared", bound=Declaration)


def call_tool(inbound: Inbound, services: Services) -> Call:
    """`server/tools` Calling.

    Raises:
        UnknownTool: there is no such tool for this caller.
        OutsideLimits, InsufficientScope: the user may, the token may not.
        Throttled: not so soon.
        MissingCapability: the client did not declare what the tool needs of it; older revisions
            have another error for it.
        HeaderMismatch: a mirrored argument and its header disagree.
    """
    record, name = inbound.record, inbound.params["name"]
    record.tool, record.arguments = name, inbound.params.get("arguments") or {}
    unknown = UnknownTool(f"Unknown tool: {_shortened(name)}")
    tool = let_in(services.server.get(name), inbound, services, unknown)
    for path, header in tool.arguments.headers.items():
        inbound.route.dialect.check_parameter(header, _at(path, record.arguments), inbound.headers)
    try:
        bound = _bound(tool, inbound, services)
    except ArgumentsInvalid as error:
        return Call(tool, {}, inbound, CALLING, refusal=str(error))
    call = call_of(tool, bound, inbound, services, CALLING)
    judge(call, services)
    return call


def judge_again(call: Call, services: Services) -> None:
    """What may have changed while a person thought: the caller's rights, the tool, the hooks."""
    inbound, tool = call.inbound, call.target
    standing = inbound.renew()
    if standing is not None:
        inbound.caller, inbound.access = standing
    by = _withdrawn_by(tool, inbound, services) if standing else Unauthenticated.__name__
    if by:
        call.verdict = Deny(WITHDRAWN)
        inbound.record.decision, inbound.record.error_class = Decision.DENY, by
        return
    assert call.context is not None, "a call that may run has a context"
    call.context.caller = inbound.caller
    judge(call, services)


def _withdrawn_by(tool: Declaration, inbound: Inbound, services: Services) -> str:
    """What lets a call in no more, as its row has it; empty where it is let in."""
    if services.server.get(tool.name) is not tool:
        return UnknownTool.__name__
    if inbound.may_use(tool):
        return ""
    if off := inbound.access.switched_off(tool):
        return type(off).__name__
    if not inbound.access.permits(tool):
        return inbound.access.hidden_by(tool) or PERMISSION_DENIED
    within = inbound.caller.is_within_limits(tool)
    return (InsufficientScope if within else OutsideLimits).__name__


def judge(call: Call, services: Services) -> None:
    """Ask the product's hooks about a call whose arguments fit."""
    tool, record = call.target, call.inbound.record
    assert isinstance(tool, Tool), "hooks judge tools"
    hooks = services.config.before_call
    if not hooks and tool.confirm is None:
        call.verdict = ALLOWED
        return
    arguments = {k: v for k, v in call.arguments.items() if k != tool.arguments.context_name}
    # A hook decides here and now: it has no question of its own to wait for.
    context = _context(tool, call.inbound, InputUnavailable(CANNOT_ASK))
    call.verdict, denied_by = judged(hooks, context, tool, arguments)
    if isinstance(call.verdict, Confirm):
        record.decision = Decision.CONFIRM
    elif isinstance(call.verdict, Deny):
        record.decision, record.error_class = Decision.DENY, denied_by


def read_resource(inbound: Inbound, services: Services) -> Call:
    """`server/resources` Reading: of a template's resource, the URI says the arguments.

    Raises:
        ResourceNotFound: there is no such resource for this caller.
        InsufficientScope, Throttled, MissingCapability: as for a tool.
    """
    record, uri = inbound.record, inbound.params["uri"]
    record.tool = uri
    found, values = services.server.find_resource(uri) or (None, {})
    record.arguments = values
    if found is not None and _is_telling(found, values, services):
        record.tool = found.key
    resource: Readable = let_in(found, inbound, services, ResourceNotFound(uri))
    try:
        bound = _bound(resource, inbound, services)
    except ArgumentsInvalid as error:
        record.outcome = Outcome.INVALID
        raise ResourceNotFound(uri, str(error)) from None
    return call_of(resource, bound, inbound, services, READING)


def get_prompt(inbound: Inbound, services: Services) -> Call:
    """`server/prompts` Getting.

    Raises:
        UnknownPrompt: there is no such prompt for this caller.
        InvalidParams: the arguments do not fit.
        InsufficientScope, Throttled, MissingCapability: as for a tool.
    """
    record, name = inbound.record, inbound.params["name"]
    record.tool, record.arguments = name, inbound.params.get("arguments") or {}
    unknown = UnknownPrompt(f"Unknown prompt: {_shortened(name)}")
    prompt: Prompt = let_in(services.server.prompts.get(name), inbound, services, unknown)
    try:
        bound = _bound(prompt, inbound, services)
    except ArgumentsInvalid as error:
        record.outcome = Outcome.INVALID
        raise InvalidParams(str(error)) from None
    return call_of(prompt, bound, inbound, services, PROMPTING)


def target_of(method: str, params: Mapping[str, Any], server: MCPServer) -> Declaration | None:
    """What a request would run, whoever asks; None where that is nothing or not known yet."""
    name, uri = params.get("name"), params.get("uri")
    if method == "tools/call" and isinstance(name, str):
        return server.get(name)
    if method == "prompts/get" and isinstance(name, str):
        return server.prompts.get(name)
    if method == "resources/read" and isinstance(uri, str):
        found = server.find_resource(uri)
        return found[0] if found is not None else None
    return None


# --- the gates -------------------------------------------------------------------------------


def let_in(
    found: Declared | None, inbound: Inbound, services: Services, unknown: ProtocolError
) -> Declared:
    """`found`, where this caller may use it now; `unknown` is raised where it is not to be seen."""
    declared = _visible(found, inbound, unknown)
    _note(declared, inbound)
    _check_switches(declared, inbound)
    _check_limits(declared, inbound)
    _check_scopes(declared, inbound, services)
    _check_throttles(declared, inbound)
    inbound.record.decision = Decision.ALLOW
    _check_capabilities(declared, inbound)
    return declared


def _visible(found: Declared | None, inbound: Inbound, unknown: ProtocolError) -> Declared:
    if found is not None and inbound.access.permits(found):
        return found
    record = inbound.record
    record.outcome = Outcome.UNKNOWN if found is None else Outcome.DENIED
    record.decision = Decision.DENY
    if found is not None:
        # Such a caller may guess at names; what the arguments hold is only known to the target.
        _note(found, inbound)
        record.error_class = inbound.access.hidden_by(found)
        by = inbound.access.refused_by(found)
        refused = f"{NOT_PERMITTED}: {by}" if by else NOT_PERMITTED
        told = f"hidden by {record.error_class}" if record.error_class else refused
        record.error_text = told
    raise unknown


def _note(declared: Declaration, inbound: Inbound) -> None:
    """Tell the record what may be kept of the arguments."""
    inbound.record.disclosure = declared.arguments.disclosure
    inbound.record.audit = declared.audit or ""


def _is_telling(found: Readable, values: Mapping[str, Any], services: Services) -> bool:
    """Whether the URI itself holds what the log may not."""
    level = found.audit or services.config.AUDIT_ARGUMENTS
    return bool(values) and (level != "redacted" or bool(found.sensitive & values.keys()))


def _check_switches(declared: Declaration, inbound: Inbound) -> None:
    # Whoever comes here may see it: "unknown" would keep no secret, and have a model guess on.
    off = inbound.access.switched_off(declared)
    if off is not None:
        inbound.record.outcome = Outcome.DENIED
        inbound.record.decision = Decision.DENY
        raise off


def _check_limits(declared: Declaration, inbound: Inbound) -> None:
    limits = inbound.caller.limits_against(declared)
    if limits:
        inbound.record.outcome = Outcome.DENIED
        inbound.record.decision = Decision.DENY
        inbound.record.error_text = f"the token is limited to {' and '.join(limits)}"
        raise OutsideLimits(declared.noun)


def _check_scopes(declared: Declaration, inbound: Inbound, services: Services) -> None:
    missing = inbound.caller.lacks(declared.scopes)
    if missing:
        inbound.record.outcome = Outcome.DENIED
        inbound.record.decision = Decision.DENY
        inbound.record.error_text = f"token lacks the scopes {' '.join(missing)}"
        raise InsufficientScope(declared.scopes, challenge=services.challenge(declared.scopes))


def _check_throttles(declared: Declaration, inbound: Inbound) -> None:
    seconds = inbound.access.retry_after(declared)
    if seconds is not None:
        inbound.record.outcome = Outcome.THROTTLED
        inbound.record.decision = Decision.DENY
        raise Throttled(max(1, math.ceil(seconds)))


def _check_capabilities(declared: Declaration, inbound: Inbound) -> None:
    offered = inbound.route.capabilities
    # The schema has an object for each capability; a null is none.
    missing: dict[str, dict[str, Any]] = {
        name: {} for name in declared.client_capabilities if offered.get(name) is None
    }
    if missing:
        raise inbound.route.dialect.undeclared(missing)


# --- arguments -------------------------------------------------------------------------------


def _bound(declared: Declaration, inbound: Inbound, services: Services) -> dict[str, Any]:
    lenient = services.config.LENIENT_ARGUMENTS
    return declared.arguments.bind(inbound.record.arguments or {}, lenient=lenient)


def call_of(
    declared: Declaration,
    bound: dict[str, Any],
    inbound: Inbound,
    services: Services,
    manner: Manner,
) -> Call:
    _open_state(declared, inbound)
    limit = declared.timeout if declared.timeout is not None else services.config.TOOL_TIMEOUT
    context = _context(declared, inbound, inbound.inputs)
    if declared.arguments.context_name is not None:
        bound[declared.arguments.context_name] = context
    return Call(declared, bound, inbound, manner, time_limit=limit, context=context)


def _open_state(declared: Declaration, inbound: Inbound) -> None:
    """Take the answers that came with the request, which are its own or none."""
    try:
        inbound.inputs.prepare(_binding(declared, inbound))
    except InvalidParams as error:
        inbound.record.decision = Decision.DENY
        inbound.record.error_text = f"the requestState {error.__cause__}"
        raise


def _context(declared: Declaration, inbound: Inbound, inputs: Inputs) -> Context:
    return Context(
        caller=inbound.caller,
        tool_name=declared.name,
        route=inbound.route,
        session=inbound.session,
        request=lambda: inbound.access.request_for(declared),
        outlet=inbound.outlet,
        cancellation=inbound.cancellation,
        correlation_id=inbound.record.correlation_id,
        inputs=inputs,
    )


def _binding(declared: Declaration, inbound: Inbound) -> Binding:
    caller = inbound.caller
    principal = f"{caller.user.pk}:{getattr(caller.auth, 'pk', '')}"
    arguments = inbound.record.arguments
    return Binding.of(principal, inbound.request.method, declared.key, arguments)


def _at(path: tuple[str, ...], arguments: Any) -> Any:
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, Mapping) else None
    return arguments


def _shortened(name: str) -> str:
    return name if len(name) <= 128 else f"{name[:128]}…"
