"""The live page: what its view and its socket tell, to whom, and to whom not any more."""

import json
import uuid
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.conf import settings as django_settings
from django.contrib.admin import AdminSite
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.http import HttpRequest
from django.test import Client, override_settings
from django.urls import include, path, reverse

from mcp_app import routing
from mcp_app.admin import CallEventAdmin
from mcp_app.dispatch.interfaces import CallRecord
from mcp_app.models import CallEvent
from mcp_app.testing import inline_workers
from mcp_app.transports.recording import recorder
from mcp_app.transports.tail import NOT_ALLOWED, PAUSE, TOO_LONG, TOO_MANY
from tests.admin.pages import url as page_url

HOSTILE = "<script>alert(1)</script>"
REFUSED = (False, NOT_ALLOWED)


def url(page: str, *args: Any) -> str:
    return page_url(page, *args, model="callevent")


def rows(client: Client, **asked: str) -> dict[str, Any]:
    response = client.get(url("tail_rows"), asked)
    assert response.status_code == 200
    told: dict[str, Any] = response.json()
    return told


def keys(told: dict[str, Any]) -> list[int]:
    return [row["id"] for row in told["rows"]]


@pytest.fixture(autouse=True)
def in_this_thread(db: None) -> Iterator[None]:
    """Sockets ask the database where the test's transaction is."""
    with inline_workers():
        yield


class Line(WebsocketCommunicator):
    """A page's socket."""

    def __init__(
        self, client: Client | None, address: str = "", origin: str | None = "", **headers: str
    ) -> None:
        cookie = client.cookies[django_settings.SESSION_COOKIE_NAME].value if client else "none"
        told = {
            "host": "testserver",
            "cookie": f"{django_settings.SESSION_COOKIE_NAME}={cookie}",
            "origin": "http://testserver" if origin == "" else origin,
            **headers,
        }
        pairs = [(k.encode(), v.encode()) for k, v in told.items() if v is not None]
        application = URLRouter(routing.websocket_urlpatterns)
        super().__init__(application, address or url("tail"), pairs)

    async def ask(self, **asked: str) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        await self.send_to(
            text_data="&".join(f"{k}={v}" for k, v in {"cursor": "", **asked}.items())
        )
        return await self.told()

    async def told(self) -> dict[str, Any]:
        """The next answer."""
        told: dict[str, Any] = json.loads(await self.receive_from(timeout=5))
        return told

    async def ended(self) -> int:
        """The code that it is closed with."""
        message = await self.receive_output(timeout=5)
        assert message["type"] == "websocket.close"
        code: int = message["code"]
        return code


