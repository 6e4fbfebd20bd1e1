"""What callers may send for each annotation, and what they are told when it does not fit."""

import datetime as dt
import json
import uuid
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import AfterValidator, BaseModel, Field, SecretStr
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from mcp_app.catalog.arguments import Arguments
from mcp_app.catalog.errors import ArgumentsInvalid
from mcp_app.catalog.signature import UNSTATED, Parameter

ID = uuid.UUID("12345678-1234-5678-1234-567812345678")


class Color(Enum):
    RED = "red"


class Number(IntEnum):
    ONE = 1


class Switch(Enum):
    ON = True
    AUTO = "auto"


class Odds(BaseModel):
    lives: Literal[0, 9]
    number: Number


class Filter(BaseModel):
    name: str
    limit: int = 5


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


class Point(TypedDict):
    x: int
    y: int


def arguments(annotation: Any, default: Any = UNSTATED, **options: Any) -> Arguments:
    return Arguments([Parameter("value", annotation, default)], **options)


def bound(annotation: Any, value: Any, *, lenient: bool = True) -> Any:
    return arguments(annotation).bind({"value": value}, lenient=lenient)["value"]


def refusal(annotation: Any, value: Any, *, lenient: bool = True, **options: Any) -> str:
    with pytest.raises(ArgumentsInvalid) as refused:
        arguments(annotation, **options).bind({"value": value}, lenient=lenient)
    return str(refused.value)


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (int, 5, 5),
        (int, 5.0, 5),
        (int, 2**70, 2**70),
        (float, 5, 5.0),
        (bool, False, False),
        (str, "[1,2]", "[1,2]"),
        (str, "5", "5"),
        (dt.date, "2026-01-02", dt.date(2026, 1, 2)),
        (dt.datetime, "2026-01-02T03:04:05Z", dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)),
        (dt.timedelta, "PT1H", dt.timedelta(hours=1)),
        (uuid.UUID, str(ID), ID),
        (Decimal, "1.10", Decimal("1.10")),
        (Decimal, 1.5, Decimal("1.5")),
        (bytes, "//4=", b"\xff\xfe"),
        (Color, "red", Color.RED),
        (Number, 1, Number.ONE),
        (Literal["a", "b"], "b", "b"),
        (Literal["a", 1], 1.0, 1),
        (Literal[1, True], True, True),
        (Literal[1, True], 1, 1),
        (Literal[1] | bool, True, True),
        (Switch, True, Switch.ON),
        (Odds, {"lives": 0, "number": 1}, Odds(lives=0, number=Number.ONE)),
        (int | None, None, None),
        (list[int], [1, 2.0], [1, 2]),
        (set[int], [1, 2], {1, 2}),
        (tuple[int, str], [1, "a"], (1, "a")),
        (dict[str, Decimal], {"a": "1.10"}, {"a": Decimal("1.10")}),
        (dict[uuid.UUID, int], {str(ID): 1}, {ID: 1}),
        (Filter, {"name": "a", "limit": 3.0}, Filter(name="a", limit=3)),
        (list[Filter], [{"name": "a"}], [Filter(name="a")]),
        (Pet, {"kind": "dog", "name": "Rex"}, Dog(kind="dog", name="Rex")),
        (Point, {"x": 1, "y": 2.0}, {"x": 1, "y": 2}),
        (int | str, 5.0, 5),
        (Any, {"a": [1]}, {"a": [1]}),
    ],
)
def test_json_becomes_the_value_that_the_annotation_names(
    annotation: Any, value: Any, expected: Any
) -> None:
    result = bound(annotation, value)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, "5"),
        (int, True),
        (int, 5.5),
        (int, 1e300),
        (int, None),
        (float, "1.5"),
        (float, True),
        (bool, "false"),
        (bool, 0),
        (str, 5),
        (str, True),
        (dt.date, 5),
        (dt.datetime, 1700000000),
        (dt.date, "yesterday"),
        (uuid.UUID, "zz"),
        (Decimal, "abc"),
        (bytes, "a b"),
        (Color, "blue"),
        (Literal["a"], "b"),
        (Literal["a", 1], True),
        (Literal["a", 0] | None, False),
        (Literal[True, "a"], 1),
        (list[Literal[1]], [True]),
        (Number, True),
        (Switch, 1),
        (Odds, {"lives": False, "number": 1}),
        (Odds, {"lives": 0, "number": True}),
        (Annotated[int, Field(ge=1, le=100)], 101),
        (list[int], "1,2"),
        (list[int], {"a": 1}),
        (list[int], ["1"]),
        (str | list[int], {}),
        (Filter, []),
    ],
)
def test_what_does_not_fit_is_refused_and_the_field_is_named(annotation: Any, value: Any) -> None:
    assert refusal(annotation, value).startswith("value")


