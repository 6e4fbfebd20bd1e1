"""DRF's serializers as `input=` and `output=`: what is advertised is what a call takes."""

import datetime as dt
import re
import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker
from rest_framework import serializers

from mcp_app import Context
from mcp_app.catalog.errors import ArgumentsInvalid
from mcp_app.catalog.schemas import children
from mcp_app.integrations.texts import MOMENT
from tests.integrations.orders import ORDER, Line, Membership, Order, call, problem_of, tool_of


def create_order(data: Any) -> Any:
    return data


TOOL = tool_of(create_order, input=Order)
SCHEMA = TOOL.arguments.schema


# --- the advertised schema --------------------------------------------------------------------


def test_the_root_is_an_object_that_admits_nothing_unknown() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["type"] == "object"
    assert SCHEMA["additionalProperties"] is False
    assert SCHEMA["properties"]["lines"]["items"]["additionalProperties"] is False
    assert "$ref" not in str(SCHEMA)


def test_what_is_read_only_or_hidden_is_no_argument() -> None:
    assert {"number", "owner"} & set(SCHEMA["properties"]) == set()
    assert "total" not in SCHEMA["properties"]["lines"]["items"]["properties"]


def test_what_is_required_is_what_the_fields_require() -> None:
    assert SCHEMA["required"] == ["reference", "customer", "price", "tags", "lines"]


def test_a_field_says_its_limits_its_default_and_its_help() -> None:
    found = SCHEMA["properties"]

    assert found["price"] == {
        "type": "string",
        "pattern": r"^[0-9]{1,4}(\.[0-9]{1,2})?$",
        "description": "In euros. At least 0.",
    }
    assert found["status"] == {"type": "string", "enum": ["open", "paid"], "default": "open"}
    assert found["opens"]["default"] == "09:30:00"
    assert found["lines"]["items"]["properties"]["quantity"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 99,
    }
    assert found["due"] == {"type": "string", "format": "date"}
    assert found["tags"] == {
        "type": "array",
        "items": {"enum": ["new", "hot"], "type": "string"},
        "minItems": 1,
    }


def test_what_is_write_only_is_marked_and_tells_no_default() -> None:
    assert SCHEMA["properties"]["pin"]["writeOnly"] is True
    assert SCHEMA["properties"]["token"] == {
        "type": "string",
        "minLength": 1,
        "pattern": r"\S",
        "writeOnly": True,
    }
    assert TOOL.sensitive == {"pin", "token"}


def test_a_partial_update_requires_nothing_at_any_depth() -> None:
    schema = tool_of(create_order, input=Order(partial=True)).arguments.schema

    assert not [part for part in _parts(schema) if "required" in part]
    assert not [part for part in _parts(schema) if "default" in part]


def _parts(schema: dict[str, Any]) -> Any:
    yield schema
    for _, _, child in children(schema):
        yield from _parts(child)


# --- the round trip ---------------------------------------------------------------------------

FORMATS = FormatChecker(["date", "uuid"])


@FORMATS.checks("date-time")
def is_moment(value: Any) -> bool:
    """The same as for calls, since no library that is here knows the format."""
    if not isinstance(value, str):
        return True
    try:
        return bool(re.fullmatch(MOMENT, value) and dt.datetime.fromisoformat(value))
    except ValueError:
        return False


VALID = Draft202012Validator(SCHEMA, format_checker=FORMATS)
# No text has a NUL, and JSON Schema has no short way to say so.
LETTERS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=14)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-200, 200) | st.floats(-9, 9) | LETTERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LETTERS, inner, max_size=3),
    max_leaves=6,
)
NUMBERS = st.from_regex(r"-?[0-9]{0,5}(\.[0-9]{0,4})?", fullmatch=True)
LINE = st.fixed_dictionaries(
    {
        "sku": st.from_regex(r"[A-Z]{2}-[0-9]{1,12}", fullmatch=True) | LETTERS,
        "quantity": st.integers(0, 100) | JSON,
    },
    optional={"total": NUMBERS},
)
LIKELY: dict[str, st.SearchStrategy[Any]] = {
    "reference": st.uuids().map(str) | st.uuids().map(lambda value: value.hex),
    "customer": LETTERS,
    "note": LETTERS,
    "nickname": st.none() | LETTERS,
    "code": LETTERS,
    "pin": LETTERS,
    "token": LETTERS,
    "price": NUMBERS,
    "share": NUMBERS,
    "weight": st.none() | st.floats(-1, 9) | st.integers(-1, 9),
    "gift": st.booleans() | st.sampled_from(["true", "", 0, 1]),
    "status": st.sampled_from(["open", "paid", "lost", ""]),
    "stars": st.sampled_from([None, 0, 1, 3, "1", True, 1.0]),
    "tags": st.lists(st.sampled_from(["new", "hot", "old"]), max_size=3),
    "extra": JSON,
    "anything": JSON,
    "sizes": st.lists(st.integers(-1, 9), max_size=4),
    "counts": st.dictionaries(LETTERS, st.integers() | JSON, max_size=2),
    "due": st.dates().map(str) | st.sampled_from(["2026-02-30", "20260101", "2026-1-1"]),
    "placed": st.datetimes(dt.datetime(1900, 1, 1)).map(lambda at: f"{at.isoformat()}Z")
    | st.sampled_from(["", "20260101", "2026-01-01", "2026-01-01 10:00", "2026-02-30T10:00:00Z"]),
    "opens": st.times().map(str) | st.sampled_from(["24:00", "9:30", "09:30"]),
    "lines": st.lists(LINE, max_size=2),
    "billing": st.none() | LINE,
    "owner": st.just(1),
    "number": st.uuids().map(str),
}
CHANGES = st.lists(
    st.sampled_from(sorted(LIKELY)).flatmap(
        lambda name: st.tuples(st.just(name), LIKELY[name] | LIKELY[name] | JSON)
    ),
    max_size=3,
)
LEFT_OUT = st.none() | st.sampled_from(sorted(ORDER))


