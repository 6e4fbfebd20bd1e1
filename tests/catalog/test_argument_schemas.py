"""The shape of an inputSchema: what strict clients take."""

import datetime as dt
import json
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated, Any, Literal, NotRequired

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, RootModel, SecretStr
from typing_extensions import TypedDict

from mcp_app.catalog.arguments import Arguments
from mcp_app.catalog.problems import Refused
from mcp_app.catalog.signature import UNSTATED, Parameter


class Color(Enum):
    """A color."""

    RED = "red"
    BLUE = "blue"


class Status(StrEnum):
    OPEN = "open"


class Address(BaseModel):
    """Where somebody lives."""

    street: str = Field(title="The street", description="With the number")


class Person(BaseModel):
    home: Address
    work: Address | None = None
    favourite: Color = Color.RED


class Node(BaseModel):
    value: int
    children: list["Node"] = []


class Even(BaseModel):
    odd: "Odd | None" = None


class Odd(BaseModel):
    even: Even | None = None


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Titled(BaseModel, title="A title of its own"):
    a: int


class Options(TypedDict):
    discriminator: str
    title: NotRequired[str]


@dataclass
class Row:
    a: int
    data: bytes = b""


class Names(RootModel[list[str]]):
    """A list under a name."""


ANNOTATIONS: list[Any] = [
    int | None,
    Person,
    Node,
    Even,
    Cat | Dog,
    Annotated[Cat | Dog, Field(discriminator="kind")],
    Color,
    Status,
    Literal["a", "b"],
    dict[str, Decimal],
    Mapping[str, int],
    list[Node],
    Node | None,
    Row,
    Options,
    Names,
    tuple[int, str],
    tuple[int, ...],
    set[int],
    dt.datetime,
    dt.timedelta,
    uuid.UUID,
    bytes,
    SecretStr,
    Any,
    Titled,
]


def schema(annotation: Any, default: Any = UNSTATED) -> dict[str, Any]:
    return Arguments([Parameter("value", annotation, default)]).schema


def subschemas(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from subschemas(value)
    elif isinstance(node, list):
        for value in node:
            yield from subschemas(value)


@pytest.mark.parametrize("annotation", ANNOTATIONS)
def test_the_root_is_a_closed_object_whose_references_are_its_own(annotation: Any) -> None:
    made = schema(annotation)
    Draft202012Validator.check_schema(made)
    assert made["type"] == "object"
    assert made["additionalProperties"] is False
    assert list(made["properties"]) == made["required"] == ["value"]
    assert set(made) <= {"type", "properties", "required", "additionalProperties", "$defs"}
    references = [node["$ref"] for node in subschemas(made) if isinstance(node.get("$ref"), str)]
    assert {f"#/$defs/{name}" for name in made.get("$defs", {})} == set(references)


def test_no_parameters_make_an_empty_closed_object() -> None:
    empty = {"type": "object", "properties": {}, "additionalProperties": False}
    assert Arguments([]).schema == empty
    assert Arguments([], context_name="ctx").schema == empty


def test_only_what_is_recursive_is_referred_to() -> None:
    assert "$defs" not in schema(Person)
    assert list(schema(Node)["$defs"]) == ["Node"]
    assert sorted(schema(Even)["$defs"]) == ["Even", "Odd"]
    street = schema(Person)["properties"]["value"]["properties"]["home"]["properties"]["street"]
    assert street["type"] == "string"


def test_titles_are_an_authors_alone() -> None:
    assert schema(Person)["properties"]["value"]["properties"]["home"] == {
        "type": "object",
        "description": "Where somebody lives.",
        "required": ["street"],
        "properties": {
            "street": {
                "type": "string",
                "title": "The street",
                "description": "With the number",
            }
        },
    }
    assert schema(Titled)["properties"]["value"]["title"] == "A title of its own"
    generated = {"Value", "Person", "Color", "Row", "Status", "Options", "Names"}
    for annotation in ANNOTATIONS:
        titles = [node.get("title") for node in subschemas(schema(annotation))]
        assert not generated & {title for title in titles if isinstance(title, str)}


def test_a_discriminator_leaves_no_dangling_words_and_a_field_of_that_name_stays() -> None:
    union = schema(Annotated[Cat | Dog, Field(discriminator="kind")])["properties"]["value"]
    assert list(union) == ["oneOf"]
    assert "discriminator" in schema(Options)["properties"]["value"]["properties"]


def test_a_decimal_is_a_number_or_a_string_without_a_pattern() -> None:
    bounded = schema(Annotated[Decimal, Field(ge=0)])["properties"]["value"]
    assert bounded == {"anyOf": [{"type": "number", "minimum": 0.0}, {"type": "string"}]}


def test_bytes_are_base64() -> None:
    base64 = {"type": "string", "contentEncoding": "base64"}
    assert schema(bytes)["properties"]["value"] == base64
    assert schema(Row)["properties"]["value"]["properties"]["data"] == {**base64, "default": ""}


class Lazy:
    """Stands for a text that is translated later."""

    def __str__(self) -> str:
        return "later"


@pytest.mark.parametrize(
    ("annotation", "default", "shown"),
    [
        (Color, Color.BLUE, "blue"),
        (Decimal, Decimal("1.10"), "1.10"),
        (dt.date, dt.date(2026, 1, 2), "2026-01-02"),
        (set[str], {"c", "a", "b"}, ["a", "b", "c"]),
        (dt.timedelta, dt.timedelta(hours=1), "PT1H"),
        (int | None, None, None),
    ],
)
def test_a_default_is_shown_as_json(annotation: Any, default: Any, shown: Any) -> None:
    made = schema(annotation, default)
    assert made["properties"]["value"]["default"] == shown
    assert "required" not in made


def test_a_default_without_json_applies_but_is_not_shown() -> None:
    made = Arguments([Parameter("value", str, Lazy()), Parameter("pin", SecretStr, SecretStr("1"))])
    assert "default" not in made.schema["properties"]["value"]
    assert "default" not in made.schema["properties"]["pin"]
    assert str(made.bind({})["value"]) == "later"


def test_descriptions_come_from_field() -> None:
    annotated = Annotated[int, Field(description="How many", ge=1)]
    assert schema(annotated, 5)["properties"]["value"] == {
        "type": "integer",
        "description": "How many",
        "minimum": 1,
        "default": 5,
    }


class Unknown:
    """What pydantic makes nothing of."""


@pytest.mark.parametrize("annotation", [Unknown, list[Unknown], Unknown | None])
def test_an_annotation_without_a_schema_is_refused_by_the_parameters_name(annotation: Any) -> None:
    with pytest.raises(Refused, match="annotation of 'value'") as refused:
        Arguments([Parameter("fine", int), Parameter("value", annotation)])
    assert refused.value.problem == "E054"


# --- x-mcp-header ------------------------------------------------------------------------------


def mirrored(annotation: Any, header: Any = "Region") -> Any:
    return Annotated[annotation, Field(json_schema_extra={"x-mcp-header": header})]


class Place(BaseModel):
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]