@pytest.mark.parametrize(
    ("annotation", "text", "expected"),
    [
        (list[int], "[1, 2]", [1, 2]),
        (list[int], "[1.0, 2]", [1, 2]),
        (list[int] | None, "[1]", [1]),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (Filter, '{"name": "a"}', Filter(name="a")),
        (Pet, '{"kind": "cat", "lives": 9}', Cat(kind="cat", lives=9)),
        (Point, '{"x": 1, "y": 2}', {"x": 1, "y": 2}),
    ],
)
def test_an_array_or_object_that_arrives_as_a_string_is_decoded_once_when_lenient(
    annotation: Any, text: str, expected: Any
) -> None:
    assert bound(annotation, text) == expected
    assert "value" in refusal(annotation, text, lenient=False)
    assert "value" in refusal(annotation, json.dumps(text))


@pytest.mark.parametrize(
    ("annotation", "text"),
    [(list[int], '{"a": 1}'), (dict[str, int], "[1]"), (list[int], "[1"), (Filter, "null")],
)
def test_a_string_that_holds_another_type_is_refused(annotation: Any, text: str) -> None:
    assert "value" in refusal(annotation, text)


def test_a_string_is_not_decoded_where_a_string_may_be_meant() -> None:
    assert bound(str | list[int], "[1]") == "[1]"
    assert refusal(list[list[int]], ["[1]"]).startswith("value.0: ")


def test_every_problem_is_told_with_its_path() -> None:
    several = Arguments(
        [Parameter("filters", list[Filter]), Parameter("limit", int), Parameter("day", dt.date)]
    )
    with pytest.raises(ArgumentsInvalid) as refused:
        several.bind({"filters": [{"name": "a"}, {"limit": "x"}], "limit": "5", "extra": 1})
    assert refused.value.problems == (
        ("filters.1.name", "is required"),
        ("filters.1.limit", "should be a valid integer"),
        ("limit", "should be a valid integer"),
        ("day", "is required"),
        ("extra", "is not a known argument"),
    )


def test_members_of_a_union_are_one_problem_under_one_path() -> None:
    assert refusal(int | bool, "x") == (
        "value: should be a valid integer, or should be a valid boolean"
    )


@pytest.mark.parametrize(
    ("annotation", "value", "told"),
    [
        (Annotated[str | int, Field(max_length=3)], "hunter2", "at most 3 characters"),
        (Annotated[str | int, Field(min_length=9)], "hunter2", "at least 9 characters"),
        (Annotated[SecretStr, Field(max_length=1)], "hunter2", "at most 1 character"),
        (Annotated[list[int], Field(max_length=1)], [1, 2], "at most 1 item after validation"),
    ],
)
def test_a_text_is_measured_in_characters(annotation: Any, value: Any, told: str) -> None:
    said = refusal(annotation, value)
    assert f"should have {told}" in said
    assert ("item" in said) is isinstance(value, list)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (uuid.UUID, "hunter2"),
        (Pet, {"kind": "hunter2"}),
        (Literal["a"], "hunter2"),
        (Color, "hunter2"),
        (dt.datetime, "hunter2"),
        (dt.date, "2026-01-02hunter2"),
        (Decimal, "hunter2"),
        (bytes, "hunter2!"),
        (list[int], "hunter2"),
        (Annotated[str, Field(max_length=3)], "hunter2"),
        (Annotated[str, Field(pattern="^a$")], "hunter2"),
    ],
)
def test_no_value_is_echoed(annotation: Any, value: Any) -> None:
    told = refusal(annotation, value)
    assert "hunter2" not in told
    assert "http" not in told


def _picky(value: str) -> str:
    raise ValueError(f"{value} will not do")


def _custom(value: str) -> str:
    raise PydanticCustomError("picky", "{value} will not do", {"value": value})


@pytest.mark.parametrize("check", [_picky, _custom])
def test_an_authors_sentence_is_told_but_not_of_a_sensitive_field(check: Any) -> None:
    annotation = Annotated[str, AfterValidator(check)]
    assert refusal(annotation, "x") == "value: x will not do"
    assert refusal(annotation, "x", sensitive=["value"]) == "value: is not valid"


