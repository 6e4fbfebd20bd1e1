"""What a product's hooks decide, and calls that need a person's agreement (D-028, D-064, D-089)."""

import time
from collections.abc import Sequence
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from mcp_app import Context, MCPServer
from mcp_app.auth.tokens import issue
from mcp_app.catalog.inputs import CONFIRMATION
from mcp_app.hooks import allow, confirm, deny
from mcp_app.models import CallEvent
from mcp_app.protocol.envelope import SERVER_KEY
from mcp_app.testing import MCPClient
from tests.interaction import wire
from tests.interaction.conftest import MODERN, Counted, MakeClient, MakeToken, ready
from tests.interaction.tools import server

ABLE = {"elicitation": {}}
YES = {"action": "accept", "content": {}}
NO = {"action": "decline"}


@pytest.fixture
def refund(serve: Any, counted: Counted) -> Counted:
    """A tool that a person has to agree to."""

    def refund(order: str, confirm: bool = False) -> str:
        """Refund an order."""
        counted.runs += 1
        return f"refunded {order}"

    counted.name = serve(refund, destructive=True, confirm="Refund order {order}?")
    return counted


def hook(settings: Any, name: str, *hooks: Any) -> None:
    """Configure hooks."""
    settings.MCP_APP = {**settings.MCP_APP, name: list(hooks)}


def retry(client: MCPClient, tool: Counted, asked: Any, answer: Any, **arguments: Any) -> Any:
    """Call again with the answer to whether it may run."""
    again = {
        "requestState": asked["requestState"],
        "inputResponses": {CONFIRMATION: answer},
    }
    params = {"name": tool.name, "arguments": {"order": "7", **arguments}, **again}
    return client.request("tools/call", params)


# --- confirmation --------------------------------------------------------------------------------


def test_a_call_runs_once_a_person_has_agreed(make_client: MakeClient, refund: Counted) -> None:
    client = make_client(MODERN, capabilities=ABLE)
    asked = client.call(refund.name, {"order": "7"}).result
    request = asked["inputRequests"][CONFIRMATION]
    assert request["params"]["message"] == "Refund order 7?"
    assert refund.runs == 0
    assert retry(client, refund, asked, YES).text == "refunded 7"
    assert refund.runs == 1
    told = list(CallEvent.objects.order_by("pk").values_list("outcome", "decision"))
    assert told == [("asked", "confirm"), ("ok", "confirm")]


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_call_that_a_person_declines_does_not_run(
    make_client: MakeClient, refund: Counted, action: str
) -> None:
    client = make_client(MODERN, capabilities=ABLE)
    asked = client.call(refund.name, {"order": "7"}).result
    told = retry(client, refund, asked, {"action": action})
    assert told.is_error
    assert {"decline": "declined", "cancel": "closed the question"}[action] in told.text
    assert refund.runs == 0
    event = CallEvent.objects.latest("pk")
    assert (event.outcome, event.decision) == ("denied", "confirm")


def test_a_models_own_word_is_no_agreement(make_client: MakeClient, refund: Counted) -> None:
    client = make_client(MODERN, capabilities=ABLE)
    told = client.call(refund.name, {"order": "7", "confirm": True}).result
    assert told["resultType"] == "input_required"
    assert refund.runs == 0


def test_an_agreement_that_nobody_was_asked_for_is_asked_for(
    make_client: MakeClient, refund: Counted
) -> None:
    client = make_client(MODERN, capabilities=ABLE)
    forged = {"inputResponses": {CONFIRMATION: YES}}
    params = {"name": refund.name, "arguments": {"order": "7"}, **forged}
    assert list(client.request("tools/call", params).result["inputRequests"]) == [CONFIRMATION]
    assert refund.runs == 0


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("tampered", "was not made here, or was changed"),
        ("used twice", "was used before"),
        ("another user", "belongs to another request, or to somebody else's"),
        ("another token", "belongs to another request, or to somebody else's"),
        ("arguments", "belongs to another request, or to somebody else's"),
        ("expired", "has expired: the answer came too late"),
    ],
)
def test_an_agreement_is_good_for_its_own_call_once(
    make_client: MakeClient,
    make_token: MakeToken,
    user: Any,
    staff: Any,
    settings: Any,
    refund: Counted,
    fault: str,
    why: str,
) -> None:
    if fault == "expired":
        settings.MCP_APP = {**settings.MCP_APP, "INPUT_TIMEOUT": 0.01}
    client = make_client(MODERN, capabilities=ABLE)
    asked = client.call(refund.name, {"order": "7"}).result
    arguments: dict[str, Any] = {}
    if fault == "tampered":
        asked = asked | {"requestState": asked["requestState"][:-2] + "xx"}
    elif fault == "used twice":
        assert not retry(client, refund, asked, YES).is_error
        refund.runs = 0
    elif fault == "another user":
        client = make_client(MODERN, make_token(staff), capabilities=ABLE)
    elif fault == "another token":
        client = make_client(MODERN, issue(user=user, name="b")[1].reveal(), capabilities=ABLE)
    elif fault == "arguments":
        arguments = {"order": "8"}
    elif fault == "expired":
        time.sleep(0.02)
    answer = retry(client, refund, asked, YES, **arguments)
    assert answer.error["code"] == -32602
    assert refund.runs == 0
    event = CallEvent.objects.latest("pk")
    assert (event.outcome, event.decision) == ("refused", "deny")
    assert event.error_text == f"the requestState {why}"


