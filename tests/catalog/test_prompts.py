"""Prompts declared: their arguments from text, their messages, their completers."""

import datetime
import uuid
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, SecretStr

import mcp_app
from mcp_app.catalog.completers import Completion, to_completion
from mcp_app.catalog.definition import ContextBase, Kind
from mcp_app.catalog.errors import ArgumentsInvalid, Unencodable
from mcp_app.catalog.prompts import Message, Prompt, to_messages
from mcp_app.catalog.registry import MCPServer, default_server
from mcp_app.catalog.signature import Parameter
from mcp_app.catalog.texts import TextArguments
from mcp_app.protocol.content import ImageContent, TextContent
from mcp_app.protocol.versions import V_2025_03_26, V_2026_07_28


class Context(ContextBase):
    """What dispatch gives, in the tests' place."""


class Colour(Enum):
    """A choice by name."""

    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    """A choice by number."""

    LOW = 1
    HIGH = 2


class Point(BaseModel):
    """An object."""

    x: int


def greet(name: str) -> str:
    """Greet somebody."""
    return name


def declare(function: Any, **options: Any) -> Prompt:
    server = MCPServer()
    server.prompt(**options)(function)
    assert not server.problems
    [prompt] = server.prompts.values()
    return prompt


def problem_of(function: Any, **options: Any) -> tuple[str, str]:
    server = MCPServer()
    server.prompt(**options)(function)
    assert not server.prompts
    [problem] = server.problems
    assert problem.hint
    return problem.id, problem.message


def test_the_decorator_returns_the_function_bare_and_with_keywords() -> None:
    server = MCPServer()
    assert server.prompt(greet) is greet
    assert server.prompt(name="again", title="Again")(greet) is greet
    assert list(server.prompts) == ["again", "greet"]
    assert server.prompts["again"].read_only
    assert server.remove_prompt("again") is not None
    assert server.remove_prompt("again") is None


def test_the_module_level_decorator_declares_on_the_default_server() -> None:
    mcp_app.prompt(name="test.prompts")(greet)
    assert default_server.remove_prompt("test.prompts") is not None


def test_a_prompt_may_share_its_name_with_a_tool() -> None:
    server = MCPServer()
    server.prompt(greet)
    server.tool(greet)
    assert not server.problems


@pytest.mark.parametrize(
    ("function", "options", "expected"),
    [
        (lambda: "x", {}, ("E050", "cannot be the name of a prompt")),
        (lambda: "x", {"name": "x"}, ("E052", "the prompt has no description")),
        (greet, {"read_only": True}, ("E067", "unknown keywords: read_only")),
        (greet, {"permission_classes": ()}, ("E057", "permission_classes is empty")),
        (greet, {"sensitive": ["x"]}, ("E062", "sensitive names no parameter")),
        (greet, {"complete": {"x": []}}, ("E073", "does not map arguments to completers")),
        (greet, {"complete": ["x"]}, ("E073", "does not map arguments to completers")),
        (greet, {"complete": {"name": "abc"}}, ("E073", "'name' cannot be called")),
        (greet, {"complete": {"name": lambda: []}}, ("E073", "takes the wrong parameters")),
        (greet, {"complete": {"name": lambda a, b, c: []}}, ("E073", "the wrong parameters")),
        (greet, {"complete": {"name": lambda *a: []}}, ("E073", "takes the wrong parameters")),
    ],
)
def test_a_declaration_that_breaks_a_rule_is_left_out(
    function: Any, options: Any, expected: tuple[str, str]
) -> None:
    found, message = problem_of(function, **options)
    assert found == expected[0]
    assert expected[1] in message
    assert ": prompt " in message


def test_a_name_is_given_once() -> None:
    server = MCPServer()
    server.prompt(greet)
    server.prompt(greet)
    assert [problem.id for problem in server.problems] == ["E051"]


def test_a_definition_lists_the_arguments() -> None:
    def ask(
        topic: Annotated[str, Field(title="Topic", description="What about.")],
        words: int = 5,
        ctx: Context | None = None,
    ) -> str:
        """Ask."""
        return topic

    prompt = declare(ask)
    assert prompt.definition(V_2026_07_28)["arguments"] == [
        {"name": "topic", "title": "Topic", "description": "What about.", "required": True},
        {"name": "words", "required": False},
    ]
    assert "title" not in prompt.definition(V_2025_03_26)["arguments"][0]


# --- arguments -------------------------------------------------------------------------------


