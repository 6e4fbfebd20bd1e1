"""The arguments that several of the quiz's tools share, with their bounds and descriptions."""

import datetime as dt
from typing import Annotated

from pydantic import AfterValidator, Field


def without_nul(text: str) -> str:
    """Return the text. Raises `ValueError` for a NUL character, which PostgreSQL cannot store."""
    if "\x00" in text:
        raise ValueError("must not contain a NUL character")
    return text


Text = Annotated[str, AfterValidator(without_nul)]

InviteCode = Annotated[
    Text,
    Field(min_length=1, max_length=12, description="The room's invite code, such as PLAY42."),
]
Reason = Annotated[
    Text, Field(min_length=3, max_length=200, description="Why, as the players will read it.")
]
Limit = Annotated[int, Field(ge=1, le=200, description="How many rows to return at most.")]
Top = Annotated[int, Field(ge=1, le=100, description="How many countries to return at most.")]
Since = Annotated[
    dt.datetime | None,
    Field(
        description="Only what happened at this moment or later; UTC unless it names a zone. "
        "Default and earliest: seven days ago."
    ),
]
Until = Annotated[
    dt.datetime | None,
    Field(description="Only what happened up to this moment; UTC unless it names a zone."),
]
Cursor = Annotated[
    str | None,
    Field(max_length=400, description="The next_cursor of the page before; leave the rest as is."),
]
