"""What an administrator turns off is refused by the next request, hidden, and recorded."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from mcp_app.access.switches import lift, switch_for, turn
from mcp_app.models import CallEvent, Switch
from mcp_app.testing import Answer, MCPClient
from tests.interaction.conftest import Counted, MakeClient, ready
from tests.interaction.refusals import unreadable_switches
from tests.interaction.tools import server
from tests.interaction.wire import PATIENCE

Serve = Callable[..., str]


def switch(kind: str = "off", tool: str = "", **options: Any) -> Switch:
    """Set one."""
    noun = "tool" if tool else ""
    made = switch_for(
        kind, server.name, noun=noun, name=tool, reason="Broken since noon.", **options
    )
    return turn(made)


def names(client: MCPClient) -> list[str]:
    return [tool["name"] for tool in client.tools()]


def adds(client: MCPClient) -> bool:
    """Whether the tool runs."""
    return "result" in client.call("add", {"a": 1}).response


@pytest.fixture
def client(make_client: MakeClient, version: str) -> MCPClient:
    return ready(make_client(version))


def test_a_tool_that_is_off_is_neither_listed_nor_run(client: MCPClient) -> None:
    assert "add" in names(client)
    off = switch(tool="add")
    assert "add" not in names(client)
    answer = client.call("add", {"a": 1})
    assert (answer.status, answer.error["code"]) == (200, 503)
    assert answer.error["message"] == "This tool is switched off: Broken since noon."
    event = CallEvent.objects.latest("pk")
    assert (event.outcome, event.decision, event.error_class, event.tool) == (
        "denied",
        "deny",
        "SwitchedOff",
        "add",
    )
    assert client.call("echo", {"text": "a"}).text == "a"
    lift(off)
    assert "add" in names(client)
    assert adds(client)


def test_who_may_not_see_a_tool_does_not_hear_that_it_is_off(client: MCPClient) -> None:
    switch(tool="staff_only")
    assert client.call("staff_only").error["message"] == "Unknown tool: staff_only"


def test_a_read_only_server_runs_what_only_reads(client: MCPClient) -> None:
    switch("read_only")
    left = client.tools()
    assert left
    writes = [tool.name for tool in server.tools.values() if not tool.read_only]
    assert writes
    assert not set(writes) & {tool["name"] for tool in left}
    answer = client.call("make_user", {"username": "eve"})
    assert "read-only" in answer.error["message"]
    assert not get_user_model().objects.filter(username="eve").exists()
    assert adds(client)


def test_maintenance_refuses_everything_in_words(client: MCPClient) -> None:
    switch("maintenance", until=timezone.now() + timedelta(minutes=5))
    asked = [client.request("tools/list"), client.call("echo", {"text": "a"})]
    asked += [client.request("prompts/list"), client.request("resources/list")]
    for answer in asked:
        assert answer.error["message"] == "The server is in maintenance: Broken since noon."
        assert 295 <= answer.error["data"]["retryAfterSeconds"] <= 300
    assert CallEvent.objects.filter(error_class="SwitchedOff", decision="deny").exists()


def test_a_switch_ends_at_its_end_and_not_after(client: MCPClient) -> None:
    off = switch(tool="add", until=timezone.now() + timedelta(minutes=5))
    assert not adds(client)
    Switch.objects.filter(pk=off.pk).update(until=timezone.now())
    assert adds(client)


@pytest.mark.django_db
def test_the_moment_of_the_end_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    end = timezone.now() + timedelta(minutes=5)
    off = switch(tool="add", until=end)
    monkeypatch.setattr("django.utils.timezone.now", lambda: end)
    assert not Switch.objects.in_force().exists()
    assert not off.is_in_force
    monkeypatch.setattr("django.utils.timezone.now", lambda: end - timedelta(microseconds=1))
    assert Switch.objects.in_force().get() == off


def test_a_resource_and_a_prompt_can_be_off(client: MCPClient) -> None:
    uri, prompt = client.resources()[0]["uri"], client.prompts()[0]["name"]
    for noun, name in (("resource", uri), ("prompt", prompt)):
        turn(switch_for("off", server.name, noun=noun, name=name, reason="Moved."))
    assert uri not in [one["uri"] for one in client.resources()]
    assert prompt not in [one["name"] for one in client.prompts()]
    assert client.read(uri).error["message"] == "This resource is switched off: Moved."
    assert client.prompt(prompt).error["message"] == "This prompt is switched off: Moved."
    ref = {"type": "ref/prompt", "name": prompt}
    argument = {"name": "x", "value": ""}
    told = client.request("completion/complete", {"ref": ref, "argument": argument})
    if client.version.completions:
        assert told.error["message"] == "This prompt is switched off: Moved."


def test_another_server_s_switch_is_none_of_ours(client: MCPClient) -> None:
    Switch.objects.create(kind="maintenance", server="elsewhere", reason="Theirs.")
    Switch.objects.create(kind="off", server=server.name, noun="tool", name="gone", reason="Was.")
    assert adds(client)


@pytest.mark.django_db
def test_setting_it_again_replaces_it() -> None:
    first, second = switch(tool="add"), switch(tool="add")
    assert list(Switch.objects.in_force()) == [second]
    first.refresh_from_db()
    assert first.lifted_at is not None


def test_a_call_reads_the_switches_once(
    make_client: MakeClient,
) -> None:
    client = make_client()
    with CaptureQueriesContext(connection) as asked:
        client.call("add", {"a": 1})
    assert sum("mcp_app_switch" in query["sql"] for query in asked) == 1


# --- while it runs, and when nobody can tell -----------------------------------------------------


class Holding:
    """A tool that has begun, and ends when it is let go."""

    def __init__(self) -> None:
        self.begun, self._ended = threading.Event(), Future[str]()

    def hold(self) -> str:
        """Wait to be let go."""
        self.begun.set()
        return self._ended.result(PATIENCE)

    async def ahold(self) -> str:
        """Wait to be let go, without a thread."""
        self.begun.set()
        return await asyncio.wrap_future(self._ended)

    def let_go(self) -> None:
        """Have it end."""
        self._ended.set_result("done")


@pytest.mark.parametrize("kind", ["off", "read_only", "maintenance"])
@pytest.mark.parametrize("name", ["hold", "ahold"])
def test_what_runs_when_a_switch_is_set_completes_and_the_next_call_is_refused(
    kind: str, name: str, make_client: MakeClient, serve: Serve, lanes: None
) -> None:
    holding = Holding()
    serve(getattr(holding, name), name="hold")
    client, answers = make_client(), list[Answer]()

    def call() -> None:
        answers.append(client.call("hold"))
        connection.close()

    thread = threading.Thread(target=call)
    thread.start()
    assert holding.begun.wait(PATIENCE)
    switch(kind, "hold" if kind == "off" else "")
    refused = make_client(token=client.token).call("hold")
    holding.let_go()
    thread.join(PATIENCE)
    assert [answer.text for answer in answers] == ["done"]
    assert refused.error["code"] == 503
    assert "Broken since noon." in refused.error["message"]
    rows = CallEvent.objects.filter(tool="hold").order_by("pk")
    told = list(rows.values_list("outcome", "error_class"))
    assert told == [("ok", ""), ("denied", "SwitchedOff")]


def test_where_switches_cannot_be_read_nothing_runs(
    client: MCPClient, counted: Counted, caplog: pytest.LogCaptureFixture
) -> None:
    uri, prompt = client.resources()[0]["uri"], client.prompts()[0]["name"]
    with unreadable_switches():
        answers = [
            client.call(counted.name),
            client.call("staff_only"),
            client.call("no_such_tool"),
            client.read(uri),
            client.prompt(prompt),
            *(client.request(f"{kind}/list") for kind in ("tools", "prompts", "resources")),
        ]
    for answer in answers:
        assert (answer.status, answer.error["code"]) == (503, 503)
        assert answer.error["message"] == (
            "The server cannot tell what is switched off now. Try again soon."
        )
        assert answer.headers["retry-after"] == "5"
        assert b"hunter2" not in answer.body
    assert counted.runs == 0
    said = [record.getMessage() for record in caplog.records if record.name == "mcp_app.access"]
    assert said == ["Switches cannot be read: OperationalError"]
    refused = CallEvent.objects.filter(error_class="SwitchesUnavailable")
    assert set(refused.values_list("outcome", flat=True)) == {"denied"}
    assert refused.count() == len(answers)
    # And as soon as they can be read, all is as it was.
    assert client.call(counted.name).status == 200


def test_explain_says_that_they_cannot_be_read(user: Any) -> None:
    told = StringIO()
    with unreadable_switches(), pytest.raises(CommandError):
        call_command("mcp_explain", "list_rooms", "--user", user.get_username(), stdout=told)
    assert told.getvalue().count("cannot tell what is switched off") == 2
