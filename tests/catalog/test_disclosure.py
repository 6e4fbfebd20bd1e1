"""Which arguments a log may hold: nothing marked, at any depth, and nothing undeclared."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, Secret, SecretBytes, SecretStr

from mcp_app.catalog.arguments import Arguments
from mcp_app.catalog.signature import Parameter


def arguments(annotation: Any, **options: Any) -> Arguments:
    return Arguments([Parameter("value", annotation), Parameter("plain", str)], **options)


def marked(keyword: str) -> Any:
    return Annotated[str, Field(json_schema_extra={keyword: True})]


@pytest.mark.parametrize(
    "annotation",
    [
        SecretStr,
        SecretBytes,
        Secret[date],
        SecretStr | None,
        list[SecretStr],
        dict[str, SecretBytes],
        tuple[int, Secret[int]],
        marked("writeOnly"),
        marked("write_only"),
        marked("sensitive"),
        Annotated[str, Field(json_schema_extra={"format": "password"})],
    ],
    ids=str,
)
def test_a_marked_argument_is_kept_by_name_alone(annotation: Any) -> None:
    told = arguments(annotation).disclosure

    assert told.open == {"plain"}
    assert not told.partial


class Pin(BaseModel):
    pin: Secret[int] = Secret(1)
    label: str = ""


class Login(BaseModel):
    model_config = ConfigDict(validate_by_name=True)
    user: str
    hush: SecretStr
    spare: Annotated[SecretStr, Field(alias="spareHush")] = SecretStr("")
    pins: list[Pin] = []


class Node(BaseModel):
    """One that refers to itself, so that its schema stands in a definition."""

    label: str
    hush: SecretStr
    child: Node | None = None


@pytest.mark.parametrize(
    "annotation", [Login, Login | None, list[Login], dict[str, Login]], ids=str
)
def test_a_model_with_marked_fields_is_kept_without_them(annotation: Any) -> None:
    told = arguments(annotation).disclosure

    assert (told.open, told.partial) == ({"plain"}, {"value"})
    assert (told.below.open, told.below.partial) == ({"user", "label"}, {"pins"})


def test_a_model_that_refers_to_itself_hides_its_marks_too() -> None:
    made = arguments(Node)

    assert made.sensitive == {"value"}
    assert (made.disclosure.below.open, made.disclosure.below.partial) == ({"label"}, {"child"})


def test_a_name_that_is_marked_in_one_place_is_marked_in_all() -> None:
    class Other(BaseModel):
        hush: str
        user: str

    class Both(BaseModel):
        login: Login
        other: Other

    assert arguments(Both).disclosure.below.open == {"other", "user", "label"} - {"hush"}


def test_the_keyword_hides_a_whole_argument() -> None:
    told = arguments(dict[str, str], sensitive=["value"]).disclosure

    assert (told.open, told.partial) == ({"plain"}, frozenset())


def test_a_secrets_default_is_in_no_schema() -> None:
    made = Arguments([Parameter("value", Secret[int], Secret(12345))])

    assert "default" not in made.schema["properties"]["value"]
