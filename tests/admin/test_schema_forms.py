"""Schemas as people read them and as forms: types in words, a field for each, values as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_app.admin.schema_forms import SchemaForm
from mcp_app.admin.schemas import properties, type_of

TREE = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/Tree"}},
    "$defs": {
        "Tree": {
            "type": "object",
            "properties": {"left": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]}},
        }
    },
}


def of(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, "required": []}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string", "format": "date"}, "string (date)"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer or null"),
        ({"oneOf": [{"type": "integer"}, {"type": "integer"}]}, "integer"),
        ({"type": "array", "items": {"type": "array", "items": {}}}, "array of array of any"),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"enum": list(range(20))}, " | ".join([*map(str, range(12)), "…"])),
        ({"const": "only"}, '"only"'),
        ({"$ref": "#/$defs/Tree"}, "Tree"),
        ({}, "any"),
        (True, "any"),
    ],
)
def test_a_type_is_told_in_words(schema: Any, words: str) -> None:
    assert type_of(schema, {}) == words


def test_what_is_deep_or_leads_to_itself_comes_to_an_end() -> None:
    deep: Any = {"type": "string"}
    for _ in range(50):
        deep = {"type": "array", "items": deep}
    assert type_of(deep, {}).endswith("array of any")
    (tree,) = properties(TREE)
    assert (tree.type, tree.schema["type"]) == ("Tree", "object")


def test_limits_defaults_and_marks_are_told() -> None:
    schema = {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "default": 2}
    (row,) = properties(of(schema | {"description": "How many."}))
    assert (row.limits, row.default, row.required) == (("≥ 1", "< 9"), "2", False)
    (secret,) = properties(of({"type": "string", "writeOnly": True}))
    assert secret.sensitive
    (named,) = properties(of({"type": "string"}), frozenset({"x"}))
    assert named.sensitive


@pytest.mark.parametrize(
    ("schema", "entered", "sent"),
    [
        ({"type": "string"}, " a ", {"x": " a "}),
        ({"type": "string"}, "", {}),
        ({"type": "integer"}, "-7", {"x": -7}),
        ({"type": "number"}, "1e3", {"x": 1000.0}),
        ({"type": "boolean"}, "false", {"x": False}),
        ({"type": "boolean"}, "", {}),
        ({"enum": ["a", 1, None]}, "1", {"x": 1}),
        ({"enum": ["a", 1, None]}, "null", {"x": None}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "3", {"x": 3}),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, '"3"', {"x": "3"}),
        ({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}, '"a"', {"x": "a"}),
        ({"type": "array", "items": {"type": "string"}}, '["é"]', {"x": ["é"]}),
        ({}, "{}", {"x": {}}),
        (True, "null", {"x": None}),
    ],
)
def test_what_is_entered_becomes_json(schema: Any, entered: str, sent: dict[str, Any]) -> None:
    form = SchemaForm(of(schema), {"p0": entered})
    assert form.is_valid(), form.errors
    assert form.entered == sent


@pytest.mark.parametrize(
    ("schema", "entered"),
    [
        ({"type": "integer"}, "1,5"),
        ({"type": "integer"}, "true"),
        ({"type": "number"}, "Infinity"),
        ({"type": "number"}, "1e999"),
        ({"type": "boolean"}, "yes"),
        ({"enum": ["a"]}, "a"),
        ({"type": "array"}, "[1"),
        ({"type": "string"}, "a\0b"),
    ],
)
def test_what_is_no_such_value_is_told_at_its_field(schema: Any, entered: str) -> None:
    form = SchemaForm(of(schema), {"p0": entered})
    assert not form.is_valid()
    assert list(form.errors) == ["p0"]


def test_properties_may_have_any_name_and_secrets_do_not_come_back() -> None:
    schema = of({"type": "string"}) | {
        "properties": {'" onfocus=alert(1) x="': {"type": "string"}, "csrfmiddlewaretoken": {}}
    }
    form = SchemaForm(
        schema, {"p0": "a", "p1": "1"}, sensitive=frozenset({'" onfocus=alert(1) x="'})
    )
    assert form.is_valid()
    assert form.entered == {'" onfocus=alert(1) x="': "a", "csrfmiddlewaretoken": 1}
    page = form.as_p()
    assert '" onfocus' not in page
    assert 'value="a"' not in page
    assert 'type="password"' in page
