"""A call that asks the database too often is stopped, in words and in the call log."""

from contextlib import suppress
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model

from mcp_app.models import CallEvent
from tests.interaction.conftest import MakeClient


@pytest.fixture
def budget(settings: Any) -> None:
    """Three queries a call."""
    settings.MCP_APP = {**settings.MCP_APP, "MAX_QUERIES": 3}


def ask(times: int) -> int:
    """Ask the database so often."""
    return sum(get_user_model().objects.count() for _ in range(times)) * 0 + times


async def ask_async(times: int) -> int:
    """The same from async code, in the ORM's own way and in another thread."""
    for _ in range(times - 1):
        await get_user_model().objects.acount()
    await sync_to_async(get_user_model().objects.count)()
    return times


def stubborn() -> str:
    """Go on after the refusal."""
    for _ in range(9):
        with suppress(Exception):
            get_user_model().objects.count()
    get_user_model().objects.count()
    return "never"


@pytest.mark.usefixtures("budget")
@pytest.mark.parametrize("function", [ask, ask_async])
def test_a_call_may_ask_so_often_and_no_more(
    make_client: MakeClient, serve: Any, function: Any
) -> None:
    name = serve(function)
    client = make_client()
    assert client.call(name, {"times": 3}).structured == {"result": 3}
    told = client.call(name, {"times": 4})
    assert told.is_error
    assert "more than 3 times" in told.text
    event = CallEvent.objects.latest("pk")
    assert (event.outcome, event.error_class) == ("error", "QueryBudgetSpent")
    # The next call has its own.
    assert client.call(name, {"times": 3}).structured == {"result": 3}


@pytest.mark.usefixtures("budget")
def test_what_a_tool_swallows_it_meets_again(make_client: MakeClient, serve: Any) -> None:
    assert "more than 3 times" in make_client().call(serve(stubborn)).text


def test_without_the_setting_nobody_counts(make_client: MakeClient, serve: Any) -> None:
    assert make_client().call(serve(ask), {"times": 50}).structured == {"result": 50}
