"""Streams that stay open: subscriptions and a session's own stream (D-002, D-103)."""

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test.utils import override_settings
from django.utils import timezone

from mcp_app import Context
from mcp_app.access.switches import switch_for, turn
from mcp_app.auth.tokens import end_secret, revoke, rotate
from mcp_app.models import Session, Token, TokenSecret
from mcp_app.notify import resource_updated
from mcp_app.protocol.envelope import SERVER_KEY, SUBSCRIPTION_KEY
from mcp_app.testing import MCPClient
from mcp_app.transports.bus import bus
from mcp_app.transports.live import user_topic
from mcp_app.transports.watch import CREDENTIALS_TOPIC, watch
from tests.interaction import wire
from tests.interaction.conftest import MODERN, MakeToken, Serve
from tests.interaction.tools import server

pytestmark = pytest.mark.django_db(transaction=True)

APPLICATIONS = [wire.endpoint_application, wire.django_application]
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


@pytest.fixture(params=APPLICATIONS, ids=["asgi", "django"])
def application(request: pytest.FixtureRequest) -> Any:
    """The two ways in that stream."""
    return request.param()


@pytest.fixture
def modern(make_token: MakeToken, lanes: None) -> MCPClient:
    """A modern client."""
    return MCPClient(make_token(), version=MODERN, server=server)


@pytest.fixture
def legacy(make_token: MakeToken, lanes: None) -> MCPClient:
    """A client whose session is open."""
    client = MCPClient(make_token(), version="2025-11-25", server=server)
    client.initialize()
    return client


def listen(application: Any, client: MCPClient, request_id: Any = 7, **wanted: Any) -> wire.Line:
    """Begin a subscription."""
    params = client.params({"notifications": wanted})
    message = {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": "subscriptions/listen",
        "params": params,
    }
    return wire.send(application, client, message)


def methods(line: wire.Line) -> list[str]:
    """The methods of the notifications that have arrived."""
    return [event["method"] for event in line.events if "method" in event]


def test_the_acknowledgement_comes_first_and_holds_what_is_honoured(
    application: Any, modern: MCPClient
) -> None:
    async def scenario() -> wire.Line:
        line = listen(application, modern, toolsListChanged=True, surprise=True)
        await line.until(lambda: line.events)
        await line.hang_up()
        return line

    line = async_to_sync(scenario)()
    assert line.status == 200
    first = line.events[0]
    assert first["method"] == ACKNOWLEDGED
    assert first["params"]["notifications"] == {"toolsListChanged": True}
    assert first["params"]["_meta"] == {SUBSCRIPTION_KEY: 7}


def test_a_subscription_watches_so_many_resources_and_none_of_a_name_without_end(
    application: Any, modern: MCPClient
) -> None:
    longest = "orders://" + "1" * (2048 - len("orders://"))

    async def scenario(*uris: str) -> wire.Line:
        line = listen(application, modern, resourceSubscriptions=list(uris))
        await line.until(lambda: line.events)
        await line.hang_up()
        return line

    many = [f"orders://{number}" for number in range(1001)]
    assert async_to_sync(scenario)(*many).events[0]["error"]["code"] == -32602
    told = async_to_sync(scenario)(*many[:998], longest, longest + "1").events[0]
    assert told["params"]["notifications"]["resourceSubscriptions"] == sorted(
        [*many[:998], longest]
    )


def test_a_session_does_neither(legacy: MCPClient) -> None:
    longest = "orders://" + "1" * (2048 - len("orders://"))
    assert legacy.request("resources/subscribe", {"uri": longest}).result == {}
    refused = legacy.request("resources/subscribe", {"uri": longest + "1"})
    assert refused.error["code"] == -32002
    Session.objects.update(subscriptions=[f"orders://{number}" for number in range(1000)])
    refused = legacy.request("resources/subscribe", {"uri": "orders://recent"})
    assert refused.error["code"] == -32602


def test_a_subscription_hears_of_its_own_list_alone(
    application: Any, modern: MCPClient, user: Any
) -> None:
    async def scenario() -> tuple[wire.Line, wire.Line]:
        prompts = listen(application, modern, "p", promptsListChanged=True)
        tools = listen(application, modern, "t", toolsListChanged=True)
        await prompts.until(lambda: prompts.events)
        await tools.until(lambda: tools.events)
        user.is_staff = True
        await sync_to_async(user.save)()
        await tools.until(lambda: len(tools.events) == 2)
        await prompts.hang_up()
        await tools.hang_up()
        return prompts, tools

    prompts, tools = async_to_sync(scenario)()
    assert methods(tools) == [ACKNOWLEDGED, "notifications/tools/list_changed"]
    assert tools.events[1]["params"]["_meta"] == {SUBSCRIPTION_KEY: "t"}
    assert "notifications/tools/list_changed" not in methods(prompts)


