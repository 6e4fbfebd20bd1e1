"""Resources and templates declared: what is refused, who answers for a URI, what is read."""

from typing import Any

import pytest
from pydantic import BaseModel

import mcp_app
from mcp_app.catalog.contents import ResourceContents, to_contents
from mcp_app.catalog.definition import ContextBase
from mcp_app.catalog.errors import NotFound, Unencodable, is_missing, register_missing
from mcp_app.catalog.registry import MCPServer, default_server
from mcp_app.catalog.resources import Resource
from mcp_app.protocol.content import TextContent
from mcp_app.protocol.versions import V_2025_03_26, V_2026_07_28


class Context(ContextBase):
    """What dispatch gives, in the tests' place."""


class Row(BaseModel):
    """A row."""

    number: int


def whole() -> str:
    """All of it."""
    return "all"


def one(number: int) -> str:
    """One of them."""
    return str(number)


def problem_of(uri: Any, function: Any, **options: Any) -> tuple[str, str]:
    server = MCPServer()
    assert server.resource(uri, **options)(function) is function
    assert not server.resources
    assert not server.templates
    [problem] = server.problems
    assert problem.hint
    return problem.id, problem.message


def test_a_uri_without_variables_is_a_resource_and_one_with_them_a_template() -> None:
    server = MCPServer()
    assert server.resource("o://all")(whole) is whole
    assert server.resource("o://{number}", name="order", title="Order")(one) is one
    assert not server.problems
    assert list(server.resources) == ["o://all"]
    assert server.resources["o://all"].name == "whole"
    assert server.resources["o://all"].read_only
    assert list(server.templates) == ["o://{number}"]
    assert server.templates["o://{number}"].title == "Order"


def test_a_resource_may_go_without_a_description() -> None:
    server = MCPServer()
    server.resource("o://all")(lambda: "x")
    assert "description" not in server.resources["o://all"].definition(V_2026_07_28)


def test_the_module_level_decorator_declares_on_the_default_server() -> None:
    mcp_app.resource("test-resources://all")(whole)
    assert default_server.remove_resource("test-resources://all") is not None
    assert "test-resources://all" not in default_server.resources


@pytest.mark.parametrize(
    ("uri", "function", "options", "expected"),
    [
        ("all", whole, {}, ("E071", "'all' is not an absolute URI")),
        (5, whole, {}, ("E071", "5 is no text")),
        ("o://{number}{other}", one, {}, ("E071", "nothing in between")),
        ("o://{id}", one, {}, ("E072", "no parameter for the variables id")),
        ("o://all", one, {}, ("E072", "no variable for the parameters number")),
        ("o://all", whole, {"size": -1}, ("E076", "size is -1")),
        ("o://all", whole, {"size": True}, ("E076", "size is True")),
        ("o://{number}", one, {"size": 1}, ("E076", "a template has a size")),
        ("o://all", whole, {"mime_type": "text"}, ("E076", "'text' is no media type")),
        ("o://all", whole, {"ttl_ms": -1}, ("E074", "ttl_ms is -1")),
        ("o://all", whole, {"ttl_ms": 1.5}, ("E074", "ttl_ms is 1.5")),
        ("o://all", whole, {"cache_scope": "shared"}, ("E074", "cache_scope is 'shared'")),
        ("o://all", whole, {"annotations": {"priority": 2}}, ("E075", "annotations")),
        ("o://all", whole, {"annotations": {"audience": ["model"]}}, ("E075", "annotations")),
        ("o://all", whole, {"annotations": {"colour": "red"}}, ("E075", "annotations")),
        ("o://all", whole, {"annotations": {"lastModified": 5}}, ("E075", "annotations")),
        ("o://all", whole, {"complete": {"x": []}}, ("E073", "without variables has completers")),
        ("o://{number}", one, {"complete": {"x": []}}, ("E073", "does not map arguments")),
        ("o://all", whole, {"permission_classes": []}, ("E057", "permission_classes is empty")),
        ("o://all", whole, {"scopes": "read"}, ("E061", "scopes is not a list")),
        ("o://all", whole, {"timeout": 0}, ("E063", "timeout must be")),
        ("o://{number}", one, {"sensitive": ["key"]}, ("E062", "sensitive names no parameter")),
        ("o://all", whole, {"icons": [{"src": "x"}]}, ("E065", "an icon needs")),
        ("o://all", whole, {"read_only": True}, ("E067", "unknown keywords: read_only")),
        ("o://all", 5, {}, ("E053", "must be a function")),
    ],
)
def test_a_declaration_that_breaks_a_rule_is_left_out(
    uri: Any, function: Any, options: Any, expected: tuple[str, str]
) -> None:
    found, message = problem_of(uri, function, **options)
    assert found == expected[0]
    assert expected[1] in message


def test_a_problem_names_the_resource_by_its_uri() -> None:
    _, message = problem_of("o://all", one)
    assert "resource 'o://all': the URI has no variable" in message


