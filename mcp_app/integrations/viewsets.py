"""`expose_viewset`: a tool for each named action of a viewset that a product has already."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from mcp_app.access.permissions import class_text
from mcp_app.catalog.declaration import made
from mcp_app.catalog.foreign import CONTEXT
from mcp_app.catalog.problems import Problem, Refused
from mcp_app.catalog.registry import MCPServer, default_server
from mcp_app.catalog.results import ToolResult
from mcp_app.catalog.signature import Kind, Signature
from mcp_app.integrations import querying
from mcp_app.integrations.actions import Plan, action_of
from mcp_app.integrations.exposed import Action, ViewPermission, told
from mcp_app.integrations.names import snake_case
from mcp_app.integrations.stated import check_stated

_SAYS: Final = "a viewset says by itself"
_ADVICE: Final = "Leave it out; a subclass of the viewset may say something else."
_OF_THE_VIEW: Final = {"permission_classes", "queryset", "input", "output"}
_HINTS: Final[Mapping[str, dict[str, Any]]] = {
    "GET": {"read_only": True},
    "PUT": {"idempotent": True},
    "DELETE": {"destructive": True, "idempotent": True},
}
_SENTENCES: Final = {
    "list": "List every {noun} that you may see.",
    "retrieve": "Show one {noun}.",
    "create": "Make a new {noun}.",
    "update": "Replace all fields of one {noun}.",
    "partial_update": "Change some fields of one {noun}; what is left out stays.",
    "destroy": "Delete one {noun}.",
}


def expose_viewset(
    viewset: Any,
    *,
    actions: Iterable[str],
    server: MCPServer = default_server,
    prefix: str | None = None,
    url_kwargs: Mapping[str, Any] | None = None,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Any,
) -> None:
    """Register a tool `{prefix}_{action}` for each of the actions.

    A call runs the view's `dispatch()` as its caller: permissions, throttles and object permissions
    are the view's, once. Who its `has_permission` refuses does not see the tool. What breaks a rule
    is left out, and the server's `problems` say why.

    Args:
        actions: names among list, retrieve, create, update, partial_update, destroy and those of
            `@action`.
        prefix: the model's name, or the viewset's, where it is not given.
        url_kwargs: further arguments that the view finds in `self.kwargs`, with their types.
        overrides: keywords of `tool` for single actions, such as `{"destroy": {"confirm": "…?"}}`.
        options: keywords of `tool` for all of them.
    """
    names = _names(viewset, actions, server)
    for name in names:
        stated = {**options, **(overrides or {}).get(name, {})}
        known = str(stated.get("name") or f"{prefix or _prefix(viewset)}_{name}")
        try:
            check_stated(stated, _OF_THE_VIEW, _SAYS, _ADVICE)
            action = action_of(viewset, name)
            server.add(_tool(Plan(action, url_kwargs or {}), known, stated))
        except Refused as refused:
            server.report(refused, known, getattr(viewset, "__module__", ""))


def _names(viewset: Any, actions: Any, server: MCPServer) -> list[str]:
    if not isinstance(actions, str):
        return list(actions)
    refused = Refused(Problem.VIEWSET, "actions is not a list", 'Write actions=["list", …].')
    server.report(refused, _prefix(viewset), getattr(viewset, "__module__", ""))
    return []


def _tool(plan: Plan, name: str, stated: Mapping[str, Any]) -> Any:
    action = plan.action
    options: Any = {
        **_HINTS.get(action.method, {}),
        **({"destructive": False} if action.name == "create" else {}),
        "description": _description(plan),
        **stated,
        "name": name,
        "permission_classes": [_permission(action)],
    }
    return made(
        getattr(action.viewset, action.name),
        options,
        Signature(Kind.SYNC, plan.parameters, CONTEXT, plan.output),
        run=_runner(plan),
        parameters=plan.parameters,
        context_name=CONTEXT,
        output=plan.output,
        method=action.method,
    )


def _runner(plan: Plan) -> Callable[..., Any]:
    action = plan.action
    in_path = [parameter.name for parameter in plan.kwargs]
    in_query = [parameter.name for parameter in plan.query]
    converts = getattr(action.viewset, "lookup_value_converter", None)

    def run(**bound: Any) -> Any:
        request = bound.pop(CONTEXT).request
        kwargs = {n: bound[n] if converts else str(bound[n]) for n in in_path}
        query = {n: querying.sent(bound[n]) for n in in_query if n in bound}
        body = {n: value for n, value in bound.items() if n not in kwargs and n not in query}
        sends = action.method in ("POST", "PUT", "PATCH")
        response, made = action.call(request, kwargs, query, body if sends else None)
        value = told(response)
        if value is None and action.name == "destroy":
            return "Deleted."
        if isinstance(value, ToolResult):
            return value
        return querying.with_steps(value, made, plan.query)

    return run


def _permission(action: Action) -> Any:
    """A permission class by the name of the view and of the classes that guard it."""
    view = action.view(None, {})
    names = ", ".join(class_text(cls) for cls in view.permission_classes)
    return type(f"{action.viewset.__name__} ({names})", (ViewPermission,), {"action": action})


def _description(plan: Plan) -> str | None:
    """The action's own docstring; of DRF's actions, what they do."""
    function = getattr(plan.action.viewset, plan.action.name)
    if not function.__module__.startswith("rest_framework."):
        return (
            None
            if function.__doc__
            else _SENTENCES.get(plan.action.name, "").format(noun=plan.noun)
        )
    return _SENTENCES[plan.action.name].format(noun=plan.noun)


def _prefix(viewset: Any) -> str:
    """The model's name; else the viewset's, in small letters."""
    model = getattr(getattr(viewset, "queryset", None), "model", None)
    if model is not None:
        return str(model._meta.model_name)
    name = getattr(viewset, "__name__", "viewset").removesuffix("ViewSet") or "viewset"
    return snake_case(name)