def read(annotation: Any, text: str) -> Any:
    return TextArguments([Parameter("value", annotation)]).bind({"value": text})["value"]


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (str, "5", "5"),
        (str, "[1]", "[1]"),
        (str | None, "x", "x"),
        (int, "5", 5),
        (int | None, "5", 5),
        (float, "1.5", 1.5),
        (Decimal, "1.10", Decimal("1.10")),
        (bool, "false", False),
        (datetime.date, "2026-01-02", datetime.date(2026, 1, 2)),
        (
            uuid.UUID,
            "12345678-1234-5678-1234-567812345678",
            uuid.UUID(int=0x12345678123456781234567812345678),
        ),
        (Colour, "red", Colour.RED),
        (Level, "2", Level.HIGH),
        (Literal["a", "b"], "b", "b"),
        (list[int], "[1,2]", [1, 2]),
        (list[int] | None, "[1]", [1]),
        (dict[str, int], '{"a":1}', {"a": 1}),
        (Point, '{"x":1}', Point(x=1)),
        (Any, "x", "x"),
    ],
)
def test_a_value_is_read_from_its_text(annotation: Any, text: str, value: Any) -> None:
    found = read(annotation, text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("annotation", "text", "told"),
    [
        (int, "five", "should be a valid integer"),
        (int, "9" * 5000, "exceeded maximum size"),
        (float, "nan", "should be a finite number"),
        (bool, "perhaps", "should be a valid boolean"),
        (Colour, "green", "should be 'red' or 'blue'"),
        (list[int], "1,2", "is not valid JSON"),
        (list[int], '["1"]', "should be a valid integer"),
        (Annotated[str, Field(max_length=2)], "abc", "at most 2 characters"),
        (str, "a\ud800", "is not valid Unicode"),
    ],
)
def test_a_text_that_does_not_fit_is_refused_without_being_quoted(
    annotation: Any, text: str, told: str
) -> None:
    with pytest.raises(ArgumentsInvalid, match=told) as refused:
        read(annotation, text)
    assert text not in str(refused.value)


def test_what_is_missing_unknown_or_no_text_is_named() -> None:
    arguments = TextArguments([Parameter("a", int), Parameter("b", int, 2)])
    assert arguments.required == {"a"}
    assert arguments.bind({"a": "1"}) == {"a": 1, "b": 2}
    assert arguments.bind({"a": "1", "b": None}) == {"a": 1, "b": 2}
    for given, told in (
        ({}, "a: is required"),
        ({"a": "1", "c": "1"}, "c: is not a known argument"),
        ({"a": 1}, "a: should be a string"),
        ({"a": "1"} | {f"x{n}": "1" for n in range(1000)}, "x19: is not a known argument"),
    ):
        with pytest.raises(ArgumentsInvalid, match=told):
            arguments.bind(given)
    with pytest.raises(ArgumentsInvalid, match="b: should be a string"):
        arguments.bind({"a": "1", "b": None}, lenient=False)


def test_an_alias_is_what_callers_say() -> None:
    arguments = TextArguments([Parameter("from_", Annotated[list[int], Field(alias="from")])])
    assert arguments.bind({"from": "[1]"}) == {"from_": [1]}


def test_secrets_are_known_by_their_type_and_by_name() -> None:
    arguments = TextArguments(
        [Parameter("a", SecretStr), Parameter("b", str), Parameter("c", str)], sensitive=["b"]
    )
    assert arguments.sensitive == {"a", "b"}


# --- messages --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("hello", [("user", "text")]),
        (TextContent("hello"), [("user", "text")]),
        (Message("assistant", "hello"), [("assistant", "text")]),
        (
            ["a", Message("assistant", ImageContent(b"", "a/b"))],
            [("user", "text"), ("assistant", "image")],
        ),
        (iter(["a", "b"]), [("user", "text"), ("user", "text")]),
        ([], []),
    ],
)
def test_a_value_is_one_message_or_several(value: Any, expected: Any) -> None:
    result = to_messages(declare(greet), value, V_2026_07_28)
    assert result["description"] == "Greet somebody."
    told = [(message["role"], message["content"]["type"]) for message in result["messages"]]
    assert told == expected


@pytest.mark.parametrize("value", [None, 5, {"role": "user"}, ["a", 5], b"a"])
def test_another_value_is_no_message(value: Any) -> None:
    with pytest.raises(Unencodable, match="is no message of a prompt"):
        to_messages(declare(greet), value, V_2026_07_28)