def test_a_subscription_that_can_hear_nothing_ends_with_its_result(
    application: Any, modern: MCPClient
) -> None:
    async def scenario() -> wire.Line:
        line = listen(application, modern)
        await line.end()
        return line

    acknowledged, ended = async_to_sync(scenario)().events
    assert acknowledged["params"]["notifications"] == {}
    assert ended["id"] == 7
    assert ended["result"]["resultType"] == "complete"
    assert ended["result"]["_meta"][SUBSCRIPTION_KEY] == 7


def test_the_result_of_a_subscription_names_the_server_as_hooks_do(
    application: Any, modern: MCPClient, settings: Any
) -> None:
    def introduce(ctx: Context) -> dict[str, str]:
        # It may ask the database, which no event loop lets it do.
        return {"name": f"for-{get_user_model().objects.get(pk=ctx.user.pk).username}"}

    settings.MCP_APP = {**settings.MCP_APP, "SERVER_INFO": [introduce]}

    async def scenario() -> wire.Line:
        line = listen(application, modern)
        await line.end()
        return line

    ended = async_to_sync(scenario)().events[-1]
    assert ended["result"]["_meta"][SERVER_KEY]["name"] == "for-ada"


def test_streams_end_gracefully_when_the_process_is_to_stop(
    application: Any, modern: MCPClient
) -> None:
    async def scenario() -> wire.Line:
        line = listen(application, modern, toolsListChanged=True)
        await line.until(lambda: line.events)
        watch.end_all()
        await line.end()
        return line

    assert async_to_sync(scenario)().events[-1]["result"]["resultType"] == "complete"


def test_what_nobody_tells_of_ends_a_stream_within_a_keep_alive(
    application: Any, modern: MCPClient, settings: Any
) -> None:
    async def scenario() -> None:
        line = listen(application, modern, toolsListChanged=True)
        await line.until(lambda: line.events)
        await Token.objects.aupdate(revoked_at=timezone.now())
        await line.end()

    with override_settings(MCP_APP={**settings.MCP_APP, "KEEP_ALIVE": 0.2}):
        async_to_sync(scenario)()


def revoke_it(token: Token) -> None:
    revoke(token)


def rotate_without_grace(token: Token) -> None:
    rotate(token, grace=timedelta(0))


def end_its_secret(token: Token) -> None:
    end_secret(token, token.secrets.get().lookup)


def deactivate(token: Token) -> None:
    token.user.is_active = False
    token.user.save()


def delete_user(token: Token) -> None:
    token.user.delete()


def delete_token(token: Token) -> None:
    token.delete()


def let_expire(token: Token) -> None:
    token.expires_at = timezone.now()
    token.save()


OFF_SWITCHES = [
    *[revoke_it, rotate_without_grace, end_its_secret, deactivate],
    *[delete_user, delete_token, let_expire],
]


@pytest.mark.parametrize("switch", OFF_SWITCHES)
def test_each_off_switch_ends_the_streams_of_its_credential_at_once(
    application: Any, modern: MCPClient, make_token: MakeToken, staff: Any, switch: Any
) -> None:
    """The keep-alive is far longer than the test has patience."""
    other = MCPClient(make_token(staff), version=MODERN, server=server)

    async def scenario() -> None:
        line = listen(application, modern, toolsListChanged=True)
        going = listen(application, other, toolsListChanged=True)
        await line.until(lambda: line.events)
        await going.until(lambda: going.events)
        await sync_to_async(lambda: switch(Token.objects.get(user__username="ada")))()
        await line.end()
        assert not going.task.done()
        await going.hang_up()

    async_to_sync(scenario)()


@pytest.mark.parametrize("switch", [revoke_it, deactivate])
def test_a_sessions_own_stream_ends_at_once_too(
    application: Any, legacy: MCPClient, switch: Any
) -> None:
    async def scenario() -> None:
        line = wire.send(application, legacy, None, method="GET")
        await line.until(lambda: line.text)
        await sync_to_async(lambda: switch(Token.objects.get()))()
        await line.end()

    async_to_sync(scenario)()


def test_a_running_call_is_stopped_when_its_token_is_revoked(
    application: Any, modern: MCPClient, serve: Serve
) -> None:
    stopped = threading.Event()

    async def wait_for_nothing(ctx: Context) -> None:
        ctx.report_progress(1)
        try:
            await asyncio.sleep(wire.PATIENCE)
        except asyncio.CancelledError:
            stopped.set()
            raise

    name = serve(wait_for_nothing)

    async def scenario() -> wire.Line:
        line = wire.call(application, modern, name)
        await line.until(lambda: line.events)
        await sync_to_async(lambda: revoke(Token.objects.get()))()
        await line.end()
        return line

    line = async_to_sync(scenario)()
    assert [event["method"] for event in line.events] == ["notifications/progress"]
    assert stopped.is_set()


