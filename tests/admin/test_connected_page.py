"""Who is connected: open streams and live sessions, and the end of one."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.admin import AdminSite
from django.contrib.admin.models import LogEntry
from django.db import connection, connections
from django.test import Client, override_settings
from django.urls import include, path, reverse

from mcp_app.admin import SessionAdmin
from mcp_app.auth.sessions import DatabaseSessions
from mcp_app.auth.tokens import issue
from mcp_app.dispatch.context import Caller
from mcp_app.models import Session
from mcp_app.testing import MCPClient
from mcp_app.transports.inquiry import process_name
from tests.admin.pages import url as page_url
from tests.interaction import wire
from tests.interaction.tools import server

pytestmark = pytest.mark.django_db(transaction=True)

HOSTILE = "<script>alert(1)</script>"
PASTED = "mcp_" + "a" * 12 + "_" + "b" * 39


def url(page: str, *args: Any) -> str:
    return page_url(page, *args, model="session")


def end_of(line: Any) -> str:
    return f"{url('end_stream')}?process={line.process}&stream={line.name}"


@pytest.fixture(autouse=True)
def lanes(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads as in production: streams idle on the test's loop."""
    settings.MCP_APP = {**settings.MCP_APP, "WORKERS": 4}
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 0)


@pytest.fixture
def modern(ana: Any) -> MCPClient:
    secret = issue(user=ana, name="laptop")[1].reveal()
    client = {"name": f"{HOSTILE} {PASTED}", "version": "1"}
    return MCPClient(secret, door="asgi", server=server, client_info=client)


@pytest.fixture
def legacy(ana: Any) -> MCPClient:
    secret = issue(user=ana, name="desk")[1].reveal()
    client = MCPClient(secret, version="2025-11-25", door="asgi", server=server)
    client.initialize()
    return client


