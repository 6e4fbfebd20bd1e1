"""Declaring tools on a server, and what is wrong with a declaration."""

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

import mcp_app
from mcp_app.catalog.definition import ContextBase, Kind
from mcp_app.catalog.problems import Problem
from mcp_app.catalog.registry import MCPServer, default_server

if TYPE_CHECKING:
    from collections import ChainMap


class Context(ContextBase):
    """What dispatch gives to tools, in the tests' place."""


class IsStaff:
    def has_permission(self, request: Any, view: Any) -> bool:
        return True


class Throttle:
    def allow_request(self, request: Any, view: Any) -> bool:
        return True


class Composed:
    """As `A & B` of DRF: no class, but an object that makes a permission when called."""

    def __call__(self) -> IsStaff:
        return IsStaff()


def fine(a: int) -> str:
    """Does it."""
    return str(a)


def problem_of(function: Any, **options: Any) -> tuple[str, str]:
    server = MCPServer()
    assert server.tool(**options)(function) is function
    assert not server.tools
    [problem] = server.problems
    assert problem.hint
    return problem.id, problem.message


def test_the_decorator_returns_the_function_bare_and_with_keywords() -> None:
    server = MCPServer()
    assert server.tool(fine) is fine
    assert server.tool(name="again", read_only=True)(fine) is fine
    assert list(server.tools) == ["again", "fine"]
    assert server.tools["again"].read_only
    assert not server.problems


def test_the_module_level_tool_registers_on_the_default_server() -> None:
    mcp_app.tool(name="test.registration")(fine)
    try:
        assert default_server.tools["test.registration"].function is fine
    finally:
        default_server.remove("test.registration")


def test_tools_are_sorted_read_only_and_a_snapshot() -> None:
    server = MCPServer("shop", title="Shop", version="1", instructions="Buy.")
    for name in ("b", "a", "C", "日報"):
        server.tool(name=name)(fine)
    tools = server.tools
    assert list(tools) == ["C", "a", "b", "日報"]
    with pytest.raises(TypeError):
        tools["x"] = tools["a"]  # type: ignore[index]
    removed = server.remove("a")
    assert removed is tools["a"]
    assert server.remove("a") is None
    assert server.get("a") is None
    assert server.add(removed)
    assert server.get("a") is removed
    assert (server.name, server.title, server.version) == ("shop", "Shop", "1")


def test_everything_declared_is_in_the_tool() -> None:
    server = MCPServer()
    server.tool(
        title="Title",
        description="  Another.\n\n    Indented.",
        destructive=True,
        permission_classes=[IsStaff, Composed()],
        throttle_classes=[Throttle],
        throttle_scope="burst",
        scopes=["orders:write"],
        sensitive=["a"],
        timeout=5,
        atomic=False,
        queryset="rows",
    )(fine)
    tool = server.tools["fine"]
    assert tool.description == "Another.\n\nIndented."
    assert tool.title == "Title"
    assert tool.permission_classes is not None
    assert tool.permission_classes[0] is IsStaff
    assert tool.throttle_classes == (Throttle,)
    assert (tool.throttle_scope, tool.scopes) == ("burst", ("orders:write",))
    assert (tool.sensitive, tool.timeout, tool.atomic) == ({"a"}, 5.0, False)
    assert (tool.queryset, tool.module) == ("rows", __name__)


def test_undeclared_policies_are_the_projects() -> None:
    server = MCPServer()
    server.tool(fine)
    tool = server.tools["fine"]
    assert tool.permission_classes is tool.throttle_classes is tool.timeout is tool.atomic is None
    server.tool(name="free", throttle_classes=[])(fine)
    assert server.tools["free"].throttle_classes == ()


async def coroutine() -> None: ...


def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> Any:
    yield 1


class Service:
    def method(self, a: int) -> str:
        """A bound method knows its self."""
        return str(a)


@pytest.mark.parametrize(
    ("function", "kind", "is_async"),
    [
        (fine, Kind.SYNC, False),
        (coroutine, Kind.ASYNC, True),
        (generator, Kind.GENERATOR, False),
        (async_generator, Kind.ASYNC_GENERATOR, True),
        (Service().method, Kind.SYNC, False),
    ],
)
def test_a_tool_knows_how_it_is_run(function: Any, kind: Kind, is_async: bool) -> None:
    server = MCPServer()
    server.tool(description="Does it.")(function)
    [tool] = server.tools.values()
    assert (tool.kind, tool.is_async) == (kind, is_async)


def with_context(ctx: Context, a: int) -> None: ...
def with_text_annotation(a: int, ctx: "Context") -> None: ...
def with_optional(a: int, *, context: Context | None = None) -> None: ...


@pytest.mark.parametrize(
    ("function", "name"),
    [(with_context, "ctx"), (with_text_annotation, "ctx"), (with_optional, "context")],
)
def test_the_context_is_found_by_annotation_and_is_no_argument(
    function: Callable[..., Any], name: str
) -> None:
    server = MCPServer()
    server.tool(description="Does it.")(function)
    [tool] = server.tools.values()
    assert tool.takes_context
    assert tool.arguments.context_name == name
    assert list(tool.arguments.schema["properties"]) == ["a"]
    assert tool.arguments.bind({"a": 1}) == {"a": 1}


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "a b", "a,b", "a/b", "a\n", "a" * 129, "a\u200b", "<x>", 5])
def test_a_name_without_letters_digits_and_three_signs_alone_is_refused(name: Any) -> None:
    assert problem_of(fine, name=name)[0] == Problem.NAME


