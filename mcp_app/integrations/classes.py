"""`Tool`: a tool as a class, with the rows that it is about."""

from collections.abc import Callable, Mapping
from inspect import cleandoc
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from mcp_app.catalog import definition
from mcp_app.catalog.foreign import register_class
from mcp_app.catalog.problems import Problem, Refused
from mcp_app.integrations.found import found
from mcp_app.integrations.names import snake_case


class Tool:
    """To be declared by `@tool(…)` as a function is: `run` is what a call does, and its signature.

    Each call has an instance of its own, so that methods share what they find out on `self`.
    """

    def __init__(self, ctx: Any, declared: definition.Tool) -> None:
        self.ctx = ctx
        """The call's Context."""
        self._declared = declared

    def get_queryset(self) -> Any:
        """The rows that the caller may see: those of `queryset=` where this is not overridden."""
        if self._declared.queryset is None:
            raise ImproperlyConfigured(
                f"{type(self).__name__} needs @tool(queryset=…), or a get_queryset() of its own."
            )
        return self._declared.queryset.all()

    def get_object(self, **lookup: Any) -> Any:
        """The one row of `get_queryset()` that fits, where the permission classes admit it.

        Raises:
            NotFound: there is none for this caller.
        """
        rows = self.get_queryset().filter(**lookup)
        return found(self._declared, self.ctx, rows, ", ".join(lookup))


class _Declared:
    """Answers `catalog.foreign.ToolClass` for a subclass."""

    def __init__(self, cls: Any) -> None:
        """Raises Refused where nothing could run."""
        if not callable(getattr(cls, "run", None)):
            raise Refused(
                Problem.SIGNATURE,
                "the class has no method run",
                "Write def run(self, …): its parameters are the arguments.",
            )
        self._cls = cls

    @property
    def options(self) -> Mapping[str, Any]:
        """Its name, and its docstring where it has one; else that of `run` tells."""
        told = {"description": cleandoc(self._cls.__doc__)} if self._cls.__doc__ else {}
        return {"name": snake_case(self._cls.__name__), **told}

    @property
    def method(self) -> Callable[..., Any]:
        """`run`, without `self`."""
        method: Callable[..., Any] = self._cls.__new__(self._cls).run
        return method

    def start(self, context: Any) -> Callable[..., Any]:
        """`run` of a call's own instance."""
        run: Callable[..., Any] = self._cls(context, self._tool).run
        return run

    def settle(self, tool: definition.Tool) -> None:
        """What the instances will know of how they were declared."""
        self._tool = tool


def _declared(cls: type) -> _Declared | None:
    return _Declared(cls) if issubclass(cls, Tool) else None


register_class(_declared)
