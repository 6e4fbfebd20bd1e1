"""Output schemas from return annotations, and values that fit them."""

import datetime as dt
import json
import uuid
import warnings
from collections import deque
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NotRequired

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, SecretStr
from typing_extensions import TypedDict

from mcp_app.catalog import signature
from mcp_app.catalog.encoding import encode, register_encoder
from mcp_app.catalog.errors import OutputInvalid, Unencodable
from mcp_app.catalog.output import Output
from mcp_app.catalog.problems import Refused
from mcp_app.catalog.progress import Progress
from mcp_app.catalog.results import ToolResult
from mcp_app.catalog.signature import UNSTATED
from mcp_app.protocol.content import ImageContent, TextContent


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Number(IntEnum):
    ONE = 1


@dataclass
class Row:
    id: int
    amount: Decimal
    at: dt.datetime
    data: bytes = b""
    color: Color = Color.RED


@dataclass
class Computed:
    a: int
    twice: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.twice = self.a * 2


class Item(TypedDict):
    sku: str
    count: NotRequired[int]


class Model(BaseModel):
    name: str
    price: Decimal = Field(default=Decimal("1.10"), serialization_alias="unitPrice")
    items: list[Item] = []


class Node(BaseModel):
    value: int
    children: list["Node"] = []


class Measured(BaseModel):
    value: float


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


AT = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
ROW = Row(1, Decimal("1.10"), AT, b"\xff\xfe")
ROW_JSON = {
    "id": 1,
    "amount": "1.10",
    "at": "2026-01-02T03:04:05Z",
    "data": "//4=",
    "color": "red",
}


@pytest.mark.parametrize(
    "annotation",
    [
        UNSTATED,
        None,
        type(None),
        str,
        str | None,
        Any,
        object,
        Annotated[str, "note"],
        ToolResult,
        TextContent,
        TextContent | ImageContent,
        list[TextContent],
        list[TextContent | ImageContent],
        Sequence[ImageContent],
        tuple[TextContent, ...],
        TextContent | ToolResult,
        Row | TextContent,
    ],
)
def test_text_content_and_nothing_have_no_output_schema(annotation: Any) -> None:
    assert Output(annotation).schema is None


@pytest.mark.parametrize(
    "annotation",
    [Row, Model, Node, Item, dict[str, int], dict, Mapping[str, Any], Row | ToolResult],
)
def test_an_object_is_described_as_it_is(annotation: Any) -> None:
    output = Output(annotation)
    assert output.schema is not None
    assert output.schema["type"] == "object"
    assert not output.wrapped


@pytest.mark.parametrize(
    "annotation",
    [int, bool, list[Row], list, Row | None, Cat | Dog, Color, Literal["a"], list[Node], Row | str],
)
def test_what_is_no_object_is_wrapped(annotation: Any) -> None:
    schema = Output(annotation).schema
    assert schema is not None
    assert schema["type"] == "object"
    assert schema["required"] == list(schema["properties"]) == ["result"]