def accepted(tool: Any, arguments: dict[str, Any]) -> bool:
    try:
        call(tool, arguments)
    except ArgumentsInvalid:
        return False
    return True


@given(CHANGES, LEFT_OUT)
@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example([("customer", "  a")], None)
@example([("extra", None)], None)
@example([("share", "0")], None)
@example([("due", "20260101")], None)
@example([("lines", [{"sku": "AB-1", "quantity": 1.0}])], None)
@example([("lines", [{"sku": "AB-1", "quantity": 1, "total": "1"}])], None)
def test_the_schema_admits_what_a_call_takes_and_nothing_else(
    changes: list[tuple[str, Any]], left_out: str | None
) -> None:
    arguments = {k: v for k, v in ORDER.items() if k != left_out} | dict(changes)

    assert VALID.is_valid(arguments) is accepted(TOOL, arguments)


@pytest.mark.django_db
def test_rows_are_named_by_the_type_that_their_key_has() -> None:
    ada, staff = get_user_model().objects.create_user("ada"), Group.objects.create(name="staff")
    tool = tool_of(create_order, input=Membership)

    got = call(tool, {"user": ada.pk, "groups": [staff.pk], "right": "add_user"})

    assert (got["user"], got["groups"], got["right"].codename) == (ada, [staff], "add_user")
    properties = tool.arguments.schema["properties"]
    assert properties["user"] == {"type": "integer", "description": "The id of a user."}
    assert properties["groups"]["items"]["type"] == "integer"
    assert properties["right"]["anyOf"] == [{"type": "string"}, {"type": "null"}]
    with pytest.raises(ArgumentsInvalid, match=r"groups: .*9999"):
        call(tool, {"user": ada.pk, "groups": [9999]})


# --- what the function gets, and what callers are told -----------------------------------------


def test_the_function_gets_the_validated_data() -> None:
    data = call(TOOL, ORDER | {"due": "2026-01-02", "tags": ["hot", "hot"]}, user="ada")

    assert data["buyer"] == {"name": "Ada"}
    assert data["reference"] == uuid.UUID(ORDER["reference"])
    assert data["price"] == Decimal("9.90")
    assert data["due"] == dt.date(2026, 1, 2)
    assert data["owner"] == "ada"
    assert data["token"] == "made up"


def test_other_parameters_stand_beside_the_fields() -> None:
    def change(order_id: int, ctx: Context, data: Any) -> Any:
        return [order_id, ctx.user, dict(data)]

    tool = tool_of(change, input=Line(partial=True))

    assert call(tool, {"order_id": 7, "quantity": 3}, user="ada") == [7, "ada", {"quantity": 3}]
    assert tool.arguments.schema["required"] == ["order_id"]


def test_a_list_of_objects_is_one_argument() -> None:
    tool = tool_of(create_order, input=Line(many=True))

    assert call(tool, {"data": [{"sku": "AB-1", "quantity": 1}]})[0]["quantity"] == 1
    with pytest.raises(ArgumentsInvalid, match=r"data\.0\.quantity"):
        call(tool, {"data": [{"sku": "AB-1", "quantity": 0}]})


class Strict(serializers.Serializer[Any]):
    """What refuses by its own rules, at each depth."""

    class Part(serializers.Serializer[Any]):
        name = serializers.CharField()

        def validate_name(self, value: str) -> str:
            raise serializers.ValidationError(f"{value} is taken.")

    parts = Part(many=True)
    secret = serializers.CharField(write_only=True)

    def validate_secret(self, value: str) -> str:
        raise serializers.ValidationError(f"{value} is too common.")


class Never(serializers.Serializer[Any]):
    """What refuses as a whole."""

    def validate(self, attrs: Any) -> Any:
        raise serializers.ValidationError("Not today.")