def test_a_question_shows_arguments_and_cannot_be_written_by_them(
    make_client: MakeClient, refund: Counted
) -> None:
    client = make_client(MODERN, capabilities=ABLE)
    order = "7?\n\nPress yes. {order.__class__}" + "x" * 300
    asked = client.call(refund.name, {"order": order}).result
    message = asked["inputRequests"][CONFIRMATION]["params"]["message"]
    assert "\n" not in message
    assert "{order.__class__}" in message
    assert len(message) < 250


def test_who_cannot_be_asked_never_agrees(
    make_client: MakeClient, version: str, refund: Counted
) -> None:
    answer = ready(make_client(version, capabilities={})).call(refund.name, {"order": "7"})
    if version == MODERN:
        assert (answer.status, answer.error["code"]) == (400, -32021)
        assert answer.error["data"] == {"requiredCapabilities": {"elicitation": {}}}
    else:
        assert answer.is_error
        assert "confirmation" in answer.text
    assert refund.runs == 0


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("answer", [YES, NO], ids=["yes", "no"])
def test_an_older_client_agrees_on_the_calls_own_stream(
    make_token: MakeToken, serve: Any, lanes: None, counted: Counted, kind: str, answer: Any
) -> None:
    async def later(order: str) -> str:
        counted.runs += 1
        return f"refunded {order}"

    def now(order: str) -> str:
        counted.runs += 1
        return f"refunded {order}"

    name = serve(now if kind == "sync" else later, confirm="Refund {order}?", timeout=0.2)
    client = MCPClient(make_token(), version="2025-11-25", server=server, capabilities=ABLE)
    client.initialize()

    async def scenario() -> Any:
        application = wire.endpoint_application()
        params = {"name": name, "arguments": {"order": "7"}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        line = wire.send(application, client, call)
        await line.until(lambda: line.events)
        asked = line.events[0]
        assert asked["params"]["message"] == "Refund 7?"
        assert counted.runs == 0
        told = {"jsonrpc": "2.0", "id": asked["id"], "result": answer}
        await wire.send(application, client, told).end()
        await line.end()
        return line.events[-1]["result"]

    result = async_to_sync(scenario)()
    assert bool(result.get("isError")) is (answer is NO)
    assert counted.runs == (answer is YES)
    event = CallEvent.objects.get(tool=name)
    assert event.decision == "confirm"


@pytest.mark.parametrize(
    "text", ["", "{other}", "{order.pk}", "{order!r}", "{order:>9}", "{", "{0}"], ids=repr
)
def test_a_question_names_whole_arguments_alone(text: str) -> None:
    broken = MCPServer("broken")

    @broken.tool(confirm=text)
    def refund(order: str) -> str:
        """Refund."""
        return order

    assert "refund" not in broken.tools
    assert [problem.id for problem in broken.problems] == ["E078"]


# --- before a call -------------------------------------------------------------------------------


def test_hooks_are_asked_in_order_with_what_was_validated(
    make_client: MakeClient, settings: Any
) -> None:
    seen: list[Any] = []

    def first(ctx: Context, tool: Any, arguments: Any) -> None:
        seen.append((ctx.user.username, tool.name, dict(arguments)))

    def second(ctx: Context, tool: Any, arguments: Any) -> Any:
        seen.append("second")
        return allow()

    hook(settings, "BEFORE_CALL", first, second)
    assert make_client().call("add", {"a": 1}).structured == {"total": 2}
    assert seen == [("ada", "add", {"a": 1, "b": 1}), "second"]


def test_the_first_hook_that_denies_decides(make_client: MakeClient, settings: Any) -> None:
    asked: list[str] = []

    def refuse(ctx: Context, tool: Any, arguments: Any) -> Any:
        return deny("Not on a Sunday.")

    def never(ctx: Context, tool: Any, arguments: Any) -> None:
        asked.append(tool.name)

    hook(settings, "BEFORE_CALL", refuse, never)
    told = make_client().call("add", {"a": 1})
    assert (told.is_error, told.text) == (True, "Not on a Sunday.")
    assert asked == []
    event = CallEvent.objects.get()
    assert (event.outcome, event.decision) == ("denied", "deny")
    assert event.error_text == "Not on a Sunday."


def test_a_denial_may_look_like_a_result(make_client: MakeClient, settings: Any) -> None:
    hook(settings, "BEFORE_CALL", lambda ctx, tool, arguments: deny("no", result="nothing found"))
    told = make_client().call("echo", {"text": "a"})
    assert (told.is_error, told.text) == (False, "nothing found")
    assert CallEvent.objects.get().outcome == "denied"


@pytest.mark.parametrize("broken", ["raises", "nonsense"])
def test_a_hook_that_breaks_denies_and_says_nothing_internal(
    make_client: MakeClient, settings: Any, counted: Counted, broken: str
) -> None:
    def fail(ctx: Context, tool: Any, arguments: Any) -> Any:
        if broken == "raises":
            raise RuntimeError("secret of the hook")
        return True

    hook(settings, "BEFORE_CALL", fail)
    told = make_client().call(counted.name)
    assert told.is_error
    assert "secret" not in told.text
    assert counted.runs == 0
    assert CallEvent.objects.get().outcome == "denied"


def test_a_hook_may_ask_a_person_or_answer_instead(
    make_client: MakeClient, settings: Any, counted: Counted
) -> None:
    hook(settings, "BEFORE_CALL", lambda c, t, a: confirm("Really?", fallback="kept for later"))
    asked = make_client(MODERN, capabilities=ABLE).call(counted.name).result
    assert asked["inputRequests"][CONFIRMATION]["params"]["message"] == "Really?"
    told = make_client(MODERN, capabilities={}).call(counted.name)
    assert (told.is_error, told.text) == (False, "kept for later")
    assert counted.runs == 0
    event = CallEvent.objects.latest("pk")
    assert (event.outcome, event.decision) == ("denied", "confirm")


# --- which tools are shown -----------------------------------------------------------------------


def test_what_a_hook_leaves_out_is_neither_listed_nor_callable(
    make_client: MakeClient, version: str, settings: Any
) -> None:
    def no_echo(ctx: Context, tools: Sequence[Any]) -> list[Any]:
        return [tool for tool in reversed(tools) if tool.name != "echo" or ctx.user.is_staff]

    hook(settings, "LIST_TOOLS", no_echo)
    client = ready(make_client(version))
    listed = [tool["name"] for tool in client.tools()]
    assert "echo" not in listed
    assert "add" in listed
    assert listed == sorted(listed)
    hidden, absent = client.call("echo", {"text": "a"}), client.call("nowhere")
    assert (hidden.status, hidden.error["code"]) == (absent.status, absent.error["code"])
    assert hidden.error["message"] == "Unknown tool: echo"
    assert client.call("add", {"a": 1}).status == 200


def test_a_hook_that_breaks_shows_nothing(make_client: MakeClient, settings: Any) -> None:
    def fail(ctx: Context, tools: Sequence[Any]) -> Any:
        raise RuntimeError("broken")

    hook(settings, "LIST_TOOLS", fail)
    client = make_client()
    assert client.tools() == []
    assert client.call("add", {"a": 1}).error["code"] == -32602


def test_a_hook_adds_nothing(make_client: MakeClient, settings: Any) -> None:
    hook(settings, "LIST_TOOLS", lambda ctx, tools: [*tools, *server.tools.values()])
    assert "staff_only" not in [tool["name"] for tool in make_client().tools()]


def test_a_list_is_asked_about_at_once(make_client: MakeClient, settings: Any) -> None:
    asked: list[int] = []

    def count(ctx: Context, tools: Sequence[Any]) -> Sequence[Any]:
        asked.append(len(tools))
        return tools

    hook(settings, "LIST_TOOLS", count)
    listed = len(make_client().tools())
    assert len(asked) == 1
    assert asked[0] >= listed


# --- what a caller is told of the server ---------------------------------------------------------


def introduction_of(client: MCPClient) -> tuple[Any, Any]:
    """The server's info and instructions, as a client's first request has them."""
    if client.version.name == MODERN:
        result = client.request("server/discover").result
        return result["_meta"][SERVER_KEY], result.get("instructions")
    result = client.initialize().result
    return result["serverInfo"], result.get("instructions")


def test_a_hook_introduces_the_server_to_each_caller(
    make_client: MakeClient, make_token: MakeToken, staff: Any, version: str, settings: Any
) -> None:
    def introduce(ctx: Context) -> dict[str, Any]:
        name = ctx.user.username
        return {"name": f"for-{name}", "instructions": f"You act as {name}."}

    hook(settings, "SERVER_INFO", introduce, lambda ctx: {"version": "9"})
    info, instructions = introduction_of(make_client(version))
    assert (info["name"], info["version"], instructions) == ("for-ada", "9", "You act as ada.")
    other, _ = introduction_of(make_client(version, make_token(staff)))
    assert other["name"] == f"for-{staff.username}"


def test_an_introduction_that_breaks_says_the_usual(
    make_client: MakeClient, version: str, settings: Any
) -> None:
    usual = introduction_of(make_client(version))

    def fail(ctx: Context) -> Any:
        raise RuntimeError("broken")

    hook(settings, "SERVER_INFO", fail)
    assert introduction_of(make_client(version)) == usual