def test_the_schema_says_how_each_type_is_written() -> None:
    assert Output(Row).schema == {
        "type": "object",
        "required": ["id", "amount", "at"],
        "properties": {
            "id": {"type": "integer"},
            "amount": {"type": "string"},
            "at": {"type": "string", "format": "date-time"},
            "data": {"type": "string", "contentEncoding": "base64", "default": ""},
            "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        },
    }


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (Row, ROW, ROW_JSON),
        (Row, ROW_JSON, ROW_JSON),
        (list[Row], [ROW], {"result": [ROW_JSON]}),
        (list[Row], (ROW,), {"result": [ROW_JSON]}),
        (list[Row], deque([ROW]), {"result": [ROW_JSON]}),
        (list[Row], iter([ROW]), {"result": [ROW_JSON]}),
        (list[Row], (row for row in [ROW]), {"result": [ROW_JSON]}),
        (Row | None, None, {"result": None}),
        (Computed, Computed(2), {"a": 2, "twice": 4}),
        (Item, {"sku": "a"}, {"sku": "a"}),
        (Item, {"sku": "a", "not declared": "secret"}, {"sku": "a"}),
        (Model, Model(name="a"), {"name": "a", "unitPrice": "1.10", "items": []}),
        (dict[uuid.UUID, int], {uuid.UUID(int=0): 1}, {str(uuid.UUID(int=0)): 1}),
        (dict[str, int], {5: 1}, {"5": 1}),
        (set[str], {"b", "c", "a"}, {"result": ["a", "b", "c"]}),
        (bytes, b"\xff\xfe", {"result": "//4="}),
        (Number, Number.ONE, {"result": 1}),
        (dict[str, Any], {"a": Decimal("1.10"), "s": {2, 1}}, {"a": "1.10", "s": [1, 2]}),
        (dict[str, Any], {"a": float("nan")}, {"a": None}),
        (float | None, float("nan"), {"result": None}),
        (list, [b"\xff\xfe"], {"result": ["//4="]}),
        (dict, {5: {Color.RED: b"\xff\xfe"}}, {"5": {"red": "//4="}}),
        (int, 2**70, {"result": 2**70}),
        (SecretStr, SecretStr("hunter2"), {"result": "**********"}),
        (Any, {"a": 1}, {"a": 1}),
        (Any, [1], {"result": [1]}),
    ],
)
def test_a_value_is_written_as_the_schema_says(annotation: Any, value: Any, expected: Any) -> None:
    assert Output(annotation).structured(value) == expected


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Row, None),
        (Row, {"id": 1}),
        (Row, Row("x", Decimal(1), AT)),  # type: ignore[arg-type]
        (int, "five"),
        (int, None),
        (list[int], 5),
        (Annotated[int, Field(ge=1)], 0),
        (Item, {"count": 1}),
        (float, float("nan")),
        (Measured, Measured(value=float("inf"))),
        (Model, Model.model_construct(name=5)),
        (Row, object()),
        (dict[str, Any], {"a": object()}),
        (Color, "green"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(annotation: Any, value: Any) -> None:
    with pytest.raises(OutputInvalid) as refused:
        Output(annotation).structured(value)
    assert str(refused.value)


def test_a_misfit_says_where_without_the_value() -> None:
    with pytest.raises(OutputInvalid, match=r"^0\.id: ") as refused:
        Output(list[Row]).structured([{**ROW_JSON, "id": "hunter2"}])
    assert "hunter2" not in str(refused.value)


class Lazy:
    """Stands for a text that is translated later."""


class Table:
    """Stands for a lazy sequence of rows."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows


class Record:
    """Stands for a row of a database."""

    name = "Ann"
    password = "hunter2"


def _refuse(value: Any) -> Any:
    raise Unencodable(type(value).__name__)


register_encoder(Lazy, lambda value: "later")
register_encoder(Table, lambda value: value.rows)
register_encoder(Record, _refuse)


class Named(BaseModel):
    name: str


def test_registered_types_fit_wherever_they_are() -> None:
    assert Output(Named).structured({"name": Lazy()}) == {"name": "later"}
    assert Output(list[Named]).structured(Table([{"name": Lazy()}])) == {
        "result": [{"name": "later"}]
    }


def test_an_object_is_read_by_the_declared_fields_alone() -> None:
    assert Output(Named).structured(Record()) == {"name": "Ann"}
    assert Output(list[Named]).structured(Table([Record()])) == {"result": [{"name": "Ann"}]}
    for annotation in (dict[str, Any], list[Any], UNSTATED):
        with pytest.raises((OutputInvalid, Unencodable)) as refused:
            Output(annotation).structured([Record()])
        assert "hunter2" not in str(refused.value)


class Unknown:
    """What pydantic makes nothing of."""


@pytest.mark.parametrize("annotation", [Unknown, list[Unknown], Unknown | None])
def test_an_annotation_without_a_schema_is_refused(annotation: Any) -> None:
    with pytest.raises(Refused) as refused:
        Output(annotation)
    assert refused.value.problem == "E056"


def test_unstructured_output_has_no_schema_whatever_the_annotation() -> None:
    assert Output(Row, structured=False).schema is None
    assert Output(Unknown, structured=False).schema is None


# --- what a generator gives back ---------------------------------------------------------------


def returns() -> Generator[Progress, None, Row]:
    yield Progress(1)
    return ROW


def yields() -> Iterator[Progress | Row]:
    yield ROW


def only_progress() -> Iterator[Progress]:
    yield Progress(1)


def text() -> Generator[Progress, None, str]:
    yield Progress(1)
    return "a"


async def streams() -> AsyncIterator[Progress | Row | None]:
    yield ROW


def unannotated():  # type: ignore[no-untyped-def]
    yield ROW


@pytest.mark.parametrize(
    ("function", "annotation"),
    [
        (returns, Row),
        (yields, Row),
        (only_progress, UNSTATED),
        (text, str),
        (streams, Row | None),
        (unannotated, UNSTATED),
    ],
)
def test_a_generators_result_is_what_is_not_progress(function: Any, annotation: Any) -> None:
    assert signature.read(function).returns == annotation


# --- schema and value agree --------------------------------------------------------------------

AGREEING: list[Any] = [
    int,
    float,
    bool,
    Decimal,
    uuid.UUID,
    dt.date,
    dt.datetime,
    dt.time,
    dt.timedelta,
    bytes,
    Color,
    Number,
    Literal["a", 1, None],
    int | None,
    int | str,
    list[int],
    list[float | None],
    set[int],
    frozenset[str],
    tuple[int, str],
    tuple[Decimal, ...],
    dict[str, Decimal],
    dict[uuid.UUID, bytes],
    dict[int, list[Color]],
    Row,
    list[Row],
    Computed,
    Item,
    list[Item] | None,
    Model,
    Node,
    Cat | Dog,
    Measured,
]
OUTPUTS = [(annotation, Output(annotation)) for annotation in AGREEING]
MODELS = st.builds(Model, name=st.text(), price=st.decimals(allow_nan=False, allow_infinity=False))


@pytest.mark.parametrize(("annotation", "output"), OUTPUTS)
def test_every_output_schema_is_valid(annotation: Any, output: Output) -> None:
    Draft202012Validator.check_schema(output.schema)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_what_is_sent_is_what_the_schema_accepts(data: st.DataObject) -> None:
    annotation, output = data.draw(st.sampled_from(OUTPUTS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = data.draw(MODELS if annotation is Model else st.from_type(annotation))
    try:
        structured = output.structured(value)
    except OutputInvalid as refused:
        assert "finite" in str(refused) or "timedelta" in str(annotation)  # noqa: PT017
        return
    json.dumps(structured, allow_nan=False)
    Draft202012Validator(output.schema).validate(structured)
    assert encode(structured) == structured


@pytest.mark.parametrize("value", [Decimal("1.10"), AT, dt.timedelta(days=1, seconds=5), b"\xff"])
def test_a_value_reads_the_same_with_and_without_an_annotation(value: Any) -> None:
    assert Output(type(value)).encode(value) == Output().encode(value)
    assert Output(list[Any]).encode([value]) == Output().encode([value])
