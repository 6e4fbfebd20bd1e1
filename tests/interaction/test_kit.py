"""The test kit's client answers what calls ask, as a product's tests want its user to."""

from dataclasses import dataclass
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from mcp_app import Context
from mcp_app.testing import MCPClient, accept, cancel, decline
from tests.interaction.conftest import MODERN, Counted, MakeClient, MakeToken
from tests.interaction.tools import server


@dataclass(frozen=True)
class Name:
    """Who somebody is."""

    name: str


@pytest.fixture
def refund(serve: Any, counted: Counted) -> Counted:
    """A tool that a person has to agree to."""

    def refund(order: str) -> str:
        """Refund an order."""
        counted.runs += 1
        return f"refunded {order}"

    counted.name = serve(refund, confirm="Refund order {order}?")
    return counted


def message(asked: dict[str, Any]) -> str:
    """What a question says."""
    said: str = asked["params"]["message"]
    return said


def can_be_asked(client: MCPClient, door: str) -> bool:
    """Older clients have no stream under WSGI."""
    return client.version.name == MODERN or door != "view"


def test_a_confirmation_is_agreed_to(
    make_client: MakeClient, version: str, door: str, refund: Counted
) -> None:
    client = make_client(version, answers=accept())
    told = client.call(refund.name, {"order": "7"})
    assert told.is_error is not can_be_asked(client, door)
    assert refund.runs == can_be_asked(client, door)
    if refund.runs:
        assert told.text == "refunded 7"
        assert [message(asked) for asked in client.asked] == ["Refund order 7?"]


@pytest.mark.parametrize(
    ("answers", "word"),
    [(decline(), "declined"), (cancel(), "closed the question")],
    ids=["declined", "cancelled"],
)
def test_a_confirmation_is_declined(
    make_client: MakeClient, version: str, door: str, refund: Counted, answers: Any, word: str
) -> None:
    client = make_client(version, answers=answers)
    told = client.call(refund.name, {"order": "7"})
    assert told.is_error
    assert refund.runs == 0
    if can_be_asked(client, door):
        assert word in told.text
        assert len(client.asked) == 1


def test_a_client_that_answers_nothing_shows_the_question(
    make_client: MakeClient, refund: Counted
) -> None:
    client = make_client(MODERN, capabilities={"elicitation": {}})
    assert "inputRequests" in client.call(refund.name, {"order": "7"}).result
    assert client.asked == []


def test_several_questions_are_answered_by_what_they_ask(
    make_client: MakeClient, version: str, door: str, serve: Any
) -> None:
    async def greet(ctx: Context) -> str:
        """Greet."""
        named = await ctx.aelicit("Who are you?", Name, key="name")
        mood = await ctx.asample("How do they feel?", max_tokens=5, key="mood")
        return f"Hello {named.content.name}, you are {mood.text}"

    def answers(request: dict[str, Any]) -> dict[str, Any]:
        if request["method"] == "elicitation/create":
            return accept(name="Ada")
        return {"role": "assistant", "model": "m", "content": {"type": "text", "text": "happy"}}

    able = {"elicitation": {}, "sampling": {}}
    client = make_client(version, capabilities=able, answers=answers)
    told = client.call(serve(greet))
    if can_be_asked(client, door):
        assert told.text == "Hello Ada, you are happy"
        methods = [asked["method"] for asked in client.asked]
        assert methods == ["elicitation/create", "sampling/createMessage"]
    else:
        assert told.is_error


def test_a_call_that_asks_on_and_on_fails_its_test(make_client: MakeClient, serve: Any) -> None:
    numbers = iter(range(1000))

    def restless(ctx: Context) -> None:
        """Ask again in other words each time."""
        ctx.elicit(f"Number {next(numbers)}?", Name)

    client = make_client(MODERN, answers=accept(name="Ada"))
    with pytest.raises(AssertionError, match="asked on and on"):
        client.call(serve(restless))


@pytest.mark.django_db(transaction=True)
def test_a_sync_tool_may_ask_where_it_has_a_thread_of_its_own(
    make_token: MakeToken, lanes: None, serve: Any
) -> None:
    def greet(ctx: Context) -> str:
        """Greet."""
        return f"Hello {ctx.elicit('Who are you?', Name).content.name}"

    name = serve(greet)
    for door in ("async view", "asgi"):
        client = MCPClient(
            make_token(), version="2025-11-25", door=door, server=server, answers=accept(name="Ada")
        )
        assert client.call(name).text == "Hello Ada"


@pytest.mark.parametrize("kind", ["sync", "sync code of an async tool"])
@pytest.mark.parametrize("door", ["async view", "asgi"], indirect=True)
def test_a_sync_tool_is_told_at_once_that_it_cannot_ask_where_it_has_none(
    make_client: MakeClient, serve: Any, kind: str
) -> None:
    def greet(ctx: Context) -> str:
        return f"Hello {ctx.elicit('Who are you?', Name).content.name}"

    async def greet_in_a_thread(ctx: Context) -> str:
        return await sync_to_async(greet)(ctx)

    client = make_client("2025-11-25", answers=accept(name="Ada"))
    told = client.call(serve(greet if kind == "sync" else greet_in_a_thread))
    assert told.is_error
    assert "inline_workers(): let the tool be async" in told.text
    assert client.asked == []