def test_a_uri_is_given_once_and_so_is_the_shape_of_a_template() -> None:
    server = MCPServer()

    def other(name: str) -> str:
        return name

    for _ in range(2):
        server.resource("o://all")(whole)
    server.resource("o://{number}")(one)
    server.resource("o://{name}")(other)
    server.resource("o://{+name}")(other)
    assert [problem.id for problem in server.problems] == ["E051", "E051"]
    assert "the URI is taken by a resource template of" in server.problems[1].message
    assert list(server.templates) == ["o://{+name}", "o://{number}"]


def test_a_resource_comes_before_templates_and_specific_ones_before_others() -> None:
    server = MCPServer()

    def name(name: str) -> str:
        return name

    for uri in ("o://{+name}", "o://a-{name}", "o://{name}"):
        server.resource(uri)(name)
    server.resource("o://a-all")(whole)
    answers = {
        uri: (found[0].key, found[1])
        for uri in ("o://a-all", "o://a-b", "o://b", "o://b/c", "p://b")
        if (found := server.find_resource(uri)) is not None
    }
    assert answers == {
        "o://a-all": ("o://a-all", {}),
        "o://a-b": ("o://a-{name}", {"name": "b"}),
        "o://b": ("o://{name}", {"name": "b"}),
        "o://b/c": ("o://{+name}", {"name": "b/c"}),
    }
    server.remove_resource("o://a-{name}")
    found = server.find_resource("o://a-b")
    assert found is not None
    assert found[0].key == "o://{name}"


def test_a_server_knows_which_kinds_it_has_and_tells_of_changes() -> None:
    server, told = MCPServer(), []
    server.on_change(lambda: told.append(server.kinds()))
    assert server.kinds() == frozenset()
    server.resource("o://{number}")(one)
    server.tool(description="x")(whole)
    server.resource("o://{number}")(one)
    assert [declared.key for declared in server.listed("resources")] == ["o://{number}"]
    server.remove("whole")
    server.remove("whole")
    assert told == [{"resources"}, {"resources", "tools"}, {"resources"}]


def test_a_context_is_no_variable() -> None:
    server = MCPServer()

    def with_context(ctx: Context, number: int) -> str:
        return str(number)

    server.resource("o://{number}")(with_context)
    assert server.templates["o://{number}"].takes_context


def resource(**options: Any) -> Resource:
    server = MCPServer()
    server.resource("o://all", **options)(whole)
    return server.resources["o://all"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", {"mimeType": "text/plain", "text": "text"}),
        ("", {"mimeType": "text/plain", "text": ""}),
        (b"\xff", {"mimeType": "application/octet-stream", "blob": "/w=="}),
        (memoryview(b"\xff"), {"mimeType": "application/octet-stream", "blob": "/w=="}),
        ({"a": 1}, {"mimeType": "application/json", "text": '{"a":1}'}),
        ([], {"mimeType": "application/json", "text": "[]"}),
        (Row(number=1), {"mimeType": "application/json", "text": '{"number":1}'}),
        (iter([Row(number=1)]), {"mimeType": "application/json", "text": '[{"number":1}]'}),
        (False, {"mimeType": "application/json", "text": "false"}),
        (ResourceContents(blob="/w=="), {"mimeType": "application/octet-stream", "blob": "/w=="}),
    ],
)
def test_a_value_is_text_a_blob_or_json(value: Any, expected: dict[str, Any]) -> None:
    result = to_contents(resource(), "o://all", value, V_2026_07_28)
    assert result == {"contents": [{"uri": "o://all"} | expected]}


def test_the_declared_type_holds_for_what_says_none() -> None:
    declared = resource(mime_type="application/hal+json")
    result = to_contents(declared, "o://all", {"a": 1}, V_2026_07_28)
    assert result["contents"][0]["mimeType"] == "application/hal+json"
    own = to_contents(declared, "o://all", ResourceContents("x", mime_type="a/b"), V_2026_07_28)
    assert own["contents"][0]["mimeType"] == "a/b"


def test_contents_have_metadata_where_the_revision_has_it() -> None:
    value = [ResourceContents(text="x", meta={"a": 1})]
    assert to_contents(resource(), "o://all", value, V_2026_07_28)["contents"][0]["_meta"]
    assert "_meta" not in to_contents(resource(), "o://all", value, V_2025_03_26)["contents"][0]


def test_nothing_is_no_empty_contents() -> None:
    with pytest.raises(NotFound):
        to_contents(resource(), "o://all", None, V_2026_07_28)


def test_a_content_block_is_no_contents() -> None:
    with pytest.raises(Unencodable, match="is a content block"):
        to_contents(resource(), "o://all", TextContent("x"), V_2026_07_28)


@pytest.mark.parametrize("given", [{}, {"text": "a", "blob": b"a"}])
def test_contents_have_either_text_or_blob(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="either text or blob"):
        ResourceContents(**given)


def test_other_exceptions_may_mean_that_there_is_nothing() -> None:
    class Gone(Exception):
        """Told by a product."""

    assert not is_missing(Gone())
    register_missing(Gone)
    assert is_missing(Gone())
    assert is_missing(NotFound())