class Nested(BaseModel):
    place: Place


class Chain(BaseModel):
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]
    next: "Chain | None" = None


@pytest.mark.parametrize("annotation", [str, int, bool, Status, Literal["a"]])
def test_a_primitive_parameter_can_be_mirrored(annotation: Any) -> None:
    made = Arguments([Parameter("value", mirrored(annotation))])
    assert dict(made.headers) == {("value",): "Region"}


def test_a_property_that_is_statically_reachable_can_be_mirrored() -> None:
    made = Arguments([Parameter("value", Nested)])
    assert dict(made.headers) == {("value", "place", "region"): "Region"}


def test_an_optional_mirrored_parameter_shows_its_primitive_and_takes_null() -> None:
    made = Arguments([Parameter("value", mirrored(str | None), None)])
    assert made.schema["properties"]["value"] == {"type": "string", "x-mcp-header": "Region"}
    assert made.bind({"value": None}) == made.bind({}) == {"value": None}


@pytest.mark.parametrize("header", ["", "a b", "a\r\n", "Ü", "a:", 5, None])
def test_a_mirrored_name_must_be_a_header_name(header: Any) -> None:
    with pytest.raises(Refused, match="not a header name") as refused:
        Arguments([Parameter("value", mirrored(str, header))])
    assert refused.value.problem == "E064"


@pytest.mark.parametrize(
    "annotation",
    [
        mirrored(float),
        mirrored(list[str]),
        mirrored(Place),
        mirrored(int | str),
        mirrored(Decimal),
        list[mirrored(str)],
        mirrored(str) | int,
        dict[str, mirrored(str)],
        list[Place],
        Place | None,
        Chain,
    ],
)
def test_what_clients_would_reject_is_refused(annotation: Any) -> None:
    with pytest.raises(Refused) as refused:
        Arguments([Parameter("value", annotation)])
    assert refused.value.problem == "E064"


def test_two_parameters_cannot_share_a_header() -> None:
    with pytest.raises(Refused, match="shares the header"):
        Arguments(
            [Parameter("a", mirrored(str, "Region")), Parameter("b", mirrored(str, "REGION"))]
        )


@pytest.mark.parametrize("annotation", [mirrored(str), Nested])
def test_a_sensitive_parameter_cannot_be_mirrored(annotation: Any) -> None:
    with pytest.raises(Refused, match="sensitive"):
        Arguments([Parameter("value", annotation)], sensitive=["value"])


def test_the_schema_reads_the_same_in_every_process() -> None:
    script = (
        "import json; from tests.catalog.test_argument_schemas import ANNOTATIONS, schema;"
        "print(json.dumps([schema(annotation) for annotation in ANNOTATIONS]))"
    )
    printed = set()
    for seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))}
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        printed.add(done.stdout)
    assert len(printed) == 1
    assert len(json.loads(printed.pop())) == len(ANNOTATIONS)
