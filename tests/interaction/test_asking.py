"""Calls that ask their client: by a retry in the modern era, on their stream in the older one."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from mcp_app import Context
from mcp_app.models import CallEvent, SpentState
from mcp_app.testing import MCPClient
from mcp_app.transports import conversation
from tests.interaction import wire
from tests.interaction.conftest import MODERN, MakeClient, MakeToken
from tests.interaction.tools import server

ABLE = {"elicitation": {}, "sampling": {}, "roots": {}}
ADA = {"action": "accept", "content": {"name": "Ada"}}


@dataclass(frozen=True)
class Name:
    """Who somebody is."""

    name: str


@pytest.fixture
def greet(serve: Any) -> str:
    """A tool that asks for a name, and then for a mood."""

    def greet(ctx: Context) -> str:
        """Greet."""
        named = ctx.elicit("Who are you?", Name, key="name")
        mood = ctx.sample("How do they feel?", max_tokens=5, key="mood")
        return f"Hello {named.content.name}, you are {mood.text}"

    return str(serve(greet))


def retry(client: MCPClient, tool: str, asked: dict[str, Any], /, **responses: Any) -> Any:
    """Call again with answers and the state."""
    state = {"requestState": asked["requestState"], "inputResponses": responses}
    return client.request("tools/call", {"name": tool, "arguments": {}, **state})


def test_a_modern_call_is_made_again_until_everything_is_answered(
    make_client: MakeClient, greet: str
) -> None:
    client = make_client(MODERN, capabilities=ABLE)
    first = client.call(greet).result
    assert first["resultType"] == "input_required"
    assert "ttlMs" not in first
    request = first["inputRequests"]["name"]
    assert request["method"] == "elicitation/create"
    assert request["params"]["message"] == "Who are you?"
    assert request["params"]["requestedSchema"]["required"] == ["name"]
    second = retry(client, greet, first, name=ADA).result
    assert list(second["inputRequests"]) == ["mood"]
    assert second["requestState"] != first["requestState"]
    happy = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "happy"}}
    last = retry(client, greet, second, mood=happy)
    assert last.text == "Hello Ada, you are happy"
    outcomes = list(CallEvent.objects.order_by("pk").values_list("outcome", flat=True))
    assert outcomes == ["asked", "asked", "ok"]


@pytest.mark.parametrize("fault", ["tampered", "used twice", "another user", "other arguments"])
def test_a_state_is_good_for_its_own_request_once(
    make_client: MakeClient, make_token: MakeToken, staff: Any, serve: Any, fault: str
) -> None:
    def ask(ctx: Context, room: str = "a") -> str:
        """Ask."""
        return str(ctx.elicit("Who?", Name, key="name").content)

    name = serve(ask)
    client = make_client(MODERN, capabilities=ABLE)
    asked = client.call(name).result
    arguments: dict[str, Any] = {}
    if fault == "tampered":
        asked = asked | {"requestState": asked["requestState"][:-2] + "xx"}
    elif fault == "used twice":
        assert not retry(client, name, asked, name=ADA).is_error
    elif fault == "another user":
        client = make_client(MODERN, make_token(staff), capabilities=ABLE)
    else:
        arguments = {"room": "b"}
    again = {"requestState": asked["requestState"], "inputResponses": {"name": ADA}}
    answer = client.request("tools/call", {"name": name, "arguments": arguments, **again})
    assert answer.error["code"] == -32602
    assert "requestState" in answer.error["message"]


@pytest.mark.parametrize("other", ["user", "token", "arguments", "tool"])
def test_whoever_tries_anothers_state_does_not_spend_it(
    make_client: MakeClient, make_token: MakeToken, staff: Any, serve: Any, greet: str, other: str
) -> None:
    def ask(ctx: Context, room: str = "a") -> str:
        """Ask."""
        return str(ctx.elicit("Who?", Name, key="name").content)

    name = serve(ask)
    rightful = make_client(MODERN, capabilities=ABLE)
    asked = rightful.call(name).result
    token = {"user": make_token(staff), "token": make_token()}.get(other, rightful.token)
    stranger = make_client(MODERN, token, capabilities=ABLE)
    arguments = {"room": "b"} if other == "arguments" else {}
    again = {"requestState": asked["requestState"], "inputResponses": {"name": ADA}}
    wrong = {"name": greet if other == "tool" else name, "arguments": arguments, **again}
    for _ in range(2):
        assert stranger.request("tools/call", wrong).error["code"] == -32602
    assert not SpentState.objects.exists()
    assert not retry(rightful, name, asked, name=ADA).is_error
    assert retry(rightful, name, asked, name=ADA).error["code"] == -32602


def test_a_state_expires(make_client: MakeClient, greet: str, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "INPUT_TIMEOUT": 0.01}
    client = make_client(MODERN, capabilities=ABLE)
    asked = client.call(greet).result
    time.sleep(0.02)
    assert retry(client, greet, asked, name=ADA).error["code"] == -32602
    assert not SpentState.objects.exists()


def test_an_answer_that_does_not_fit_is_asked_for_again(
    make_client: MakeClient, greet: str
) -> None:
    client = make_client(MODERN, capabilities=ABLE)
    asked = client.call(greet).result
    wrong = {"action": "accept", "content": {"name": 5}}
    assert list(retry(client, greet, asked, name=wrong).result["inputRequests"]) == ["name"]


def answer_with(depth: int) -> dict[str, Any]:
    """An answer with a member that arrays stand in each other in."""
    nested: Any = "x"
    for _ in range(depth):
        nested = [nested]
    return {"action": "accept", "content": {"name": "Ada", "more": nested}}


@pytest.mark.parametrize(("depth", "is_taken"), [(90, True), (100, False), (300, False)])
def test_an_answer_that_is_nested_beyond_reason_is_refused(
    make_client: MakeClient, greet: str, depth: int, is_taken: bool
) -> None:
    client = make_client(MODERN, capabilities=ABLE)
    first = client.call(greet).result
    answer = retry(client, greet, first, name=answer_with(depth))
    if is_taken:
        assert list(answer.result["inputRequests"]) == ["mood"]
    else:
        assert (answer.status, answer.error["code"]) == (400, -32602)


@pytest.mark.parametrize("text", [5, None, ["happy"], {"a": 1}])
def test_what_a_model_says_that_is_no_text_is_none(
    make_client: MakeClient, greet: str, text: Any
) -> None:
    client = make_client(MODERN, capabilities=ABLE)
    odd = {"role": "assistant", "content": [{"type": "text", "text": text}, "x", None]}
    second = retry(client, greet, client.call(greet).result, name=ADA).result
    assert retry(client, greet, second, mood=odd).text == "Hello Ada, you are "


def test_nothing_is_asked_that_the_client_cannot_do(make_client: MakeClient, greet: str) -> None:
    answer = make_client(MODERN, capabilities={"sampling": {}}).call(greet)
    assert (answer.status, answer.error["code"]) == (400, -32021)
    assert answer.error["data"] == {"requiredCapabilities": {"elicitation": {}}}


def test_an_older_client_that_cannot_be_reached_gets_a_sentence(
    make_client: MakeClient, greet: str
) -> None:
    client = make_client("2025-11-25", capabilities={})
    assert client.call(greet).is_error


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_persons_thinking_time_is_not_the_tools(
    make_token: MakeToken,
    serve: Any,
    lanes: None,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    async def later(ctx: Context) -> str:
        return f"Hello {(await ctx.aelicit('Who?', Name)).content.name}"

    def now(ctx: Context) -> str:
        return f"Hello {ctx.elicit('Who?', Name).content.name}"

    monkeypatch.setattr(conversation, "_GRACE", 0.05)
    name = serve(now if kind == "sync" else later, timeout=0.1)
    client = MCPClient(make_token(), version="2025-11-25", server=server, capabilities=ABLE)
    client.initialize()

    async def scenario() -> Any:
        line = wire.call(wire.endpoint_application(), client, name)
        await line.until(lambda: line.events)
        await asyncio.sleep(0.5)
        answer = {"jsonrpc": "2.0", "id": line.events[0]["id"], "result": ADA}
        await sync_to_async(client.post)(answer)
        await line.end()
        return line.events[-1]["result"]["content"][0]["text"]

    assert async_to_sync(scenario)() == "Hello Ada"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("depth", "told"), [(90, "Hello Ada"), (300, "cannot be used")])
def test_an_older_clients_answer_has_the_same_bound(
    make_token: MakeToken, serve: Any, lanes: None, depth: int, told: str
) -> None:
    async def hello(ctx: Context) -> str:
        return f"Hello {(await ctx.aelicit('Who?', Name)).content.name}"

    name = serve(hello)
    client = MCPClient(make_token(), version="2025-11-25", server=server, capabilities=ABLE)
    client.initialize()

    async def scenario() -> Any:
        line = wire.call(wire.endpoint_application(), client, name)
        await line.until(lambda: line.events)
        answer = {"jsonrpc": "2.0", "id": line.events[0]["id"], "result": answer_with(depth)}
        assert (await sync_to_async(client.post)(answer)).status == 202
        await line.end()
        return line.events[-1]["result"]["content"][0]["text"]

    assert told in async_to_sync(scenario)()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18"])
def test_an_older_client_answers_by_a_post_of_its_own(
    make_token: MakeToken, serve: Any, lanes: None, version: str
) -> None:
    async def hello(ctx: Context) -> str:
        """Greet."""
        return f"Hello {(await ctx.aelicit('Who are you?', Name)).content.name}"

    def bye(ctx: Context) -> str:
        """Take leave."""
        return f"Bye {ctx.elicit('Who are you?', Name).content.name}"

    names = [serve(hello), serve(bye)]
    client = MCPClient(make_token(), version=version, server=server, capabilities=ABLE)
    client.initialize()

    async def scenario(name: str) -> wire.Line:
        line = wire.call(wire.endpoint_application(), client, name)
        await line.until(lambda: line.events)
        asked = line.events[0]
        assert asked["method"] == "elicitation/create"
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": ADA}
        accepted = await sync_to_async(client.post)(answer)
        assert (accepted.status, accepted.body) == (202, b"")
        await line.end()
        return line

    told = [async_to_sync(scenario)(name).events[-1] for name in names]
    texts = [response["result"]["content"][0]["text"] for response in told]
    assert texts == ["Hello Ada", "Bye Ada"]
    assert [response["id"] for response in told] == [1, 1]
