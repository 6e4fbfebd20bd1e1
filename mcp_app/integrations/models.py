"""`ModelTools`: tools that read a model's rows, and write them where that is asked for by name."""

from collections.abc import Mapping
from inspect import iscoroutinefunction
from typing import Any, Final

from mcp_app.access.model_permissions import ModelPermissions
from mcp_app.catalog.declaration import made
from mcp_app.catalog.foreign import CONTEXT
from mcp_app.catalog.problems import Problem, Refused
from mcp_app.catalog.registry import MCPServer, default_server
from mcp_app.catalog.signature import Kind, Signature
from mcp_app.integrations.stated import check_stated
from mcp_app.integrations.tables.plan import READ, Plan
from mcp_app.integrations.tables.rows import Rows

_OF_THE_MODEL: Final = {"queryset", "input", "output", "read_only"}
_SAYS: Final = "tools over a model say by themselves"
_ADVICE: Final = "Leave it out; get_queryset(ctx) of a subclass narrows the rows."
_HINTS: Final[Mapping[str, dict[str, Any]]] = {
    "list": {"read_only": True},
    "get": {"read_only": True},
    "create": {"destructive": False},
    "update": {"idempotent": True},
    "delete": {"destructive": True, "idempotent": True},
}
_HOOKS: Final = ("get_queryset", "get_related", "prepare", "save", "delete")
_METHODS: Final = {"create": "POST", "update": "PATCH", "delete": "DELETE"}
_SENTENCES: Final = {
    "list": "List the {noun} rows that you may see, a page at a time.",
    "get": "Show one {noun}.",
    "create": "Make a new {noun}.",
    "update": "Change some fields of one {noun}; what is left out stays.",
    "delete": "Delete one {noun}.",
}


class ModelTools:
    """Registers a tool `{prefix}_{name}` for each of `tools`; a subclass says whose rows they see.

    What breaks a rule is left out, and the server's `problems` say why. A tool that names no
    permission classes takes Django's own on the model: to view, and to add, change or delete.
    """

    def __init__(
        self,
        model: Any,
        *,
        fields: Any = (),
        tools: Any = READ,
        filters: Any = (),
        ordering: Any = (),
        search: Any = (),
        writable: Any = (),
        sensitive: Any = (),
        lookup: str | None = None,
        page_size: int = 20,
        max_page_size: int = 100,
        server: MCPServer = default_server,
        prefix: str | None = None,
        overrides: Mapping[str, Mapping[str, Any]] | None = None,
        **options: Any,
    ) -> None:
        """Everything that callers can name stands in a list, and what stands in none is hidden.

        Args:
            fields: the columns that are shown, also of rows that are referred to: `customer__name`.
            tools: of list, get, create, update, delete.
            filters: what a list can be narrowed by: fields, and lookups of them (`placed_at__gte`).
            ordering: fields that a list can be ordered by.
            search: texts among the fields, in which words are looked for.
            writable: what create and update set. What is not among `fields` is never shown.
            sensitive: columns whose values no log may hold.
            lookup: the unique field that a row is named by; the primary key where it is not given.
            page_size: rows of a page that asks for no number of them.
            prefix: the model's name where it is not given.
            overrides: keywords of `tool` for single tools, such as `{"delete": {"confirm": "…?"}}`.
            options: keywords of `tool` for all of them.
        """
        self.model = model
        self._server, self._overrides, self._options = server, overrides or {}, options
        self._module = getattr(model, "__module__", "")
        prefix = prefix or getattr(getattr(model, "_meta", None), "model_name", None) or "model"
        try:
            self._check_overrides()
            self._check_hooks()
            plan = Plan(
                model,
                fields=fields,
                tools=tools,
                writable=writable,
                sensitive=sensitive,
                lookup=lookup,
                is_filled=type(self).prepare is not ModelTools.prepare,
                filters=filters,
                ordering=ordering,
                search=search,
                page_size=page_size,
                max_page_size=max_page_size,
            )
        except Refused as refused:
            server.report(refused, prefix, self._module)
            return
        for name in plan.tools:
            self._register(plan, name, prefix)

    # --- for subclasses ----------------------------------------------------------------------

    def get_queryset(self, ctx: Any) -> Any:
        """The rows that a caller may see. To all tools, others do not exist."""
        return self.model._default_manager.all()

    def get_related(self, ctx: Any, name: str, queryset: Any) -> Any:
        """Those of `queryset` that a caller may have the field `name` refer to."""
        return queryset

    def prepare(self, ctx: Any, row: Any) -> None:
        """Set what callers do not, on a row that is about to be validated."""

    def save(self, ctx: Any, row: Any) -> None:
        """Save a row that is valid."""
        row.save()

    def delete(self, ctx: Any, row: Any) -> None:
        """Delete a row."""
        row.delete()

    # --- declaring ---------------------------------------------------------------------------

    def _register(self, plan: Plan, name: str, prefix: str) -> None:
        stated = {**self._options, **self._overrides.get(name, {})}
        known = str(stated.get("name") or f"{prefix}_{name}")
        try:
            check_stated(stated, _OF_THE_MODEL, _SAYS, _ADVICE)
            self._server.add(self._tool(plan, name, {**stated, "name": known}))
        except Refused as refused:
            self._server.report(refused, known, self._module)

    def _tool(self, plan: Plan, name: str, stated: Mapping[str, Any]) -> Any:
        rows = Rows(plan, self)
        act = getattr(rows, name)

        def run(**bound: Any) -> Any:
            return act(bound.pop(CONTEXT), bound)

        run.__module__ = self._module
        parameters, output = plan.parameters(name), plan.output(name)
        options: Any = {
            **_HINTS[name],
            "description": _SENTENCES[name].format(noun=plan.noun),
            **stated,
            "queryset": self.model._default_manager.all(),
        }
        if options.get("permission_classes") is None:
            options["permission_classes"] = [ModelPermissions]
        rows.tool = made(
            run,
            options,
            Signature(Kind.SYNC, parameters, CONTEXT, output),
            run=run,
            parameters=parameters,
            context_name=CONTEXT,
            output=output,
            method=_METHODS.get(name),
        )
        return rows.tool

    def _check_overrides(self) -> None:
        if unknown := sorted(self._overrides.keys() - _HINTS.keys()):
            raise Refused(
                Problem.MODEL,
                f"overrides has {', '.join(unknown)}, and there is no such tool",
                f"The tools are {', '.join(_HINTS)}.",
            )

    def _check_hooks(self) -> None:
        for name in _HOOKS:
            if iscoroutinefunction(getattr(self, name)):
                raise Refused(Problem.MODEL, f"its {name} is async", "Write a plain method.")