def run(scenario: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> Any:
    return async_to_sync(scenario)(*args)


async def opened(line: Line) -> tuple[bool, int | None]:
    answer = await line.connect(timeout=5)
    if answer[0]:
        await line.disconnect()
    return answer


@sync_to_async
def called(**columns: Any) -> None:
    """Have a call recorded, as one that ends."""
    record = CallRecord(started_at=1.8e9, outcome="ok", correlation_id=uuid.uuid4().hex, **columns)
    assert recorder().submit(record).result(5)


# --- the view ----------------------------------------------------------------------------------


def test_watching_takes_its_own_permission(staff_client: Callable[..., Client]) -> None:
    for held, status in (((), 403), (("view_callevent",), 403), (("tail_callevent",), 200)):
        client = staff_client(*held)
        assert client.get(url("tail")).status_code == status
        assert client.get(url("tail_rows")).status_code == status


def test_only_who_may_read_a_call_is_led_to_it(staff_client: Callable[..., Client]) -> None:
    event = CallEvent.objects.create(outcome="ok")
    told = rows(staff_client("tail_callevent"))
    assert "url" not in told["rows"][0]
    told = rows(staff_client("tail_callevent", "view_callevent"))
    assert told["rows"][0]["url"] == url("change", event.pk)


def test_it_tells_no_more_than_the_log_does(boss_client: Client) -> None:
    CallEvent.objects.create(
        outcome="error", error_text="secret", arguments={"a": "secret"}, tool=HOSTILE
    )
    answer = boss_client.get(url("tail_rows"))
    assert "secret" not in answer.content.decode()
    assert answer["Content-Type"] == "application/json"
    assert answer.json()["rows"][0]["call"] == HOSTILE


def test_a_call_whose_user_is_asked_waits_until_they_have_agreed(boss_client: Client) -> None:
    event = CallEvent.objects.create(outcome="waiting", correlation_id="c" * 32)
    told = rows(boss_client)
    (row,) = told["rows"]
    assert (row["outcome"], row["open"], row["waits"]) == ("Waits for a yes", True, True)
    assert row["stop_url"] == url("stop", event.pk)
    asked = {"cursor": told["cursor"], "open": str(event.pk), "waits": str(event.pk)}
    assert rows(boss_client, **asked)["rows"] == []
    CallEvent.objects.update(outcome="started")
    (row,) = rows(boss_client, **asked)["rows"]
    assert (row["outcome"], row["open"], row["waits"]) == ("Started", True, False)


def test_filters_hold_for_what_is_told(boss_client: Client) -> None:
    wanted = CallEvent.objects.create(outcome="failed", tool="a", username="ana")
    runs = CallEvent.objects.create(outcome="started", tool="a", username="ana")
    CallEvent.objects.create(outcome="ok", tool="a", username="ana")
    CallEvent.objects.create(outcome="failed", tool="b", username="ana")
    CallEvent.objects.create(outcome="failed", tool="a", username="ben")
    told = rows(boss_client, tool="a", user="ana", result="failed")
    assert [(row["id"], row["shown"]) for row in told["rows"]] == [
        (runs.pk, False),
        (wanted.pk, True),
    ]


def test_all_that_is_not_ok_can_be_watched(boss_client: Client) -> None:
    shown = [CallEvent.objects.create(outcome=each).pk for each in ("denied", "failed")]
    CallEvent.objects.create(outcome="ok")
    assert keys(rows(boss_client, result="not_ok")) == shown[::-1]


def test_a_filter_that_does_not_exist_is_none(boss_client: Client) -> None:
    event = CallEvent.objects.create(outcome="ok")
    assert keys(rows(boss_client, result="x", cursor="y", have="z", floor="\0")) == [event.pk]


def test_the_page_says_how_it_hears_of_calls(boss_client: Client) -> None:
    text = boss_client.get(url("tail")).content.decode()
    assert 'data-socket="no"' in text
    assert "This site is not served by ASGI" in text
    assert "<script>" not in text
    assert "style=" not in text


def test_what_stands_in_the_address_is_text(boss_client: Client) -> None:
    text = boss_client.get(url("tail"), {"user": f'"{HOSTILE}'}).content.decode()
    assert HOSTILE not in text


# --- the socket --------------------------------------------------------------------------------


def test_a_call_is_told_at_once(boss_client: Client) -> None:
    async def scenario() -> None:
        line = Line(boss_client)
        assert await line.connect(timeout=5) == (True, None)
        told = await line.ask()
        assert told["rows"] == []
        await line.send_to(text_data=f"cursor={told['cursor']}")
        await called(tool=HOSTILE)
        assert [row["call"] for row in (await line.told())["rows"]] == [HOSTILE]
        await line.disconnect()

    run(scenario)


def test_a_page_that_pauses_is_told_nothing_until_it_asks(boss_client: Client) -> None:
    async def scenario() -> None:
        line = Line(boss_client)
        await line.connect(timeout=5)
        told = await line.ask()
        await line.send_to(text_data=f"cursor={told['cursor']}")
        await line.send_to(text_data=PAUSE)
        await called(tool="a")
        assert await line.receive_nothing(timeout=0.5)
        told = await line.ask(cursor=told["cursor"])
        assert [row["call"] for row in told["rows"]] == ["a"]
        await line.disconnect()

    run(scenario)


@pytest.mark.parametrize("origin", ["http://evil.example", "https://testserver", "null", None])
def test_no_other_sites_page_may_open_it(boss_client: Client, origin: str | None) -> None:
    assert run(opened, Line(boss_client, origin=origin)) == REFUSED


def test_a_trusted_origin_may_open_it(boss_client: Client, settings: Any) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://admin.example"]
    assert run(opened, Line(boss_client, origin="https://admin.example"))[0]


def test_a_name_of_another_site_does_not_serve_it(boss_client: Client) -> None:
    line = Line(boss_client, origin="http://evil.example", host="evil.example")
    assert run(opened, line) == REFUSED


def test_who_may_not_watch_may_not_open_it(staff_client: Callable[..., Client], ana: Any) -> None:
    plain = Client()
    plain.force_login(ana)
    assert run(opened, Line(None)) == REFUSED
    assert run(opened, Line(plain)) == REFUSED
    assert run(opened, Line(staff_client())) == REFUSED
    assert run(opened, Line(staff_client("view_callevent"))) == REFUSED
    assert run(opened, Line(staff_client("tail_callevent")))[0]


def test_no_other_address_opens_it(boss_client: Client) -> None:
    address = "/nowhere/mcp_app/callevent/tail/"
    assert run(opened, Line(boss_client, address)) == REFUSED


@pytest.mark.parametrize("how", ["permission", "group", "active", "staff", "password", "logout"])
def test_it_ends_with_what_it_was_opened_by(
    staff_client: Callable[..., Client], how: str, django_capture_on_commit_callbacks: Any
) -> None:
    client = staff_client("tail_callevent")
    user = get_user_model().objects.get(pk=client.session["_auth_user_id"])

    def end() -> None:
        with django_capture_on_commit_callbacks(execute=True):
            act()

    def act() -> None:
        if how == "permission":
            user.user_permissions.clear()
        elif how == "group":
            tail = Permission.objects.get(codename="tail_callevent")
            tail.user_set.clear()
        elif how == "logout":
            client.logout()
        else:
            user.set_password("another") if how == "password" else setattr(user, f"is_{how}", False)
            user.save()

    async def scenario() -> int:
        line = Line(client)
        assert (await line.connect(timeout=5))[0]
        told = await line.ask()
        await line.send_to(text_data=f"cursor={told['cursor']}")
        await sync_to_async(end)()
        return await line.ended()

    assert run(scenario) == NOT_ALLOWED


def test_a_question_that_is_too_long_ends_it(boss_client: Client) -> None:
    async def scenario() -> int:
        line = Line(boss_client)
        await line.connect(timeout=5)
        await line.send_to(text_data="have=" + "1," * 5000)
        return await line.ended()

    assert run(scenario) == TOO_LONG


@pytest.mark.parametrize("code", [NOT_ALLOWED, TOO_MANY, TOO_LONG])
def test_a_close_code_is_one_that_every_server_lets_an_application_use(code: int) -> None:
    assert 4000 <= code < 5000  # RFC 6455 section 7.4.2


def test_a_person_watches_on_a_few_pages_at_most(boss_client: Client, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "STREAM_LIMIT": 1}

    async def scenario() -> int:
        first, second = Line(boss_client), Line(boss_client)
        await first.connect(timeout=5)
        await second.connect(timeout=5)
        code = await second.ended()
        await first.disconnect()
        third = Line(boss_client)
        await third.connect(timeout=5)
        await third.ask()
        await third.disconnect()
        return code

    assert run(scenario) == TOO_MANY


class Strict(AdminSite):
    """An admin site with its own idea of who comes in."""

    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and request.user.get_username() == "boss"


class Own(CallEventAdmin):
    """An admin with its own idea of what is seen."""

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).filter(tool="seen")