@pytest.mark.parametrize("clock", ["expiry", "grace"])
def test_a_stream_ends_when_its_secret_does(
    application: Any, modern: MCPClient, clock: str
) -> None:
    soon = timezone.now() + timedelta(seconds=1)
    if clock == "expiry":
        Token.objects.update(expires_at=soon)
    else:
        TokenSecret.objects.update(valid_until=soon)

    async def scenario() -> None:
        line = listen(application, modern, toolsListChanged=True)
        await line.until(lambda: line.events)
        await line.end()

    async_to_sync(scenario)()
    assert soon <= timezone.now()


def rotate_with_a_second(token: Token) -> None:
    rotate(token, grace=timedelta(seconds=1))


def let_expire_in_a_second(token: Token) -> None:
    token.expires_at = timezone.now() + timedelta(seconds=1)
    token.save()


@pytest.mark.parametrize("act", [rotate_with_a_second, let_expire_in_a_second])
def test_a_stream_that_is_open_learns_of_a_nearer_end(
    application: Any, modern: MCPClient, act: Callable[[Token], None]
) -> None:
    """The keep-alive is far longer than the test has patience."""

    async def scenario() -> None:
        line = listen(application, modern, toolsListChanged=True)
        await line.until(lambda: line.events)
        await sync_to_async(lambda: act(Token.objects.get()))()
        began = timezone.now()
        await line.end()
        assert timedelta(seconds=0.5) < timezone.now() - began < timedelta(seconds=3)

    async_to_sync(scenario)()


def test_a_rotation_with_a_grace_leaves_a_stream_open(application: Any, modern: MCPClient) -> None:
    async def scenario() -> None:
        line = listen(application, modern, toolsListChanged=True)
        await line.until(lambda: line.events)
        token = await Token.objects.aget()
        await sync_to_async(lambda: rotate(token, grace=timedelta(hours=1)))()
        await sync_to_async(token.save)()
        resource = next(iter(server.resources))
        await sync_to_async(resource_updated)(resource)
        assert not line.task.done()
        await line.hang_up()

    async_to_sync(scenario)()


def test_a_login_is_told_to_nobody(user: Any) -> None:
    heard: list[Any] = []
    told = lambda topic, message: heard.append(topic)  # noqa: E731 - a listener of one line
    with bus.subscribe(CREDENTIALS_TOPIC, user_topic(user.pk), listener=told):
        user.save(update_fields=["last_login"])
        assert heard == []
        user.save(update_fields=["is_active"])
        assert sorted(heard) == sorted([CREDENTIALS_TOPIC, user_topic(user.pk)])


def test_one_user_holds_no_more_streams_than_the_setting_says(
    application: Any, modern: MCPClient, settings: Any
) -> None:
    async def scenario() -> wire.Line:
        first = listen(application, modern, 1, toolsListChanged=True)
        await first.until(lambda: first.events)
        second = listen(application, modern, 2, toolsListChanged=True)
        await second.end()
        await first.hang_up()
        return second

    with override_settings(MCP_APP={**settings.MCP_APP, "STREAM_LIMIT": 1}):
        refused = async_to_sync(scenario)()
    assert refused.status == 429
    assert refused.events[0]["id"] == 2


def test_a_quiet_stream_shows_that_it_lives(
    application: Any, modern: MCPClient, settings: Any
) -> None:
    async def scenario() -> None:
        line = listen(application, modern, toolsListChanged=True)
        await line.until(lambda: line.text.count(":\n\n") >= 2)
        await line.hang_up()

    with override_settings(MCP_APP={**settings.MCP_APP, "KEEP_ALIVE": 0.1}):
        async_to_sync(scenario)()


def test_nothing_is_listened_to_where_nothing_streams(modern: MCPClient) -> None:
    answer = modern.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    assert (answer.status, answer.error["code"]) == (404, -32601)
    offered = modern.request("server/discover").result["capabilities"]
    assert offered["tools"] == {}


def test_a_session_hears_of_its_lists_and_of_what_it_subscribed_to(
    application: Any, legacy: MCPClient, user: Any
) -> None:
    uri, other = list(server.resources)[:2]
    subscribe = sync_to_async(legacy.request)

    async def scenario() -> wire.Line:
        line = wire.send(application, legacy, None, method="GET")
        await line.until(lambda: line.text)
        for method, asked in (("subscribe", other), ("subscribe", uri), ("unsubscribe", other)):
            answer = await subscribe(f"resources/{method}", {"uri": asked})
            assert answer.result == {}
        await sync_to_async(resource_updated)(other)
        user.is_staff = True
        await sync_to_async(user.save)()
        await line.until(lambda: "notifications/tools/list_changed" in methods(line))
        await sync_to_async(resource_updated)(uri)
        await line.until(lambda: "notifications/resources/updated" in methods(line))
        await sync_to_async(legacy.end_session)()
        await line.end()
        return line

    line = async_to_sync(scenario)()
    assert line.events[-1]["params"] == {"uri": uri}
    assert SUBSCRIPTION_KEY not in line.text


