"""What an agreement is good for: the words that a person was shown, and no others (D-089)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth import get_user_model
from django.utils import timezone
from django.utils.translation import gettext_lazy
from pydantic import BaseModel, Field, SecretStr
from rest_framework.permissions import AllowAny, IsAdminUser

from mcp_app import Context, MCPServer, ToolResult
from mcp_app.access.switches import switch_for, turn
from mcp_app.audit.gates import deciding_gate
from mcp_app.auth.tokens import rotate
from mcp_app.catalog.inputs import CONFIRMATION
from mcp_app.hooks import confirm, deny
from mcp_app.models import CallEvent, Token, TokenSecret
from mcp_app.testing import MCPClient
from tests.interaction import wire
from tests.interaction.conftest import MODERN, Counted, MakeClient, MakeToken, ready
from tests.interaction.tools import server

ABLE = {"elicitation": {}}
YES = {"action": "accept", "content": {}}
NO = {"action": "decline"}


@dataclass(frozen=True)
class Name:
    """Who somebody is."""

    name: str


def hook(settings: Any, name: str, *hooks: Any) -> None:
    """Configure hooks."""
    settings.MCP_APP = {**settings.MCP_APP, name: list(hooks)}


def again(client: MCPClient, name: str, asked: Any, /, **responses: Any) -> Any:
    """Call again with answers and the state."""
    named = {CONFIRMATION if key == "confirmation" else key: v for key, v in responses.items()}
    state = {"requestState": asked["requestState"], "inputResponses": named}
    return client.request("tools/call", {"name": name, "arguments": {}, **state})


def question(asked: Any) -> str:
    """What a person is to agree to."""
    message: str = asked["inputRequests"][CONFIRMATION]["params"]["message"]
    return message


class Price:
    """A hook whose question has a price that changes."""

    def __init__(self, *prices: int) -> None:
        self.prices = list(prices)

    def __call__(self, ctx: Context, tool: Any, arguments: Any) -> Any:
        price = self.prices.pop(0) if len(self.prices) > 1 else self.prices[0]
        return confirm(f"Pay {price} €?") if price else None


# --- the words that were shown -------------------------------------------------------------------


def test_an_agreement_to_other_words_is_asked_for_again(
    make_client: MakeClient, settings: Any, counted: Counted
) -> None:
    hook(settings, "BEFORE_CALL", Price(7, 700))
    client = make_client(MODERN, capabilities=ABLE)
    first = client.call(counted.name).result
    assert question(first) == "Pay 7 €?"
    second = again(client, counted.name, first, confirmation=YES).result
    assert question(second) == "Pay 700 €?"
    assert counted.runs == 0
    assert not again(client, counted.name, second, confirmation=YES).is_error
    assert counted.runs == 1


def test_an_agreement_of_an_earlier_round_is_for_its_words_too(
    make_client: MakeClient, settings: Any, serve: Any
) -> None:
    runs: list[str] = []

    def greet(ctx: Context) -> str:
        """Greet."""
        runs.append(ctx.elicit("Who?", Name, key="name").content.name)
        return runs[-1]

    name = serve(greet)
    hook(settings, "BEFORE_CALL", Price(7, 7, 700))
    client = make_client(MODERN, capabilities=ABLE)
    first = client.call(name).result
    second = again(client, name, first, confirmation=YES).result
    assert list(second["inputRequests"]) == ["name"]
    ada = {"action": "accept", "content": {"name": "Ada"}}
    third = again(client, name, second, name=ada, confirmation=YES).result
    assert question(third) == "Pay 700 €?"
    assert runs == []


def test_an_answer_is_for_the_form_that_was_shown(make_client: MakeClient, serve: Any) -> None:
    messages = ["Delete 1 room?", "Delete 100 rooms?"]

    def delete(ctx: Context) -> str:
        """Delete."""
        message = messages.pop(0) if len(messages) > 1 else messages[0]
        return str(ctx.elicit(message, Name, key="name").content)

    name = serve(delete)
    client = make_client(MODERN, capabilities=ABLE)
    first = client.call(name).result
    ada = {"action": "accept", "content": {"name": "Ada"}}
    second = again(client, name, first, name=ada).result
    assert second["inputRequests"]["name"]["params"]["message"] == "Delete 100 rooms?"
    assert "Ada" in again(client, name, second, name=ada).text


def test_a_form_may_be_answered_before_it_is_asked_but_no_agreement_given(
    make_client: MakeClient, settings: Any, serve: Any
) -> None:
    def greet(ctx: Context) -> str:
        """Greet."""
        return f"Hello {ctx.elicit('Who?', Name, key='name').content.name}"

    client = make_client(MODERN, capabilities=ABLE)
    ada = {"action": "accept", "content": {"name": "Ada"}}
    params = {"name": serve(greet), "arguments": {}}
    early = {"inputResponses": {"name": ada, "else": YES, CONFIRMATION: YES}}
    assert client.request("tools/call", params | early).text == "Hello Ada"
    hook(settings, "BEFORE_CALL", lambda ctx, tool, arguments: confirm("Really?"))
    asked = client.request("tools/call", params | early).result
    assert list(asked["inputRequests"]) == [CONFIRMATION]


def test_two_questions_of_one_key_fail_the_call(make_client: MakeClient, serve: Any) -> None:
    def confused(ctx: Context) -> str:
        """Ask twice under one key."""
        ctx.elicit("Who?", Name, key="name")
        return str(ctx.elicit("Whose?", Name, key="name"))

    name = serve(confused)
    client = make_client(MODERN, capabilities=ABLE)
    first = client.call(name).result
    ada = {"action": "accept", "content": {"name": "Ada"}}
    assert again(client, name, first, name=ada).is_error
    assert "two different questions" in CallEvent.objects.latest("pk").error_text


def conversation(
    client: MCPClient, name: str, *answers: Any, meanwhile: Callable[[], None] = lambda: None
) -> tuple[list[str], Any]:
    """What an older client's user is asked on the call's stream, and how the call ends.

    `meanwhile` happens before each answer.
    """

    async def scenario() -> tuple[list[str], Any]:
        application = wire.endpoint_application()
        params = {"name": name, "arguments": {}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        line = wire.send(application, client, call)
        for number, answer in enumerate(answers, 1):
            await line.until(lambda number=number: len(line.events) == number)
            await sync_to_async(meanwhile)()
            told = {"jsonrpc": "2.0", "id": line.events[-1]["id"], "result": answer}
            await wire.send(application, client, told).end()
        await line.end()
        questions = [event for event in line.events[:-1] if "id" in event]
        asked = [question["params"]["message"] for question in questions]
        return asked, line.events[-1]["result"]

    return async_to_sync(scenario)()


@pytest.fixture
def older(make_token: MakeToken, lanes: None) -> MCPClient:
    """A client of 2025-11-25 whose user can be asked; calls run in worker lanes."""
    client = MCPClient(make_token(), version="2025-11-25", server=server, capabilities=ABLE)
    client.initialize()
    return client


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["sync", "read-only", "async"])
def test_an_older_clients_agreement_is_for_the_words_that_hold_when_it_runs(
    older: MCPClient, settings: Any, serve: Any, counted: Counted, kind: str
) -> None:
    def now() -> None:
        counted.runs += 1

    async def later() -> None:
        counted.runs += 1

    name = serve(later if kind == "async" else now, read_only=kind == "read-only")
    hook(settings, "BEFORE_CALL", Price(7, 700))
    asked, result = conversation(older, name, YES, YES)
    assert asked == ["Pay 7 €?", "Pay 700 €?"]
    assert "isError" not in result
    assert counted.runs == 1


@pytest.mark.django_db(transaction=True)
def test_a_question_that_always_changes_is_refused_in_the_end(
    older: MCPClient, settings: Any, counted: Counted
) -> None:
    hook(settings, "BEFORE_CALL", Price(1, 2, 3, 4, 5))
    asked, result = conversation(older, counted.name, YES, YES, YES)
    assert asked == ["Pay 1 €?", "Pay 2 €?", "Pay 3 €?"]
    assert result["isError"]
    assert counted.runs == 0
    event = CallEvent.objects.latest("pk")
    assert (event.outcome, event.decision) == ("denied", "confirm")
    assert "The question changed each time" in str(deciding_gate(event).ending)


@pytest.mark.django_db(transaction=True)
def test_a_hook_may_deny_while_a_person_thinks(
    older: MCPClient, settings: Any, counted: Counted
) -> None:
    verdicts = [confirm("Really?"), deny("The market has closed.")]
    hook(settings, "BEFORE_CALL", lambda ctx, tool, arguments: verdicts.pop(0))
    _, result = conversation(older, counted.name, YES)
    assert result["content"][0]["text"] == "The market has closed."
    assert counted.runs == 0
    event = CallEvent.objects.get(tool=counted.name)
    assert (event.outcome, event.decision) == ("denied", "deny")


def hide(settings: Any, name: str) -> None:
    """Leave a tool out of every list."""
    hook(settings, "LIST_TOOLS", lambda ctx, tools: [t for t in tools if t.name != name])


def replace(settings: Any, name: str) -> None:
    """Put another tool under the name of one."""
    server.remove(name)

    @server.tool(name=name, confirm="Really?")
    def other() -> None:
        """Another tool."""


CHANGES: dict[str, Callable[[Any, str], Any]] = {
    "permission": lambda settings, name: get_user_model().objects.update(is_staff=False),
    "scope": lambda settings, name: Token.objects.update(scopes=[]),
    "limits": lambda settings, name: Token.objects.update(tools=["echo"]),
    "list": hide,
    "tool": replace,
    "switch": lambda settings, name: turn(
        switch_for("off", server.name, noun="tool", name=name, reason="Broken.")
    ),
}


WITHDRAWN_BY = {
    "permission": "Permission classes",
    "scope": "Scopes of the token",
    "limits": "Limits of the token",
    "list": "Hook of LIST_TOOLS",
    "tool": "Name",
    "switch": "Switch",
}
"""The gate that the log names."""


@pytest.fixture
def guarded(
    staff: Any, make_token: MakeToken, lanes: None, serve: Any, counted: Counted
) -> MCPClient:
    """An older client of a member of staff, for a tool that staff alone may call."""

    def refund(ctx: Context) -> str:
        counted.runs += 1
        return str(ctx.user.is_staff)

    options = {"permission_classes": [IsAdminUser], "scopes": ["rooms:write"]}
    counted.name = serve(refund, confirm="Really?", **options)
    token = make_token(staff, "rooms:write")
    client = MCPClient(token, version="2025-11-25", server=server, capabilities=ABLE)
    client.initialize()
    return client


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change", CHANGES)
def test_an_agreement_comes_too_late_for_who_may_not_call_any_more(
    guarded: MCPClient, settings: Any, counted: Counted, change: str
) -> None:
    name = counted.name
    _, result = conversation(guarded, name, YES, meanwhile=lambda: CHANGES[change](settings, name))
    assert result["isError"]
    assert "is not any more" in result["content"][0]["text"]
    assert counted.runs == 0
    event = CallEvent.objects.get(tool=name)
    assert (event.outcome, event.decision) == ("denied", "deny")
    assert event.error_class.endswith("<lambda>") is (change == "list")
    assert (event.error_class == "SwitchedOff") is (change == "switch")
    gate = deciding_gate(event)
    assert gate.name == WITHDRAWN_BY[change]
    assert "when the user was asked" in str(gate.ending)


@pytest.mark.django_db(transaction=True)
def test_an_agreement_comes_too_late_for_a_secret_that_has_ended(
    guarded: MCPClient, counted: Counted
) -> None:
    new = rotate(Token.objects.get(), grace=timedelta(hours=1)).reveal()

    def rotated() -> None:
        guarded.token = new
        # By itself: no signal tells the call's stream.
        TokenSecret.objects.filter(valid_until__isnull=False).update(valid_until=timezone.now())

    conversation(guarded, counted.name, YES, meanwhile=rotated)
    assert counted.runs == 0
    gate = deciding_gate(CallEvent.objects.get(tool=counted.name))
    assert (gate.name, "when the user was asked" in str(gate.ending)) == ("Authentication", True)


@pytest.mark.django_db(transaction=True)
def test_an_agreement_is_in_time_for_who_still_may(guarded: MCPClient, counted: Counted) -> None:
    asked, result = conversation(guarded, counted.name, YES)
    assert asked == ["Really?"]
    assert result["content"][0]["text"] == "True"
    assert counted.runs == 1


@pytest.mark.django_db(transaction=True)
def test_a_confirmation_that_nobody_answers_is_recorded_as_a_decision(
    older: MCPClient, settings: Any, counted: Counted
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "INPUT_TIMEOUT": 0.05}
    hook(settings, "BEFORE_CALL", lambda c, t, a: confirm("Really?", fallback="kept for later"))
    _, result = conversation(older, counted.name)
    assert result["isError"]
    assert "Nobody answered in time" in result["content"][0]["text"]
    event = CallEvent.objects.get(tool=counted.name)
    assert (event.outcome, event.decision) == ("denied", "confirm")
    assert str(deciding_gate(event).ending) == "Nobody answered in time whether it may run."


# --- hooks do not ask ----------------------------------------------------------------------------

ASKING: dict[str, Callable[[Context], Any]] = {
    "elicit": lambda ctx: ctx.elicit("Really?", Name),
    "sample": lambda ctx: ctx.sample("Should it?", max_tokens=5),
    "roots": lambda ctx: ctx.roots(),
}


@pytest.mark.parametrize("how", ASKING)
def test_a_hook_that_asks_its_client_denies(
    make_client: MakeClient,
    version: str,
    settings: Any,
    counted: Counted,
    caplog: pytest.LogCaptureFixture,
    how: str,
) -> None:
    def asks(ctx: Context, tool: Any, arguments: Any) -> None:
        ASKING[how](ctx)

    hook(settings, "BEFORE_CALL", asks)
    able = {"elicitation": {}, "sampling": {}, "roots": {}}
    told = ready(make_client(version, capabilities=able)).call(counted.name)
    assert told.is_error
    assert counted.runs == 0
    assert "asks failed before the call of 'count'" in caplog.text
    assert "A hook cannot ask its client" in caplog.text
    event = CallEvent.objects.get(tool=counted.name)
    assert (event.outcome, event.decision) == ("denied", "deny")


@pytest.mark.parametrize("how", ASKING)
def test_a_hook_that_lists_tools_and_asks_shows_none(
    make_client: MakeClient, settings: Any, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    def asks(ctx: Context, tools: Sequence[Any]) -> Any:
        ASKING[how](ctx)
        return tools

    hook(settings, "LIST_TOOLS", asks)
    client = make_client(MODERN, capabilities={"elicitation": {}, "sampling": {}, "roots": {}})
    assert client.tools() == []
    assert client.call("add", {"a": 1}).error["code"] == -32602
    assert "A hook cannot ask its client" in caplog.text


class Escape(BaseException):
    """What no handler of exceptions expects."""


@pytest.mark.parametrize("name", ["BEFORE_CALL", "LIST_TOOLS", "SERVER_INFO"])
def test_no_hook_lets_anything_escape(
    make_client: MakeClient, settings: Any, counted: Counted, name: str
) -> None:
    def escapes(*given: Any) -> Any:
        raise Escape

    hook(settings, name, escapes)
    answer = make_client().call(counted.name)
    refused = answer.status == 400 if name == "LIST_TOOLS" else answer.is_error
    assert refused is (name != "SERVER_INFO")
    assert counted.runs == (name == "SERVER_INFO")


# --- what is listed is what can be called --------------------------------------------------------


def test_a_hook_judges_the_whole_list_for_a_call_too(
    make_client: MakeClient, version: str, settings: Any
) -> None:
    def first_two(ctx: Context, tools: Sequence[Any]) -> Sequence[Any]:
        return tools[:2]

    hook(settings, "LIST_TOOLS", first_two)
    client = ready(make_client(version))
    listed = [tool["name"] for tool in client.tools()]
    assert len(listed) == 2
    assert "echo" not in listed
    hidden, absent = client.call("echo", {"text": "a"}), client.call("nowhere")
    assert hidden.error["message"] == "Unknown tool: echo"
    assert (hidden.status, hidden.error["code"]) == (absent.status, absent.error["code"])
    event = CallEvent.objects.get(tool="echo")
    assert (event.outcome, event.decision) == ("denied", "deny")
    assert event.error_class.endswith(".first_two")
    assert event.error_text == f"hidden by {event.error_class}"


def test_a_denied_call_names_the_hook(make_client: MakeClient, settings: Any) -> None:
    def sunday(ctx: Context, tool: Any, arguments: Any) -> Any:
        return deny("Not on a Sunday.")

    hook(settings, "BEFORE_CALL", lambda ctx, tool, arguments: None, sunday)
    assert make_client().call("add", {"a": 1}).is_error
    assert CallEvent.objects.get().error_class == f"{__name__}.{sunday.__qualname__}"


def test_a_verdict_may_be_translated_lazily(make_client: MakeClient, settings: Any) -> None:
    hook(settings, "BEFORE_CALL", lambda ctx, tool, arguments: confirm(gettext_lazy("Yes")))
    client = make_client(MODERN, capabilities=ABLE)
    assert question(client.call("add", {"a": 1}).result) == "Yes"
    hook(settings, "BEFORE_CALL", lambda ctx, tool, arguments: deny(gettext_lazy("No")))
    assert make_client().call("add", {"a": 1}).text == "No"


# --- what is told instead ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "is_error", "text"),
    [
        ("kept for later", True, "kept for later"),
        ({"total": 0}, False, '{"total":0}'),
        ({"sum": 0}, True, "no"),
        (ToolResult(content="kept", is_error=True), True, "kept"),
    ],
    ids=["text", "fitting", "misfit", "spelled out"],
)
@pytest.mark.parametrize("way", ["denied", "nobody to ask"])
def test_what_is_told_instead_keeps_to_the_output_schema(
    make_client: MakeClient,
    version: str,
    settings: Any,
    told: Any,
    is_error: bool,
    text: str,
    way: str,
) -> None:
    verdict = deny("no", result=told) if way == "denied" else confirm("no?", fallback=told)
    hook(settings, "BEFORE_CALL", lambda ctx, tool, arguments: verdict)
    answer = ready(make_client(version)).call("add", {"a": 1})
    assert answer.is_error is is_error
    if text == "no" and way != "denied":
        assert "needs a person's confirmation" in answer.text
    else:
        assert answer.text == text
    assert "structuredContent" not in answer.result or answer.structured == told
    assert CallEvent.objects.get(tool="add").outcome == "denied"


def test_who_declines_is_told_so_and_no_fallback(
    make_client: MakeClient, settings: Any, counted: Counted
) -> None:
    hook(settings, "BEFORE_CALL", lambda c, t, a: confirm("Really?", fallback="kept for later"))
    client = make_client(MODERN, capabilities=ABLE)
    asked = client.call(counted.name).result
    told = again(client, counted.name, asked, confirmation=NO)
    assert told.is_error
    assert "declined" in told.text
    assert counted.runs == 0


# --- what a question shows -----------------------------------------------------------------------


class Card(BaseModel):
    """A card with a number that nobody may read."""

    holder: str
    number: SecretStr


def test_a_question_does_not_show_what_is_sensitive() -> None:
    broken = MCPServer("broken")

    @broken.tool(confirm="Pay as {name}?", sensitive=["name"])
    def named(name: str) -> None:
        """Pay."""

    @broken.tool(confirm="Pay with {pin}?")
    def secret(pin: SecretStr) -> None:
        """Pay."""

    @broken.tool(confirm="Pay with {pin}?")
    def write_only(pin: str = Field(json_schema_extra={"writeOnly": True}, alias="p")) -> None:
        """Pay."""

    @broken.tool(confirm="Pay with {card}?")
    def nested(card: Card) -> None:
        """Pay."""

    @broken.tool(confirm="Pay {amount}?", sensitive=["pin"])
    def good(amount: int, pin: str) -> None:
        """Pay."""

    assert list(broken.tools) == ["good"]
    assert {problem.id for problem in broken.problems} == {"E078"}
    assert [problem.message for problem in broken.problems if "sensitive: pin" in problem.message]
    assert len(broken.problems) == 4


# --- what may be cached --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "private"),
    [
        ("LIST_TOOLS", {"tools/list", "server/discover"}),
        ("SERVER_INFO", {"tools/list", "server/discover", "prompts/list", "resources/read"}),
        ("BEFORE_CALL", set()),
    ],
)
def test_what_a_hook_changes_for_each_caller_is_not_shared(
    name: str, private: set[str], user: Any, settings: Any
) -> None:
    shared = MCPServer("shared")

    @shared.tool(permission_classes=[AllowAny])
    def greet() -> None:
        """Greet."""

    @shared.prompt(permission_classes=[AllowAny])
    def summary() -> str:
        """Summarise."""
        return "Summarise."

    @shared.resource("shop://hours", permission_classes=[AllowAny], cache_scope="public")
    def hours() -> str:
        """Tell when it is open."""
        return "9 to 5"

    requests: dict[str, dict[str, str]] = {
        "tools/list": {},
        "server/discover": {},
        "prompts/list": {},
        "resources/read": {"uri": "shop://hours"},
    }
    client = MCPClient("", door="asgi", server=shared)
    settings.MCP_APP = {**settings.MCP_APP, "ALLOW_ANONYMOUS": True}

    def scopes() -> dict[str, str]:
        return {m: client.request(m, p).result["cacheScope"] for m, p in requests.items()}

    assert set(scopes().values()) == {"public"}
    hook(settings, name, lambda ctx, *given: given[0] if given else {})
    assert {m for m, scope in scopes().items() if scope == "private"} == private


def test_a_list_that_a_hook_narrows_is_private_though_it_is_empty(settings: Any) -> None:
    client = MCPClient("", door="asgi", server=MCPServer("empty"))
    settings.MCP_APP = {**settings.MCP_APP, "ALLOW_ANONYMOUS": True}
    assert client.request("tools/list").result["cacheScope"] == "public"
    hook(settings, "LIST_TOOLS", lambda ctx, tools: tools)
    assert client.request("tools/list").result["cacheScope"] == "private"