@pytest.mark.parametrize(
    "name", ["a", "a" * 128, "DATA_EXPORT_v2", "admin.tools-list", "日報", "ü1"]
)
def test_a_name_of_letters_and_digits_of_any_script_is_taken(name: str) -> None:
    server = MCPServer()
    server.tool(name=name)(fine)
    assert list(server.tools) == [name]


def test_a_taken_name_is_refused_and_both_modules_are_named() -> None:
    server = MCPServer()
    server.tool(fine)

    def other() -> None:
        """Does something else."""

    other.__module__ = "shop.mcp"
    server.tool(name="fine")(other)
    [problem] = server.problems
    assert problem.id == Problem.DUPLICATE
    assert __name__ in problem.message
    assert "shop.mcp" in problem.message
    assert (problem.tool, problem.module) == ("fine", "shop.mcp")
    assert server.tools["fine"].function is fine


def variadic(*args: int) -> None:
    """Does it."""


def keywords(**kwargs: int) -> None:
    """Does it."""


def positional(a: int, /) -> None:
    """Does it."""


def unannotated(a) -> None:  # type: ignore[no-untyped-def]
    """Does it."""


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (variadic, "*args"),
        (keywords, "**kwargs"),
        (positional, "'a' is positional-only"),
        (unannotated, "'a' has no annotation"),
        (functools.partial(fine, 1), "must be a function"),
        (Service(), "must be a function"),
        (Service, "must be a function"),
        (len, "must be a function"),
        (5, "must be a function"),
    ],
)
def test_a_signature_that_callers_cannot_fill_in_is_refused(function: Any, told: str) -> None:
    identifier, message = problem_of(function, name="x", description="Does it.")
    assert identifier == Problem.SIGNATURE
    assert told in message


def unresolvable(a: "ChainMap[str, int]") -> None:
    """Imported for type checkers only."""


def misspelt(a: "list[") -> None:  # type: ignore[syntax]  # noqa: F722
    """No Python."""


class Plain:
    """No type for pydantic."""


def unknown(a: Plain) -> None:
    """Does it."""


@pytest.mark.parametrize("function", [unresolvable, misspelt, unknown])
def test_an_annotation_that_says_nothing_is_refused(function: Any) -> None:
    assert problem_of(function)[0] == Problem.ANNOTATION


def two_contexts(a: Context, b: Context) -> None:
    """Does it."""


def plain_result() -> Plain:
    """Does it."""
    return Plain()


def no_docstring() -> None: ...


class Reason(BaseModel):
    text: str


@pytest.mark.parametrize(
    ("function", "options", "identifier"),
    [
        (two_contexts, {}, Problem.CONTEXT),
        (plain_result, {}, Problem.RETURN_ANNOTATION),
        (no_docstring, {}, Problem.DESCRIPTION),
        (fine, {"description": "  "}, Problem.DESCRIPTION),
        (fine, {"permission_classes": []}, Problem.PERMISSIONS_EMPTY),
        (fine, {"permission_classes": [IsStaff()]}, Problem.PERMISSIONS),
        (fine, {"permission_classes": [dict]}, Problem.PERMISSIONS),
        (fine, {"permission_classes": ["IsStaff"]}, Problem.PERMISSIONS),
        (fine, {"permission_classes": [fine]}, Problem.PERMISSIONS),
        (fine, {"throttle_classes": [IsStaff]}, Problem.THROTTLES),
        (fine, {"read_only": True, "destructive": True}, Problem.HINTS),
        (fine, {"scopes": "orders:write"}, Problem.SCOPES),
        (fine, {"scopes": [5]}, Problem.SCOPES),
        (fine, {"sensitive": "a"}, Problem.SENSITIVE),
        (fine, {"sensitive": ["b"]}, Problem.SENSITIVE),
        (fine, {"audit": "all"}, Problem.AUDIT),
        (fine, {"timeout": 0}, Problem.TIMEOUT),
        (fine, {"timeout": -1}, Problem.TIMEOUT),
        (fine, {"timeout": float("nan")}, Problem.TIMEOUT),
        (fine, {"timeout": float("inf")}, Problem.TIMEOUT),
        (fine, {"timeout": True}, Problem.TIMEOUT),
        (fine, {"timeout": "5"}, Problem.TIMEOUT),
        (fine, {"icons": [{"src": "http://example.com/a.png"}]}, Problem.ICONS),
        (fine, {"icons": [{"mimeType": "image/png"}]}, Problem.ICONS),
        (fine, {"icons": ["https://example.com/a.png"]}, Problem.ICONS),
        (fine, {"meta": {"a": object()}}, Problem.META),
        (fine, {"meta": [1]}, Problem.META),
        (fine, {"client_capabilities": ["telepathy"]}, Problem.CAPABILITIES),
        (fine, {"client_capabilities": "sampling"}, Problem.CAPABILITIES),
        (coroutine, {"description": "Does it.", "atomic": True}, Problem.ATOMIC),
        (fine, {"readonly": True}, Problem.KEYWORD),
        (fine, {"icons": 5}, Problem.OTHER),
    ],
)
def test_each_rule_has_an_id(function: Any, options: dict[str, Any], identifier: str) -> None:
    found, message = problem_of(function, **options)
    assert found == identifier
    assert message.startswith(f"{function.__module__}: tool {function.__name__!r}: ")


def test_output_none_lets_a_result_without_schema_pass() -> None:
    server = MCPServer()
    server.tool(output=None)(plain_result)
    assert not server.problems


def test_a_broken_tool_does_not_stop_the_others() -> None:
    server = MCPServer()
    server.tool(unannotated)
    server.tool(fine)
    assert list(server.tools) == ["fine"]
    assert [problem.tool for problem in server.problems] == ["unannotated"]