def test_a_change_is_heard_under_the_uri_as_it_was_subscribed_to(
    application: Any, modern: MCPClient
) -> None:
    wanted = ["files:///a%2Fb", "files:///A"]

    async def scenario() -> wire.Line:
        line = listen(application, modern, resourceSubscriptions=wanted)
        await line.until(lambda: line.events)
        for uri in ("files:///a%2fb", "files:///a/b", "files:///%41", *wanted):
            await sync_to_async(resource_updated)(uri)
        await line.until(lambda: len(line.events) == 1 + len(wanted))
        await line.hang_up()
        return line

    events = async_to_sync(scenario)().events[1:]
    assert [event["params"]["uri"] for event in events] == wanted


def lose_the_staff_flag() -> None:
    get_user_model().objects.update(is_staff=False)


def lose_the_limits() -> None:
    Token.objects.update(tools=[])


@pytest.mark.parametrize("lose", [lose_the_staff_flag, lose_the_limits])
@pytest.mark.parametrize("version", [MODERN, "2025-11-25"])
def test_who_may_not_read_a_resource_any_more_hears_no_more_of_it(
    application: Any,
    staff: Any,
    make_token: MakeToken,
    lanes: None,
    version: str,
    lose: Callable[[], None],
) -> None:
    """By a change that no signal tells of."""
    client = MCPClient(make_token(staff), version=version, server=server)
    hidden, told = "staff://secret", "notifications/resources/updated"

    def updates(line: wire.Line) -> list[str]:
        return [event["params"]["uri"] for event in line.events if event.get("method") == told]

    async def scenario() -> wire.Line:
        if version == MODERN:
            line = listen(
                application, client, resourceSubscriptions=[hidden], toolsListChanged=True
            )
        else:
            await sync_to_async(client.initialize)()
            line = wire.send(application, client, None, method="GET")
        await line.until(lambda: line.text)
        if version != MODERN:
            subscribed = await sync_to_async(client.request)("resources/subscribe", {"uri": hidden})
            assert subscribed.result == {}
        await sync_to_async(resource_updated)(hidden)
        await line.until(lambda: updates(line) == [hidden])
        await sync_to_async(lose)()
        await sync_to_async(resource_updated)(hidden)
        # What is told after it has come, and it has not.
        bus.publish(user_topic(staff.pk), {})
        await line.until(lambda: "notifications/tools/list_changed" in methods(line))
        await line.hang_up()
        return line

    line = async_to_sync(scenario)()
    assert updates(line) == [hidden]


def test_a_newer_stream_of_a_session_ends_the_older(application: Any, legacy: MCPClient) -> None:
    async def scenario() -> None:
        older = wire.send(application, legacy, None, method="GET")
        await older.until(lambda: older.text)
        newer = wire.send(application, legacy, None, method="GET")
        await older.end()
        await newer.until(lambda: newer.text)
        assert not newer.task.done()
        await newer.hang_up()

    async_to_sync(scenario)()


def test_a_get_of_nobodys_session_is_refused(legacy: MCPClient, application: Any) -> None:
    async def scenario(session_id: str | None) -> int:
        legacy.session_id = session_id
        line = wire.send(application, legacy, None, method="GET")
        await line.end()
        return line.status

    assert async_to_sync(scenario)("nobody") == 404
    assert async_to_sync(scenario)(None) == 405


def test_a_switch_that_ends_by_itself_changes_the_list_for_streams(
    application: Any, modern: MCPClient
) -> None:
    changed = "notifications/tools/list_changed"

    def add_is_off() -> None:
        end = timezone.now() + timedelta(seconds=1)
        off = switch_for("off", server.name, noun="tool", name="add", reason="Soon.", until=end)
        turn(off)

    async def scenario() -> wire.Line:
        line = listen(application, modern, toolsListChanged=True)
        await line.until(lambda: line.events)
        await sync_to_async(add_is_off)()
        await line.until(lambda: methods(line).count(changed) == 1)
        await line.until(lambda: methods(line).count(changed) == 2)
        await line.hang_up()
        return line

    with override_settings(MCP_APP={**settings.MCP_APP, "KEEP_ALIVE": 0.2}):
        line = async_to_sync(scenario)()
    assert methods(line) == [ACKNOWLEDGED, changed, changed]
    assert "result" in modern.call("add", {"a": 1}).response