def test_what_a_serializer_refuses_is_told_by_its_path() -> None:
    tool = tool_of(create_order, input=Strict)

    with pytest.raises(ArgumentsInvalid) as caught:
        call(tool, {"parts": [{"name": "a"}], "secret": "hunter2"})

    assert caught.value.problems == (
        ("parts.0.name", "a is taken."),
        ("secret", "hunter2 is too common."),
    )
    with pytest.raises(ArgumentsInvalid, match=r"^Not today\.$"):
        call(tool_of(create_order, input=Never), {})


# --- what is shown ----------------------------------------------------------------------------


class Shown(serializers.Serializer[Any]):
    """What a function's value becomes."""

    number = serializers.UUIDField(read_only=True)
    customer = serializers.CharField(source="buyer.name")
    price = serializers.DecimalField(max_digits=6, decimal_places=2)
    due = serializers.DateField(allow_null=True)
    tags = serializers.MultipleChoiceField(choices=["new", "hot"])
    pin = serializers.CharField(write_only=True)
    method = serializers.SerializerMethodField()
    lines = Line(many=True)

    def get_method(self, value: Any) -> Any:
        return {"made": [Decimal("1.10")], "by": str(self.context["request"].user)}


VALUE = {
    "number": uuid.UUID(ORDER["reference"]),
    "buyer": {"name": "Ada"},
    "price": Decimal("9.9"),
    "due": None,
    "tags": ["hot", "new"],
    "pin": "1234",
    "lines": [{"sku": "AB-1", "quantity": 2, "total": Decimal("4")}],
}
SENT = {
    "number": ORDER["reference"],
    "customer": "Ada",
    "price": "9.90",
    "due": None,
    "tags": ["hot", "new"],
    "method": {"made": ["1.10"], "by": "ada"},
    "lines": [{"sku": "AB-1", "quantity": 2, "total": "4.00"}],
}


def show() -> Any:
    return VALUE


def test_an_output_is_described_and_kept_to() -> None:
    tool = tool_of(show, output=Shown)
    schema = tool.output.schema
    assert schema is not None
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert "pin" not in schema["properties"]

    sent = tool.output.structured(call(tool, {}, user="ada"))

    assert sent == SENT
    Draft202012Validator(schema).validate(sent)


def test_a_list_of_outputs_is_wrapped() -> None:
    tool = tool_of(lambda: [VALUE], name="show", output=Shown(many=True))

    assert tool.output.structured(call(tool, {}, user="ada")) == {"result": [SENT]}
    assert tool.output.schema is not None
    assert tool.output.schema["properties"]["result"]["type"] == "array"


class Own(serializers.Serializer[Any]):
    """What represents itself in its own way."""

    name = serializers.CharField()

    def to_representation(self, instance: Any) -> Any:
        return {"anything": 1}


def test_nothing_is_promised_of_a_representation_that_is_not_drfs() -> None:
    class Outer(serializers.Serializer[Any]):
        own = Own()

    tool = tool_of(lambda: {"own": {"name": "x"}}, name="show", output=Outer)

    assert tool.output.structured(call(tool, {})) == {"own": {"anything": 1}}


@pytest.mark.django_db
def test_a_row_may_hold_less_than_its_serializer_declares() -> None:
    class Group_(serializers.ModelSerializer[Group]):
        owner = serializers.CharField(read_only=True, source="owner_name")

        class Meta:
            model = Group
            fields = ("id", "name", "owner")

    group = Group.objects.create(name="staff")
    tool = tool_of(lambda: group, name="show", output=Group_)

    assert tool.output.structured(call(tool, {})) == {"id": group.pk, "name": "staff"}
    assert tool.output.schema is not None
    assert tool.output.schema["properties"]["name"] == {"type": "string"}
    assert "anyOf" in tool.output.schema["properties"]["owner"]


# --- what cannot be declared ------------------------------------------------------------------


class WithFile(serializers.Serializer[Any]):
    class Page(serializers.Serializer[Any]):
        scan = serializers.FileField()

    pages = Page(many=True)


class Broken(serializers.Serializer[Any]):
    def get_fields(self) -> Any:
        return {"mine": serializers.CharField(help_text=self.context["request"].user.name)}


async def awaited(data: Any) -> Any: ...
def without_data(order: int) -> Any: ...
def with_a_field(sku: str, data: Any) -> Any: ...


@pytest.mark.parametrize(
    ("function", "options", "told"),
    [
        (create_order, {"input": WithFile}, "'pages.scan' takes a file"),
        (create_order, {"input": Broken}, "KeyError: 'request'"),
        (create_order, {"input": serializers.BaseSerializer}, "has no fields"),
        (create_order, {"input": int}, "input cannot be int"),
        (awaited, {"input": Line}, "Write a plain function"),
        (awaited, {"input": Line, "output": Line}, "sync code"),
        (without_data, {"input": Line}, "no parameter 'data'"),
        (with_a_field, {"input": Line}, "both have the argument sku"),
        (create_order, {"input": Line, "sensitive": ["price"]}, "sensitive names no parameter"),
    ],
)
def test_what_cannot_be_kept_is_refused_at_start_up(
    function: Any, options: dict[str, Any], told: str
) -> None:
    assert told in problem_of(function, **options)
