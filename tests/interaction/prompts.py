"""The prompts that the interaction tests get, on the tools' server."""

import datetime
from collections.abc import Iterator
from typing import Annotated, Literal

from django.contrib.auth import get_user_model
from django.http import Http404
from pydantic import Field
from rest_framework.permissions import IsAdminUser

from mcp_app import (
    AudioContent,
    Completion,
    Context,
    EmbeddedResource,
    ImageContent,
    Message,
    ResourceLink,
    ToolError,
)
from tests.interaction.resources import ICON, TwoADay
from tests.interaction.tools import server

CITIES = {"de": ["Berlin", "Bern", "Bonn"], "fr": ["Brest"]}


@server.prompt
def simple() -> str:
    """A simple prompt."""
    return "This is simple."


@server.prompt(title="Summary", icons=[ICON], meta={"example.com/kind": "x"})
def summary(
    topic: Annotated[str, Field(title="Topic", description="What it is about.")],
    *,
    words: Annotated[int, Field(ge=1, le=500)] = 100,
    since: datetime.date | None = None,
    tags: list[str] | None = None,
    style: Literal["short", "long"] = "short",
    formal: bool = False,
) -> str:
    """Ask for a summary."""
    return f"{topic}/{words!r}/{since!r}/{tags!r}/{style}/{formal!r}"


@server.prompt
async def conversation(name: str) -> list[Message | str | ImageContent]:
    """A conversation of several messages."""
    return [
        f"I am {name}.",
        Message("assistant", "Hello."),
        ImageContent(b"\x00", "image/png"),
        Message("user", EmbeddedResource("text://static", text="hello", mime_type="text/plain")),
        Message("user", AudioContent(b"\x00", "audio/wav")),
        Message("user", ResourceLink("text://static", "static")),
    ]


@server.prompt(permission_classes=[IsAdminUser], complete={"name": ["secret-plan"]})
def staff_prompt(name: str) -> str:
    """For staff."""
    return name


@server.prompt(scopes=["rooms:write"], complete={"number": ["1"]})
def scoped_prompt(number: int) -> str:
    """What a token must allow."""
    return str(number)


@server.prompt(throttle_classes=[TwoADay], complete={"name": ["x"]})
def rare_prompt(name: str = "x") -> str:
    """Twice a day."""
    return name


@server.prompt(sensitive=["password"])
def with_secret(user: str, password: str) -> str:
    """Takes a secret."""
    return user


@server.prompt
def failing(how: str) -> object:
    """Fails in one of several ways."""
    if how == "said":
        raise ToolError("The printer is out of paper")
    if how == "missing":
        raise Http404("No such report")
    if how == "odd":
        return {"not": "a message"}
    raise RuntimeError("database password is hunter2")


def cities(value: str, arguments: dict[str, str]) -> list[str]:
    """Those of the country that begin with the text."""
    return [city for city in CITIES[arguments.get("country", "de")] if city.startswith(value)]


async def usernames(ctx: Context, value: str) -> list[str]:
    """Those that begin with the text, and who asks."""
    users = get_user_model().objects.filter(username__startswith=value)
    return [ctx.user.get_username(), *[user.username async for user in users.order_by("username")]]


def numbers(value: str) -> Iterator[int]:
    """More than an answer holds."""
    yield from range(1000)


def broken(value: str) -> list[str]:
    """Fails."""
    raise RuntimeError("database password is hunter2")


@server.prompt(
    complete={
        "country": ["de", "DK", "fr", "Sudan"],
        "city": cities,
        "user": usernames,
        "number": numbers,
        "many": [f"item-{number:03}" for number in range(250)],
        "spelled": lambda value: Completion([f"{value}!"], total=7, has_more=True),
        "broken": broken,
        "rows": lambda value: get_user_model().objects.values_list("username", flat=True),
    }
)
def completed(
    *,
    country: str = "",
    city: str = "",
    user: str = "",
    number: int = 0,
    many: str = "",
    spelled: str = "",
    broken: str = "",
    rows: str = "",
    plain: str = "",
    style: Literal["short", "long"] = "short",
    formal: bool = False,
) -> str:
    """A prompt whose arguments can be completed."""
    return country
