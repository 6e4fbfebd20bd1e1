"""Stopping a running call from the admin: through every door, and honest where nobody runs it."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection, connections
from django.test import Client
from django.urls import include, path
from rest_framework.permissions import IsAuthenticated

from mcp_app import Context, MCPServer
from mcp_app.auth.tokens import issue
from mcp_app.dispatch.context import Cancellation
from mcp_app.models import CallEvent
from mcp_app.testing import DOORS, Answer, Door, MCPClient
from mcp_app.transports.stopping import stoppable
from mcp_app.urls import endpoint
from project.urls import urlpatterns as of_the_project
from tests.admin.pages import url as page_url

server = MCPServer("stopped")
begun = threading.Event()
PATIENCE = 10.0

pytestmark = pytest.mark.django_db(transaction=True)
urlpatterns = [each for each in of_the_project if "mcp" not in str(each.pattern)]
urlpatterns += [path("mcp", include(endpoint(server)))]


@server.tool(permission_classes=[IsAuthenticated], timeout=PATIENCE)
def look(ctx: Context) -> str:
    """Go on until it is told to stop."""
    begun.set()
    while True:
        ctx.check_cancelled()
        time.sleep(0.01)


@server.tool(permission_classes=[IsAuthenticated], timeout=PATIENCE)
async def wait() -> str:
    """Wait until it is told to stop."""
    begun.set()
    await asyncio.sleep(PATIENCE)
    return "late"


def url(page: str, *args: Any) -> str:
    return page_url(page, *args, model="callevent")


@pytest.fixture(autouse=True)
def mounted(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ROOT_URLCONF = __name__
    settings.MCP_APP = {**settings.MCP_APP, "WORKERS": 4}
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 0)
    begun.clear()


@pytest.fixture
def calling() -> Iterator[Callable[[MCPClient, str], "Future[Answer]"]]:
    """Call a tool in a thread, and come back once it runs."""

    def called(client: MCPClient, tool: str) -> Answer:
        try:
            return client.call(tool)
        finally:
            connections.close_all()

    with ThreadPoolExecutor() as threads:

        def call(client: MCPClient, tool: str) -> "Future[Answer]":
            future = threads.submit(called, client, tool)
            assert begun.wait(PATIENCE)
            return future

        yield call


@pytest.fixture(params=DOORS)
def client(request: pytest.FixtureRequest, ana: Any) -> MCPClient:
    secret = issue(user=ana, name="laptop")[1].reveal()
    return MCPClient(secret, door=request.param, server=server)


@pytest.fixture
def alone(ana: Any) -> MCPClient:
    """A client at one door: what is tested is the page."""
    door: Door = DOORS[0]
    return MCPClient(issue(user=ana, name="laptop")[1].reveal(), door=door, server=server)


def started() -> CallEvent:
    return CallEvent.objects.get(outcome="started")


@pytest.mark.parametrize("tool", ["look", "wait"])
def test_a_call_is_stopped_answered_and_says_by_whom(
    boss_client: Client, client: MCPClient, calling: Any, tool: str
) -> None:
    answer = calling(client, tool)
    event = started()
    story = boss_client.get(url("change", event.pk)).content.decode()
    assert f'href="{url("stop", event.pk)}"' in story
    asked = boss_client.get(url("stop", event.pk))
    assert asked.status_code == 200
    assert "Process" in asked.content.decode()
    assert 'method="post"' in asked.content.decode().partition("content-main")[2]
    response = boss_client.post(url("stop", event.pk), follow=True)
    assert "The call is stopped." in response.content.decode()
    told = answer.result(PATIENCE)
    assert told.text == "An administrator stopped the tool."
    assert told.result["isError"]
    event.refresh_from_db()
    assert (event.outcome, event.error_text) == ("cancelled", "stopped by boss")
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.get_change_message()) == (str(event.pk), "Stopped.")
    assert url("stop", event.pk) not in boss_client.get(url("change", event.pk)).content.decode()


def test_stopping_takes_its_own_permission(
    staff_client: Callable[..., Client], alone: MCPClient, calling: Any
) -> None:
    answer = calling(alone, "wait")
    event = started()
    for held in ((), ("view_callevent", "tail_callevent", "delete_callevent")):
        client = staff_client(*held)
        assert client.get(url("stop", event.pk)).status_code == 403
        assert client.post(url("stop", event.pk)).status_code == 403
    assert not answer.done()
    seen = staff_client("view_callevent", "tail_callevent")
    assert url("stop", event.pk) not in seen.get(url("change", event.pk)).content.decode()
    assert not seen.get(url("tail_rows")).json()["rows"][0]["stop_url"]
    may = staff_client("stop_callevent", "tail_callevent")
    assert may.get(url("tail_rows")).json()["rows"][0]["stop_url"] == url("stop", event.pk)
    assert may.get(url("stop", event.pk)).status_code == 200
    assert not answer.done(), "to ask stops nothing"
    assert may.post(url("stop", event.pk)).headers["Location"] == url("tail")
    answer.result(PATIENCE)


def test_a_form_of_another_site_stops_nothing(boss: Any, alone: MCPClient, calling: Any) -> None:
    answer = calling(alone, "wait")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(boss)
    assert strict.post(url("stop", started().pk)).status_code == 403
    assert not answer.done()
    trusting = Client()
    trusting.force_login(boss)
    trusting.post(url("stop", started().pk))
    answer.result(PATIENCE)


@pytest.mark.parametrize("outcome", ["started", "waiting"])
def test_a_call_that_nobody_runs_is_said_to_be_so(boss_client: Client, outcome: str) -> None:
    event = CallEvent.objects.create(outcome=outcome, tool="x", correlation_id="c" * 32)
    assert url("stop", event.pk) in boss_client.get(url("change", event.pk)).content.decode()
    for response in (
        boss_client.get(url("stop", event.pk)),
        boss_client.post(url("stop", event.pk)),
    ):
        text = response.content.decode()
        assert "Nothing was stopped: no process says that it runs this call." in text
        assert f"The row says “{event.get_outcome_display()}”" in text
        assert 'method="post"' not in text.partition("content-main")[2]
    event.refresh_from_db()
    assert event.outcome == outcome
    assert not LogEntry.objects.exists()


def test_a_call_that_has_ended_is_left_alone(boss_client: Client) -> None:
    event = CallEvent.objects.create(outcome="ok", tool="x", correlation_id="c" * 32)
    response = boss_client.post(url("stop", event.pk), follow=True)
    assert "The call has ended already: OK." in response.content.decode()
    assert not LogEntry.objects.exists()


def test_a_call_that_does_not_exist_is_said_to_be_so(boss_client: Client) -> None:
    response = boss_client.get(url("stop", 10**9), follow=True)
    assert "Perhaps it was deleted?" in response.content.decode()


def test_names_that_callers_chose_are_text(boss_client: Client) -> None:
    hostile = "<script>alert(1)</script>"
    event = CallEvent.objects.create(
        outcome="started", tool=hostile, client_name=hostile, username=hostile, correlation_id="c"
    )
    assert hostile not in boss_client.get(url("stop", event.pk)).content.decode()


def test_of_a_call_that_waits_for_a_yes_it_says_that_nothing_ran(boss_client: Client) -> None:
    event = CallEvent.objects.create(outcome="waiting", tool="x", correlation_id="c" * 32)
    inbound: Any = SimpleNamespace(record=event, cancellation=Cancellation())
    with stoppable(inbound, in_log=True):
        asked = boss_client.get(url("stop", event.pk)).content.decode()
        assert "nothing has run so far" in asked
        assert "rolled back" not in asked
        CallEvent.objects.update(outcome="started")
        assert "rolled back" in boss_client.get(url("stop", event.pk)).content.decode()