def test_it_goes_by_the_admin_site_that_it_belongs_to(
    boss_client: Client, staff_client: Callable[..., Client]
) -> None:
    """Under a prefix, with the site's own permission and the admin's own rows."""
    site = Strict(name="strict")
    site.register(CallEvent, Own)
    CallEvent.objects.create(outcome="ok", tool="hidden")
    seen = CallEvent.objects.create(outcome="ok", tool="seen")
    other = staff_client("tail_callevent")
    urls = [path("back/office/", include([path("x/", site.urls)]))]

    async def told(line: Line) -> list[int]:
        await line.connect(timeout=5)
        found = keys(await line.ask())
        await line.disconnect()
        return found

    with override_settings(ROOT_URLCONF=type("urls", (), {"urlpatterns": urls})):
        address = reverse("strict:mcp_app_callevent_tail")
        assert address == "/back/office/x/mcp_app/callevent/tail/"
        assert run(told, Line(boss_client, address)) == [seen.pk]
        assert run(opened, Line(other, address)) == REFUSED


def test_it_stands_below_a_script_name(boss_client: Client, settings: Any) -> None:
    seen = CallEvent.objects.create(outcome="ok", tool="seen")
    address = f"/shop{url('tail')}"

    async def told(line: Line) -> dict[str, Any]:
        await line.connect(timeout=5)
        found = await line.ask()
        await line.disconnect()
        return found

    line = Line(boss_client, address)
    line.scope["root_path"] = "/shop"
    [row] = run(told, line)["rows"]
    assert row["url"] == f"/shop/admin/mcp_app/callevent/{seen.pk}/change/"
    settings.FORCE_SCRIPT_NAME = "/shop"
    [row] = run(told, Line(boss_client, address))["rows"]
    assert row["url"] == f"/shop/admin/mcp_app/callevent/{seen.pk}/change/"