class Login(BaseModel):
    user: str
    password: SecretStr


def test_secrets_are_sensitive_without_being_named() -> None:
    made = Arguments(
        [
            Parameter("pin", SecretStr),
            Parameter("login", Login),
            Parameter("note", Annotated[str, Field(json_schema_extra={"writeOnly": True})]),
            Parameter("reason", str),
            Parameter("order", Annotated[int, Field(alias="orderId")]),
            Parameter("plain", str),
        ],
        sensitive=["reason", "order"],
    )
    assert made.sensitive == {"pin", "login", "note", "reason", "order", "orderId"}


def test_defaults_apply_and_are_not_shared() -> None:
    made = Arguments(
        [
            Parameter("items", list[int], []),
            Parameter("color", Color, Color.RED),
            Parameter("limit", int, Field(default=3, ge=1)),
            Parameter("names", Annotated[list[str], Field(default_factory=list)]),
        ]
    )
    first, second = made.bind({}), made.bind({})
    assert first == {"items": [], "color": Color.RED, "limit": 3, "names": []}
    first["items"].append(1)
    first["names"].append("a")
    assert second["items"] == second["names"] == made.bind({})["items"] == []
    assert "required" not in made.schema


def test_a_parameter_may_have_any_name() -> None:
    names = ["_private", "model_config", "schema", "json", "self", "class_", "日"]
    made = Arguments([Parameter(name, int) for name in names])
    given = {name: index for index, name in enumerate(names)}
    assert made.bind(given) == given


def test_an_alias_is_what_callers_send() -> None:
    made = Arguments([Parameter("order_id", Annotated[int, Field(alias="orderId")])])
    assert made.bind({"orderId": 5}) == {"order_id": 5}
    assert list(made.schema["properties"]) == ["orderId"]


@pytest.mark.parametrize(
    "value", ["\ud800", ["\udfff"], {"\ud800": 1}, float("nan"), float("inf"), [float("nan")]]
)
@pytest.mark.parametrize(
    "annotation", [str, float, float | None, list[str], list[float], dict[str, int]]
)
def test_what_json_cannot_carry_is_an_ordinary_problem(annotation: Any, value: Any) -> None:
    assert "value" in refusal(annotation, value)


def test_endless_nesting_is_an_ordinary_problem() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    assert "value" in refusal(list[Any], nested)
    moderately: list[Any] = []
    for _ in range(240):
        moderately = [moderately]
    assert "too deeply" in refusal(list[Any], moderately)


def test_a_flood_of_problems_is_told_in_few_words() -> None:
    assert refusal(list[str], [1] * 200_000) == "value.0: should be a valid string"
    flood = {f"unknown{n}": 1 for n in range(50_000)}
    with pytest.raises(ArgumentsInvalid) as refused:
        arguments(int).bind(flood)
    assert len(str(refused.value)) < 2000

    class Holder(BaseModel):
        names: list[str]

    assert "200000 problems" in refusal(Holder, {"names": [1] * 200_000})


def test_a_long_key_is_shortened() -> None:
    with pytest.raises(ArgumentsInvalid) as refused:
        arguments(int).bind({"value": 1, "k" * 10_000: 1})
    assert len(str(refused.value)) < 200


SIMPLE: list[Any] = [
    int,
    float,
    bool,
    str,
    int | None,
    list[int],
    list[int | None],
    dict[str, float],
    Annotated[int, Field(ge=0, lt=10)],
    Annotated[str, Field(min_length=1, max_length=3)],
    Literal["a", 1],
    Literal[True, "a"],
    Literal[0, 1] | bool,
    Number,
    Switch,
    Color,
    Filter,
    Odds,
    Cat | Dog,
    Pet,
    Point,
    list[Filter] | None,
    str | int,
]
SIMPLE_ARGUMENTS = [arguments(annotation) for annotation in SIMPLE]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-20, 20)
    | st.floats(-100, 100)
    | st.sampled_from([5.0, "", "a", "red", "abcd", "[1]", '{"name":"a"}'])
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "limit", "kind", "lives", "number", "x", "y"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SIMPLE_ARGUMENTS), JSON)
def test_what_is_bound_is_what_the_schema_accepts(made: Arguments, value: Any) -> None:
    accepted = Draft202012Validator(made.schema).is_valid({"value": value})
    try:
        made.bind({"value": value}, lenient=False)
        bound = True
    except ArgumentsInvalid:
        bound = False
    assert bound == accepted
