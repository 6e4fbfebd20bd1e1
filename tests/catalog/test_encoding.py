"""The one encoder: which JSON stands for which value, and what is refused."""

import datetime as dt
import json
import subprocess
import sys
import uuid
from collections import OrderedDict, deque, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass as pydantic_dataclass

from mcp_app.catalog.encoding import converter, encode, json_text, register_encoder
from mcp_app.catalog.errors import Unencodable

ID = uuid.UUID("12345678-1234-5678-1234-567812345678")
NEPAL = dt.timezone(dt.timedelta(hours=5, minutes=45))


class Color(Enum):
    RED = "red"


class Number(IntEnum):
    ONE = 1


class Status(StrEnum):
    OPEN = "open"


class Price(Enum):
    LOW = Decimal("1.10")


@dataclass
class Row:
    amount: Decimal
    day: dt.date


@pydantic_dataclass
class Checked:
    day: dt.date


class Model(BaseModel):
    row: Row
    renamed: int = Field(default=1, serialization_alias="shownAs")


class Text(str):
    __slots__ = ()


Pair = namedtuple("Pair", ["a", "b"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", "text"),
        (5, 5),
        (2**70, 2**70),
        (1.5, 1.5),
        (True, True),
        (None, None),
        (float("nan"), None),
        (float("-inf"), None),
        (Decimal("1.10"), "1.10"),
        (Decimal("1E+2"), "1E+2"),
        (ID, str(ID)),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.time(3, 4, 5), "03:04:05"),
        (dt.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05"),
        (dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC), "2026-01-02T03:04:05Z"),
        (dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=NEPAL), "2026-01-02T03:04:05+05:45"),
        (dt.timedelta(hours=1, seconds=30), "PT1H30S"),
        (b"\xff\xfe", "//4="),
        (bytearray(b"\xff\xfe"), "//4="),
        (memoryview(b"\xff\xfe"), "//4="),
        (Color.RED, "red"),
        (Number.ONE, 1),
        (Status.OPEN, "open"),
        (Price.LOW, "1.10"),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        (("a", 1), ["a", 1]),
        (Pair(1, 2), [1, 2]),
        (deque([1, 2]), [1, 2]),
        ([None, [dt.date(2026, 1, 2)]], [None, ["2026-01-02"]]),
        (Row(Decimal("1.10"), dt.date(2026, 1, 2)), {"amount": "1.10", "day": "2026-01-02"}),
        (Checked(dt.date(2026, 1, 2)), {"day": "2026-01-02"}),
        (
            Model(row=Row(Decimal("1.10"), dt.date(2026, 1, 2))),
            {"row": {"amount": "1.10", "day": "2026-01-02"}, "shownAs": 1},
        ),
        (OrderedDict(a=1), {"a": 1}),
        ({ID: 1, 5: 2, True: 3, dt.date(2026, 1, 2): 4, Color.RED: 5, None: 6, 1.5: 7},
         {str(ID): 1, "5": 2, "true": 3, "2026-01-02": 4, "red": 5, "null": 6, "1.5": 7}),
        ({"when": dt.date(2026, 1, 2), "n": float("nan")}, {"when": "2026-01-02", "n": None}),
        ([float("nan"), ID, Color.RED, (1, 2)], [None, str(ID), "red", [1, 2]]),
    ],

)  # fmt: skip
def test_each_value_has_its_json(value: Any, expected: Any) -> None:
    encoded = encode(value)
    assert encoded == expected
    assert type(encoded) is type(expected)
    assert json.loads(json_text(encoded)) == expected


def test_a_str_subclass_becomes_a_plain_str() -> None:
    assert type(encode(Text("a"))) is str
    assert type(encode([Text("a")])[0]) is str


def test_lone_surrogates_are_replaced_wherever_they_are() -> None:
    assert encode({"k\ud800": ["v\udfff"]}) == {"k\ufffd": ["v\ufffd"]}


@pytest.mark.parametrize(
    "value",
    [
        {1: "a", "1": "b"},
        {True: 1, "true": 2},
        {ID: 1, str(ID): 2},
        {chr(0xD800): 1, chr(0xFFFD): 2},
    ],
)  # fmt: skip
def test_two_keys_that_read_the_same_are_refused(value: dict[Any, Any]) -> None:
    with pytest.raises(Unencodable, match="two of its keys are the same"):
        encode({"inside": value})


class Secretive:
    """What the encoder does not know."""

    def __repr__(self) -> str:
        return "password=hunter2"


@pytest.mark.parametrize(
    "value",
    [Secretive(), [Secretive()], {"a": {"b": Secretive()}}, {Secretive(): 1}, {("a", "b"): 1}],
)
def test_an_unknown_type_is_refused_by_name_alone(value: Any) -> None:
    with pytest.raises(Unencodable) as refused:
        encode(value)
    assert refused.value.type_name in ("Secretive", "tuple")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("value", [object, len, (x for x in "ab"), 1j, iter([])])
def test_classes_functions_and_generators_are_refused(value: Any) -> None:
    with pytest.raises(Unencodable):
        encode(value)


def test_a_cycle_is_refused() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(Unencodable, match="too deeply"):
        encode(cycle)


class Base:
    """Something that a project teaches the encoder."""


class Derived(Base):
    """A subclass of it."""


class Refusing:
    """Something whose encoder refuses."""


def test_a_registered_encoder_serves_subclasses_also_those_seen_before() -> None:
    with pytest.raises(Unencodable):
        encode([Derived()])
    register_encoder(Base, lambda value: {"day": dt.date(2026, 1, 2)})
    assert encode([Derived()]) == [{"day": "2026-01-02"}]
    assert converter(Derived) is not None


@pytest.mark.parametrize("kind", [str, dict, Color, uuid.UUID])
def test_json_types_enums_and_uuids_keep_their_form(kind: type) -> None:
    with pytest.raises(TypeError, match="form of its own"):
        register_encoder(kind, repr)


def test_bytes_in_a_model_that_are_no_text_are_refused_without_their_value() -> None:
    class Held(BaseModel):
        data: bytes

    with pytest.raises(Unencodable, match=r"^Held: has no JSON form$"):
        encode(Held(data=b"\xff"))


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.decimals()
    | st.uuids() | st.dates() | st.datetimes() | st.timedeltas() | st.binary()
    | st.sampled_from(Color)
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=10,
)


@settings(max_examples=150, deadline=None)
@given(VALUES)
def test_whatever_is_encoded_is_json_and_encodes_to_itself(value: Any) -> None:
    encoded = encode(value)
    assert json.loads(json.dumps(encoded, allow_nan=False)) == encoded
    assert encode(encoded) == encoded


def test_sets_read_the_same_in_every_process() -> None:
    script = (
        "from mcp_app.catalog.encoding import encode, json_text;"
        "print(json_text(encode({'a', 'b', 'c', 1, None, (1, 'x'), 2.5})))"
    )
    assert len({_printed(script, seed) for seed in ("1", "2", "3")}) == 1


def _printed(script: str, seed: str) -> str:
    environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_iterators_of_an_author_are_not_read_by_the_encoder() -> None:
    def count() -> Iterator[int]:
        yield 1

    with pytest.raises(Unencodable, match="generator"):
        encode({"rows": count()})