def test_a_message_is_from_the_user_or_the_assistant() -> None:
    with pytest.raises(ValueError, match="not 'system'"):
        Message("system", "x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="one text or one content block"):
        Message("user", 5)  # type: ignore[arg-type]


# --- completers ------------------------------------------------------------------------------


def test_closed_choices_bring_a_completer_along() -> None:
    def choose(
        a: Colour,
        b: Literal["x", "y"] | None = None,
        c: bool = True,
        d: Level = Level.LOW,
        e: str = "",
    ) -> str:
        """Choose."""
        return ""

    completers = declare(choose, complete={"b": ["own"]}).completers
    found = {name: completer.function("") for name, completer in completers.items()}
    assert found == {"a": ["red", "blue"], "b": ["own"], "c": ["true", "false"], "d": ["1", "2"]}


def test_completers_share_the_guards_of_what_they_belong_to() -> None:
    class IsStaff:
        def has_permission(self, request: Any, view: Any) -> bool:
            return False

    prompt = declare(
        greet, complete={"name": ["a"]}, permission_classes=[IsStaff], scopes=["x"], timeout=3
    )
    completer = prompt.completers["name"]
    for guard in ("name", "permission_classes", "scopes", "timeout", "throttle_classes"):
        assert getattr(completer, guard) == getattr(prompt, guard)
    assert completer.read_only


def test_a_completer_takes_the_text_the_other_arguments_and_a_context_by_any_name() -> None:
    def full(typed: str, ctx: Context, rest: dict[str, str]) -> list[str]:
        return []

    async def short(value: str) -> list[str]:
        return []

    def generator(value: str) -> Iterator[str]:
        yield value

    def several(a: str = "", b: str = "", c: str = "") -> str:
        """Several."""
        return a

    completers = declare(several, complete={"a": full, "b": short, "c": generator}).completers
    assert completers["a"].bound("x", {"b": "y"}) == {"typed": "x", "rest": {"b": "y"}}
    assert completers["a"].arguments.context_name == "ctx"
    assert completers["b"].bound("x", {"b": "y"}) == {"value": "x"}
    assert (completers["b"].kind, completers["c"].kind) == (Kind.ASYNC, Kind.SYNC)


def test_an_async_generator_is_no_completer() -> None:
    async def slowly(value: str) -> AsyncIterator[str]:
        yield value

    assert problem_of(greet, complete={"name": slowly})[0] == "E073"


def test_an_enum_and_any_values_may_be_listed() -> None:
    prompt = declare(greet, complete={"name": Colour})
    assert prompt.completers["name"].function("BL") == ["blue"]
    numbers = declare(greet, complete={"name": (1, 20, 200)})
    assert numbers.completers["name"].function("0") == ["20", "200"]


class Rows:
    """As a queryset: sliced, and never counted."""

    def __init__(self) -> None:
        self.asked: list[slice] = []

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("all rows were fetched")

    def __getitem__(self, part: slice) -> list[str]:
        self.asked.append(part)
        return [f"row {n}" for n in range(*part.indices(500))]


def test_of_a_query_no_more_rows_are_fetched_than_show_that_there_are_more() -> None:
    rows = Rows()
    found = to_completion(rows)["completion"]
    assert rows.asked == [slice(None, 101)]
    assert (len(found["values"]), found["hasMore"]) == (100, True)
    assert "total" not in found


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, {"values": [], "total": 0, "hasMore": False}),
        (["a"], {"values": ["a"], "total": 1, "hasMore": False}),
        ({"a"}, {"values": ["a"], "total": 1, "hasMore": False}),
        (
            [1, Colour.RED, Decimal("1.0")],
            {"values": ["1", "red", "1.0"], "total": 3, "hasMore": False},
        ),
        (Completion(["a"], total=9), {"values": ["a"], "total": 9, "hasMore": False}),
        (Completion(["a"], has_more=True), {"values": ["a"], "total": 1, "hasMore": True}),
    ],
)
def test_suggestions_are_texts(value: Any, expected: dict[str, Any]) -> None:
    assert to_completion(value) == {"completion": expected}


@pytest.mark.parametrize("value", ["abc", b"abc", {"a": 1}, 5])
def test_what_is_no_list_gives_no_suggestions(value: Any) -> None:
    with pytest.raises(Unencodable, match="is no list of suggestions"):
        to_completion(value)