def listen(client: MCPClient) -> wire.Line:
    params = client.params({"notifications": {"toolsListChanged": True}})
    message = {"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params}
    return wire.send(wire.endpoint_application(), client, message)


def own_stream(client: MCPClient) -> wire.Line:
    more = {"accept": "text/event-stream"}
    return wire.send(wire.endpoint_application(), client, None, method="GET", **more)


async def beside(act: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a browser is answered while streams are open on this loop."""

    def acted() -> Any:
        try:
            return act(*args, **options)
        finally:
            connections.close_all()

    return await asyncio.to_thread(acted)


def run(scenario: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return async_to_sync(scenario)()


def test_it_tells_of_streams_and_sessions_by_whom_and_where(
    boss_client: Client, modern: MCPClient, legacy: MCPClient
) -> None:
    async def scenario() -> Any:
        lines = [listen(modern), own_stream(legacy)]
        for line in lines:
            await line.until(lambda line=line: len(line.sent) > 1)
        page = await beside(boss_client.get, url("connected"))
        for line in lines:
            await line.hang_up()
        return page

    page = run(scenario)
    told = {(str(line.kind), line.version) for line in page.context["lines"]}
    assert told == {("subscription", "2026-07-28"), ("session's own stream", "2025-11-25")}
    assert {line.process for line in page.context["lines"]} == {process_name()}
    assert [process.name for process in page.context["processes"]] == [process_name()]
    assert [n for _, n in page.context["processes"][0].counts] == [1, 1, 0, 0]
    text = page.content.decode()
    assert "ana" in text
    assert "laptop" in text
    assert "&lt;script&gt;alert(1)" in text
    assert HOSTILE not in text
    assert PASTED not in text
    assert [session.key for session, *_ in page.context["sessions"]] == [legacy.session_id]
    after = boss_client.get(url("connected"))
    assert after.context["lines"] == []


def test_a_stream_is_ended_and_its_history_says_so(boss_client: Client, modern: MCPClient) -> None:
    async def scenario() -> Any:
        line = listen(modern)
        await line.until(lambda: len(line.sent) > 1)
        page = await beside(boss_client.get, url("connected"))
        (shown,) = page.context["lines"]
        asked = await beside(boss_client.get, end_of(shown))
        assert asked.status_code == 200
        assert not line.task.done(), "to ask closes nothing"
        told = await beside(boss_client.post, end_of(shown), follow=True)
        await line.end()
        again = await beside(boss_client.post, end_of(shown), follow=True)
        return line, told.content.decode(), again.content.decode()

    line, told, again = run(scenario)
    assert line.events[-1]["id"] == 7, "a subscription ends with its result"
    assert "The stream is ended." in told
    assert "No process has this stream open any more" in again
    entry = LogEntry.objects.get()
    assert entry.get_edited_object().name == "laptop"
    assert entry.get_change_message().startswith("Ended a stream of")


def test_a_session_ends_as_by_delete_with_its_streams(
    boss_client: Client, legacy: MCPClient
) -> None:
    session = Session.objects.get()

    async def scenario() -> Any:
        line = own_stream(legacy)
        await line.until(lambda: len(line.sent) > 1)
        asked = await beside(boss_client.get, url("end", session.pk))
        assert not line.task.done()
        told = await beside(boss_client.post, url("end", session.pk), follow=True)
        await line.end()
        return asked.content.decode(), told.content.decode()

    asked, told = run(scenario)
    assert 'method="post"' in asked.partition("content-main")[2]
    assert "The session is ended." in told
    assert legacy.call("add", {"a": 1, "b": 2}).status == 404
    assert LogEntry.objects.get().get_edited_object() == session
    asked = boss_client.get(url("end", session.pk)).content.decode()
    assert "It has ended already." in asked


def test_sessions_chosen_in_the_list_end_with_their_streams(
    boss_client: Client, legacy: MCPClient
) -> None:
    data = {"action": "end_sessions", "_selected_action": [Session.objects.get().pk]}

    async def scenario() -> None:
        line = own_stream(legacy)
        await line.until(lambda: len(line.sent) > 1)
        await beside(boss_client.post, url("changelist"), data)
        await line.end()

    run(scenario)


@pytest.fixture
def session(ana: Any) -> Session:
    token = issue(user=ana, name="laptop")[0]
    client = {"name": HOSTILE, "version": "2"}
    DatabaseSessions().create(Caller(user=ana, auth=token), "2025-06-18", client, {})
    return Session.objects.get()


def test_looking_and_ending_take_permissions_of_their_own(
    staff_client: Callable[..., Client], session: Session
) -> None:
    ends = (url("end", session.pk), f"{url('end_stream')}?process=p&stream=s")
    for held in ((), ("view_session", "add_session", "delete_session")):
        client = staff_client(*held)
        assert client.get(url("connected")).status_code == 403
        for each in ends:
            assert client.get(each).status_code == 403
            assert client.post(each).status_code == 403
    watcher = staff_client("watch_session")
    page = watcher.get(url("connected"))
    assert page.status_code == 200
    assert url("end", session.pk) not in page.content.decode()
    assert url("change", session.pk) not in page.content.decode()
    assert watcher.post(url("end", session.pk)).status_code == 403
    session.refresh_from_db()
    assert session.ended_at is None
    ender = staff_client("watch_session", "end_session")
    assert url("end", session.pk) in ender.get(url("connected")).content.decode()
    assert ender.post(url("end", session.pk)).headers["Location"] == url("connected")
    session.refresh_from_db()
    assert session.ended_at is not None


def test_a_form_of_another_site_ends_nothing(boss: Any, session: Session) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(boss)
    assert strict.post(url("end", session.pk)).status_code == 403
    session.refresh_from_db()
    assert session.ended_at is None


@pytest.mark.parametrize("query", ["", "?process=&stream=", "?process=<b>&stream=%00"])
def test_a_stream_that_nobody_has_is_said_to_be_gone(boss_client: Client, query: str) -> None:
    for answer in (boss_client.get, boss_client.post):
        response = answer(url("end_stream") + query, follow=True)
        assert response.status_code == 200
        assert "No process has this stream open any more" in response.content.decode()


def test_what_a_client_calls_itself_is_text(boss_client: Client, session: Session) -> None:
    for page in (url("connected"), url("end", session.pk)):
        text = boss_client.get(page).content.decode()
        assert "&lt;script&gt;alert(1)" in text
        assert HOSTILE not in text


def test_it_works_under_an_admin_site_and_a_prefix_of_ones_own(
    boss_client: Client, session: Session
) -> None:
    site = AdminSite(name="connected_site")
    site.register(Session, SessionAdmin)
    urls = [path("back/", include([path("x/", site.urls)]))]
    with override_settings(ROOT_URLCONF=type("urls", (), {"urlpatterns": urls})):
        text = boss_client.get(reverse("connected_site:mcp_app_session_connected")).content.decode()
        assert f'href="/back/x/mcp_app/session/{session.pk}/end/"' in text


def test_holders_of_sessions_are_links_for_those_who_may_see_them(
    boss_client: Client, staff_client: Callable[..., Client], session: Session
) -> None:
    assert session.user is not None
    user, token = session.user, session.token
    ways = [
        f'<a href="/admin/auth/user/{user.pk}/change/">{user.get_username()}</a>',
        f'<a href="{page_url("change", token.pk)}">{token.name}</a>',
    ]
    watcher = staff_client("watch_session", "end_session")
    for page in (url("connected"), url("end", session.pk)):
        text = boss_client.get(page).content.decode()
        assert all(way in text for way in ways), page
        told = watcher.get(page).content.decode()
        assert token.name in told
        assert not any(way in told for way in ways), page
