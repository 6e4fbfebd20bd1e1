"""MCPServer: what one endpoint offers, and what was wrong with what it had to leave out."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar, Unpack, overload
from weakref import WeakSet

from mcp_app.catalog.declaration import Options, declared
from mcp_app.catalog.definition import Declaration, Tool
from mcp_app.catalog.problems import Problem, Refused, RegistrationProblem
from mcp_app.catalog.prompt_declaration import PromptOptions, declared_prompt
from mcp_app.catalog.prompts import Prompt
from mcp_app.catalog.resource_declaration import ResourceOptions, declared_resource
from mcp_app.catalog.resources import Readable, Resource, ResourceTemplate
from mcp_app.catalog.shelf import Shelf

Function = TypeVar("Function", bound=Callable[..., Any])
Taken = TypeVar("Taken", bound=Declaration | None)
Declare = Callable[[Any], Declaration]


class MCPServer:
    """Tools, resources and prompts under one name, as an AdminSite is a set of models.

    `default_server` is the one that the module-level `tool`, `resource` and `prompt` register on;
    a product with several endpoints makes more.
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
        self._tools: Shelf[Tool] = Shelf()
        self._resources: Shelf[Resource] = Shelf()
        self._templates: Shelf[ResourceTemplate] = Shelf()
        self._prompts: Shelf[Prompt] = Shelf()
        self.completes = False
        """Whether any argument has a completer."""
        self._routes: tuple[ResourceTemplate, ...] = ()
        self._listeners: list[Callable[[], None]] = []
        _servers.add(self)

    def __repr__(self) -> str:
        shelves = (self.tools, self.resources, self.templates, self.prompts)
        tools, resources, templates, prompts = map(len, shelves)
        return (
            f"<MCPServer {self.name!r}: {tools} tools, {resources} resources,"
            f" {templates} templates, {prompts} prompts>"
        )

    # --- what there is -----------------------------------------------------------------------

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name, sorted by it. A snapshot: later changes make another."""
        return self._tools.everything

    @property
    def resources(self) -> Mapping[str, Resource]:
        """The resources by URI, as `tools`."""
        return self._resources.everything

    @property
    def templates(self) -> Mapping[str, ResourceTemplate]:
        """The resource templates by their text, as `tools`."""
        return self._templates.everything

    @property
    def prompts(self) -> Mapping[str, Prompt]:
        """The prompts by name, as `tools`."""
        return self._prompts.everything

    def get(self, name: str) -> Tool | None:
        """The tool of that name."""
        return self.tools.get(name)

    def find_resource(self, uri: str) -> tuple[Readable, dict[str, str]] | None:
        """What answers for `uri`, with the values of a template's variables.

        A resource of that very URI comes first, then the most specific template that matches:
        without `{+…}` before with, then the one with more literal text. Who asks makes no
        difference.
        """
        resource = self.resources.get(uri)
        if resource is not None:
            return resource, {}
        for template in self._routes:
            values = template.uri_template.match(uri)
            if values is not None:
                return template, values
        return None

    def kinds(self) -> frozenset[str]:
        """Those of "tools", "resources" and "prompts" that something is declared of."""
        declared = {
            "tools": self.tools,
            "resources": self.resources or self.templates,
            "prompts": self.prompts,
        }
        return frozenset(kind for kind, there in declared.items() if there)

    def listed(self, kind: str) -> Iterable[Declaration]:
        """Everything of a kind, in the order of its lists; of "resources" the templates, too."""
        if kind == "resources":
            return (*self.resources.values(), *self.templates.values())
        return tuple((self.tools if kind == "tools" else self.prompts).values())

    # --- declaring ---------------------------------------------------------------------------

    @overload
    def tool(self, function: Function, /) -> Function: ...

    @overload
    def tool(
        self, function: None = None, /, **options: Unpack[Options]
    ) -> Callable[[Function], Function]: ...

    def tool(self, function: Function | None = None, /, **options: Unpack[Options]) -> Any:
        """Register a function as a tool; usable with and without keywords.

        With `input=`, a serializer of DRF, its fields are the arguments, and the function's
        parameter `data` gets what it has validated; `output=` may be one, too. A subclass of
        `mcp_app.integrations.Tool` stands for its method `run`.

        The function is returned as it is. A declaration that breaks a rule raises nothing: it is
        left out, and `problems` says why.
        """
        register = self._registering(Tool.noun, options, lambda f: declared(f, options))
        return register if function is None else register(function)

    def resource(
        self, uri: str, /, **options: Unpack[ResourceOptions]
    ) -> Callable[[Function], Function]:
        """Register a function as what is read at `uri`, or at each URI that a template makes.

        A template's variables are the function's parameters. Otherwise as `tool`.
        """
        declare: Declare = lambda function: declared_resource(uri, function, options)  # noqa: E731
        return self._registering(Resource.noun, {"name": uri}, declare)

    @overload
    def prompt(self, function: Function, /) -> Function: ...

    @overload
    def prompt(
        self, function: None = None, /, **options: Unpack[PromptOptions]
    ) -> Callable[[Function], Function]: ...

    def prompt(self, function: Function | None = None, /, **options: Unpack[PromptOptions]) -> Any:
        """Register a function as a prompt, as `tool`. Its arguments arrive as text."""
        register = self._registering(Prompt.noun, options, lambda f: declared_prompt(f, options))
        return register if function is None else register(function)

    def add(self, declaration: Declaration) -> bool:
        """Register what was made otherwise; whether it could be."""
        known = self._put(declaration)
        if known is None:
            self._changed()
            return True
        refused = _duplicate(declaration, known)
        self.report(refused, declaration.key, declaration.module, noun=declaration.noun)
        return False

    def remove(self, name: str) -> Tool | None:
        """Take a tool out and return it; None where there was none."""
        return self._taken(self._tools.remove(name))

    def remove_resource(self, uri: str) -> Readable | None:
        """Take out the resource of that URI, or the template of that text, and return it."""
        found: Readable | None = self._resources.remove(uri) or self._templates.remove(uri)
        return self._taken(found)

    def remove_prompt(self, name: str) -> Prompt | None:
        """Take a prompt out and return it; None where there was none."""
        return self._taken(self._prompts.remove(name))

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after something was added or taken out."""
        self._listeners.append(listener)

    def report(self, refused: Refused, tool: str, module: str, *, noun: str = Tool.noun) -> None:
        """Remember why a declaration was left out."""
        message = f"{module}: {noun} {tool!r}: {refused.message}."
        problem = RegistrationProblem(
            str(refused.problem), message, refused.hint, tool=tool, module=module
        )
        self.problems.append(problem)

    def _registering(
        self, noun: str, options: Mapping[str, Any], declare: Declare
    ) -> Callable[[Function], Function]:
        def register(function: Function) -> Function:
            told = str(options.get("name") or getattr(function, "__name__", repr(function)))
            module = getattr(function, "__module__", None) or ""
            try:
                self.add(declare(function))
            except Refused as refused:
                self.report(refused, told, module, noun=noun)
            except Exception as error:  # a keyword's own code, such as a lazy text
                said = f"the declaration failed ({type(error).__name__}: {error})"
                broken = Refused(Problem.OTHER, said, "Correct the keywords.")
                self.report(broken, told, module, noun=noun)
            return function

        return register

    def _put(self, declaration: Declaration) -> Declaration | None:
        """Onto its shelf, unless its key is taken; then, what has it."""
        match declaration:
            case Tool():
                return self._tools.add(declaration)
            case Prompt():
                return self._prompts.add(declaration)
            case Resource():
                return self._resources.add(declaration)
            case ResourceTemplate():
                return self._put_template(declaration)
        raise TypeError(f"{type(declaration).__name__} cannot be registered")

    def _put_template(self, template: ResourceTemplate) -> Declaration | None:
        shape = template.uri_template.shape
        for known in self.templates.values():
            if known.uri_template.shape == shape:
                return known
        return self._templates.add(template)

    def _taken(self, removed: Taken) -> Taken:
        if removed is not None:
            self._changed()
        return removed

    def _changed(self) -> None:
        self._routes = tuple(sorted(self.templates.values(), key=lambda t: t.uri_template.rank))
        completers = [t.completers for t in self._routes]
        completers += [prompt.completers for prompt in self.prompts.values()]
        self.completes = any(completers)
        for listener in self._listeners:
            listener()


def _duplicate(declaration: Declaration, known: Declaration) -> Refused:
    what = "URI" if isinstance(declaration, Readable) else "name"
    return Refused(
        Problem.DUPLICATE,
        f"the {what} is taken by a {known.noun} of {known.module}",
        f"Give one of them another {what}, here ({declaration.module}) or there ({known.module}).",
    )


_servers: Final[WeakSet[MCPServer]] = WeakSet()


def servers() -> list[MCPServer]:
    """Every server of this process."""
    return list(_servers)


default_server: Final = MCPServer()
"""Where the module-level `tool`, `resource` and `prompt` register."""
