"""MCPServer: the tools of one endpoint, and what was wrong with those it had to leave out."""

import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar, Unpack, overload

from mcp_app.catalog.declaration import Options, declared
from mcp_app.catalog.definition import Tool
from mcp_app.catalog.problems import Problem, Refused, RegistrationProblem

Function = TypeVar("Function", bound=Callable[..., Any])


class MCPServer:
    """A set of tools under one name, as an AdminSite is a set of models.

    `default_server` is the one that the module-level `tool` registers on; a product with several
    endpoints makes more.
    """

    def __init__(
        self,
        name: str = "default",
        *,
        title: str | None = None,
        version: str | None = None,
        instructions: str | None = None,
    ) -> None:
        self.name, self.title = name, title
        self.version, self.instructions = version, instructions
        self.problems: list[RegistrationProblem] = []
        """Why declarations were left out; a system check reports them."""
        self._tools: Mapping[str, Tool] = MappingProxyType({})
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<MCPServer {self.name!r}: {len(self._tools)} tools>"

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name, sorted by it. A snapshot: later changes make another."""
        return self._tools

    def get(self, name: str) -> Tool | None:
        """The tool of that name."""
        return self._tools.get(name)

    @overload
    def tool(self, function: Function, /) -> Function: ...

    @overload
    def tool(
        self, function: None = None, /, **options: Unpack[Options]
    ) -> Callable[[Function], Function]: ...

    def tool(self, function: Function | None = None, /, **options: Unpack[Options]) -> Any:
        """Register a function as a tool; usable with and without keywords.

        The function is returned as it is. A declaration that breaks a rule raises nothing: it is
        left out, and `problems` says why.
        """

        def register(function: Function) -> Function:
            self._register(function, options)
            return function

        return register if function is None else register(function)

    def add(self, tool: Tool) -> bool:
        """Register a tool that was made otherwise; whether it could be."""
        with self._lock:
            known = self._tools.get(tool.name)
            if known is None:
                everything = {**self._tools, tool.name: tool}
                self._tools = MappingProxyType(dict(sorted(everything.items())))
                return True
        self.report(_duplicate(tool, known), tool.name, tool.module)
        return False

    def remove(self, name: str) -> Tool | None:
        """Take a tool out and return it; None where there was none."""
        with self._lock:
            left = dict(self._tools)
            tool = left.pop(name, None)
            self._tools = MappingProxyType(left)
        return tool

    def report(self, refused: Refused, tool: str, module: str) -> None:
        """Remember why a declaration was left out."""
        message = f"{module}: tool {tool!r}: {refused.message}."
        problem = RegistrationProblem(
            str(refused.problem), message, refused.hint, tool=tool, module=module
        )
        self.problems.append(problem)

    def _register(self, function: Any, options: Options) -> None:
        told = str(options.get("name") or getattr(function, "__name__", repr(function)))
        module = getattr(function, "__module__", None) or ""
        try:
            self.add(declared(function, options))
        except Refused as refused:
            self.report(refused, told, module)
        except Exception as error:  # a keyword's own code, such as a lazy text
            said = f"the declaration failed ({type(error).__name__}: {error})"
            self.report(Refused(Problem.OTHER, said, "Correct the keywords."), told, module)


def _duplicate(tool: Tool, known: Tool) -> Refused:
    return Refused(
        Problem.DUPLICATE,
        f"the name is taken by a tool of {known.module}",
        f"Give one of them another name, here ({tool.module}) or there ({known.module}).",
    )


default_server: Final = MCPServer()
"""Where the module-level `tool` registers."""
