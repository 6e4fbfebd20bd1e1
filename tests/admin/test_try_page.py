"""Try it: a tool run from the admin as whoever asks, and through every gate of the endpoint."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import pytest
from django.contrib.admin import AdminSite
from django.contrib.auth.models import Permission
from django.core import signing
from django.db import connection
from django.test import Client, override_settings
from django.urls import path, reverse
from pydantic import Field
from rest_framework.permissions import BasePermission, IsAdminUser

from mcp_app import Context, ImageContent, ToolError
from mcp_app.access.switches import switch_for, turn
from mcp_app.access.throttling import UserThrottle
from mcp_app.admin import CallEventAdmin, CatalogueAdmin
from mcp_app.admin.display import outcome_badge
from mcp_app.admin.trying import SALT
from mcp_app.catalog.registry import default_server
from mcp_app.hooks import deny
from mcp_app.models import CallEvent, Catalogue
from tests.admin.pages import hidden
from tests.admin.words import words

pytestmark = pytest.mark.django_db(transaction=True)

TRY = reverse("admin:mcp_app_catalogue_try")
LIST = reverse("admin:mcp_app_catalogue_changelist")
HOSTILE = "<script>alert(1)</script>"


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Nobody(BasePermission):
    """Admits nobody."""

    def has_permission(self, request: Any, view: Any) -> bool:
        return False


@dataclass
class Size:
    """A form."""

    size: int
    why: str = "none"


def reading(tool: Any) -> None:
    """Tools that only read."""

    @tool(read_only=True, name="try_echo")
    def echo(
        text: str,
        count: int,
        share: float | None = None,
        sure: bool = False,
        colour: Colour | None = None,
        tags: list[str] | None = None,
        more: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Echo <script>alert(1)</script>."""
        given = {"text": text, "count": count, "share": share, "sure": sure}
        return given | {"colour": colour, "tags": tags, "more": more}

    @tool(read_only=True, name="try_who")
    def who(ctx: Context) -> dict[str, Any]:
        """Tell who calls."""
        request = ctx.request._request
        return {"user": ctx.user.get_username(), "seen": sorted(request.COOKIES)}

    @tool(read_only=True, name="try_image")
    async def image() -> ImageContent:
        """Draw."""
        return ImageContent(b"\x00" * 10, "image/png")

    @tool(read_only=True, name="try_fail")
    def fail(text: str) -> str:
        """Fail."""
        raise ToolError(f"no {text}")

    @tool(read_only=True, throttle_classes=[UserThrottle], name="try_slow")
    def slow() -> str:
        """Take turns."""
        return "done"


def writing(tool: Any) -> None:
    """Tools that write, or try to."""

    @tool(destructive=True, name="try_drop", sensitive=["password"])
    def drop(name: str, password: str) -> str:
        """Drop."""
        dropped.append(name)
        return f"dropped {name}"

    @tool(destructive=True, name="try_confirmed", confirm="Really {name}?")
    def confirmed(name: str) -> str:
        """Drop after a yes."""
        dropped.append(name)
        return f"dropped {name}"

    @tool(destructive=False, name="try_gentle")
    def gentle(a: Annotated[int, Field(ge=1)]) -> str:
        """Add."""
        return str(a)

    @tool(read_only=True, name="try_write")
    def write() -> str:
        """Break a promise."""
        CallEvent.objects.create(outcome="ok", tool="forged")
        return "written"


def asking(tool: Any) -> None:
    """Tools that ask, and one that nobody sees."""

    @tool(read_only=True, name="try_ask")
    def ask(ctx: Context) -> str:
        """Ask for a size."""
        answer = ctx.elicit("Which size? <b>", Size)
        return f"size {answer.content.size}" if answer.content else f"it was {answer.action}"

    @tool(read_only=True, name="try_link")
    def link(ctx: Context) -> str:
        """Ask to open an address."""
        return ctx.elicit_url("Open it", "https://example.com").action

    @tool(read_only=True, permission_classes=[Nobody], name="try_hidden")
    def hide() -> str:
        """Hide."""
        raise AssertionError("it ran")


@pytest.fixture(autouse=True)
def tools() -> Iterator[None]:
    """One tool for each thing that the page does."""
    before = set(default_server.tools)
    for declare in (reading, writing, asking):
        declare(default_server.tool)
    dropped.clear()
    yield
    for name in set(default_server.tools) - before:
        default_server.remove(name)


dropped: list[str] = []


def fields(page: Any) -> dict[str, str]:
    """The names of the form's fields by argument."""
    return {row.name: f"p{n}" for n, row in enumerate(page.context["form"].rows)}


def attempt(client: Client, tool: str, **entered: str) -> Any:
    address = f"{TRY}?of=default:tool:{tool}"
    known = fields(client.get(address))
    response = client.post(address, {known.get(name, name): v for name, v in entered.items()})
    assert response.status_code == 200
    return response


def again(client: Client, page: Any, tool: str, **more: str) -> Any:
    """Send what a page asks to be sent once more."""
    found = page.context["again"]
    kept = {name: found[name] for name in ("arguments", "state", "asked") if name in found}
    return client.post(f"{TRY}?of=default:tool:{tool}", {**kept, "sure": "1", **more})


def text(response: Any) -> str:
    return words(response.content.decode())


def test_what_was_entered_arrives_as_json(boss_client: Client) -> None:
    page = attempt(
        boss_client,
        "try_echo",
        text=" <b> ",
        count="12345678901234567890",
        share="0.5",
        sure="true",
        colour='"blue"',
        tags='["a"]',
        more='{"b": null}',
    )
    assert page.context["structured"] == {
        "text": " <b> ",
        "count": 12345678901234567890,
        "share": 0.5,
        "sure": True,
        "colour": "blue",
        "tags": ["a"],
        "more": {"b": None},
    }
    empty = attempt(boss_client, "try_echo", text="", count="1")
    assert empty.context["structured"]["text"] == ""
    assert empty.context["shown"] == {"text": "", "count": 1}


@pytest.mark.parametrize(
    ("entered", "told"),
    [
        ({"count": "one"}, "not JSON"),
        ({"count": "true"}, "Enter a number."),
        ({"count": ""}, "This argument is required."),
        ({"count": "1", "tags": "[1,"}, "not JSON"),
        ({"count": "1", "tags": "[" * 5000}, "not JSON"),
        ({"count": "1", "share": "NaN"}, "not JSON"),
        ({"count": "1", "colour": '"green"'}, "Select a valid choice"),
        ({"count": "1", "text": "a\0"}, "Null characters are not allowed"),
    ],
)
def test_what_is_no_json_runs_nothing(
    boss_client: Client, entered: dict[str, str], told: str
) -> None:
    page = attempt(boss_client, "try_echo", **{"text": "x", **entered})
    assert told in text(page)
    assert "tried" not in page.context
    assert not CallEvent.objects.exists()


def test_what_does_not_fit_is_told_by_the_tool_s_own_gate(boss_client: Client) -> None:
    page = attempt(boss_client, "try_gentle", a="0")
    assert "Answer Invalid arguments" in text(page)
    assert "Tool error" not in text(page)
    event = CallEvent.objects.get()
    assert event.outcome == "invalid"
    assert f"<dd>{outcome_badge(event)} " in page.content.decode(), "as in the call log"
    assert "a: " in text(page)


def test_the_call_is_the_person_s_own_and_stands_in_the_log(boss_client: Client, boss: Any) -> None:
    page = attempt(boss_client, "try_who")
    assert page.context["structured"] == {"user": "boss", "seen": []}
    event = CallEvent.objects.get()
    assert (event.user, event.username, event.token_id) == (boss, "boss", None)
    assert (event.source, event.transport, event.method) == ("admin", "admin", "tools/call")
    assert (event.client_name, event.address) == ("Django admin", "127.0.0.1")
    assert reverse("admin:mcp_app_callevent_change", args=[event.pk]) in page.content.decode()
    assert page["Cache-Control"].count("no-store")


def test_what_may_destroy_is_asked_about_once_more(boss_client: Client) -> None:
    page = attempt(boss_client, "try_drop", name=HOSTILE, password="hunter2")
    assert dropped == []
    assert not CallEvent.objects.exists()
    assert "may change or destroy data" in text(page)
    assert '"password": "…"' in text(page)
    assert HOSTILE not in page.content.decode()
    done = again(boss_client, page, "try_drop")
    assert dropped == [HOSTILE]
    assert f"dropped {HOSTILE}" in text(done)
    assert "hunter2" not in done.content.decode()
    event = CallEvent.objects.get()
    assert event.outcome == "ok"
    assert event.arguments == {"name": HOSTILE, "password": "[redacted]"}
    attempt(boss_client, "try_gentle", a="1")
    assert CallEvent.objects.count() == 2


def test_a_confirmation_is_shown_as_a_form_and_kept_to(boss_client: Client) -> None:
    page = again(boss_client, attempt(boss_client, "try_confirmed", name="x"), "try_confirmed")
    assert "Really x?" in text(page)
    assert dropped == []
    declined = again(boss_client, page, "try_confirmed", decline="Decline")
    assert "the user declined" in text(declined)
    assert dropped == []
    page = again(boss_client, attempt(boss_client, "try_confirmed", name="x"), "try_confirmed")
    done = again(boss_client, page, "try_confirmed", accept="Accept")
    assert dropped == ["x"]
    assert "dropped x" in text(done)
    spent = again(boss_client, page, "try_confirmed", accept="Accept")
    assert "The requestState is not valid" in text(spent)
    assert dropped == ["x"]


def test_an_agreement_is_for_the_arguments_that_were_shown(boss_client: Client) -> None:
    page = again(boss_client, attempt(boss_client, "try_confirmed", name="x"), "try_confirmed")
    forged = again(
        boss_client, page, "try_confirmed", accept="Accept", arguments=json.dumps({"name": "y"})
    )
    assert "The requestState is not valid" in text(forged)
    unasked = boss_client.post(
        f"{TRY}?of=default:tool:try_confirmed",
        {
            "arguments": '{"name": "y"}',
            "sure": "1",
            "accept": "Accept",
            "asked": signing.dumps({"mcp_app.confirmation": {}}, salt=SALT),
        },
    )
    assert "The requestState is not valid" in text(unasked)
    assert dropped == []


def test_a_question_of_the_tool_is_a_form(boss_client: Client) -> None:
    page = attempt(boss_client, "try_ask")
    assert "Which size? <b>" in text(page)
    assert "Which size? <b>" not in page.content.decode()
    (question,) = page.context["questions"]
    name = f"q-{question.key}-p0"
    wrong = again(boss_client, page, "try_ask", accept="Accept", **{name: "big"})
    assert "not JSON" in text(wrong)
    done = again(boss_client, wrong, "try_ask", accept="Accept", **{name: "7"})
    assert "size 7" in text(done)
    declined = again(boss_client, attempt(boss_client, "try_ask"), "try_ask", decline="Decline")
    assert "it was decline" in text(declined)
    assert "elicitation" in text(attempt(boss_client, "try_link"))


def test_no_gate_is_passed_by(boss_client: Client, settings: Any) -> None:
    assert "Unknown tool: try_hidden" in text(attempt(boss_client, "try_hidden"))
    settings.MCP_APP = {**settings.MCP_APP, "THROTTLE_RATES": {"user": "1/day"}}
    assert "done" in text(attempt(boss_client, "try_slow"))
    assert "Answer Throttled" in text(attempt(boss_client, "try_slow"))
    turn(switch_for("off", "default", noun="tool", name="try_who", reason="It is broken."))
    assert "switched off: It is broken." in text(attempt(boss_client, "try_who"))
    turn(switch_for("maintenance", "default", reason="Moving house."))
    assert "Moving house." in text(attempt(boss_client, "try_fail", text="x"))
    told = list(CallEvent.objects.order_by("pk").values_list("outcome", flat=True))
    assert told == ["denied", "ok", "throttled", "denied", "denied"]


def test_hooks_are_asked_as_on_the_wire(boss_client: Client, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "BEFORE_CALL": [no], "LIST_TOOLS": [few]}
    assert "not today" in text(attempt(boss_client, "try_who"))
    assert "Unknown tool: try_fail" in text(attempt(boss_client, "try_fail", text="x"))


def no(ctx: Any, tool: Any, arguments: Any) -> Any:
    """Refuse all."""
    return deny("not today")


def few(ctx: Any, tools: Any) -> Any:
    """Hide one."""
    return [tool for tool in tools if tool.name != "try_fail"]


def test_an_endpoint_that_is_off_runs_nothing(boss_client: Client, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "ENABLED": False}
    assert "404" in text(attempt(boss_client, "try_who"))
    assert not CallEvent.objects.exists()


def test_a_promise_to_read_only_is_kept(boss_client: Client) -> None:
    page = attempt(boss_client, "try_write")
    assert "written" not in text(page)
    assert not CallEvent.objects.filter(tool="forged").exists()


def test_errors_and_other_content_are_shown_as_text(boss_client: Client) -> None:
    failed = attempt(boss_client, "try_fail", text=HOSTILE)
    assert f"no {HOSTILE}" in text(failed)
    assert HOSTILE not in failed.content.decode()
    drawn = text(attempt(boss_client, "try_image"))
    assert '"type": "image"' in drawn
    assert "AAAA" not in drawn


def test_with_atomic_requests_the_event_is_stored_and_nothing_waits(
    boss_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    page = again(
        boss_client,
        attempt(boss_client, "try_drop", name="x", password="y"),
        "try_drop",
    )
    assert page.context["tried"].event == CallEvent.objects.get().pk


def test_it_takes_a_permission_of_its_own_and_a_token_against_forgery(
    staff_client: Callable[..., Client], boss: Any
) -> None:
    viewer = staff_client("view_catalogue", "explain_catalogue", "view_callevent")
    address = f"{TRY}?of=default:tool:try_who"
    assert viewer.get(address).status_code == 403
    assert viewer.post(address).status_code == 403
    entry = viewer.get(reverse("admin:mcp_app_catalogue_entry"), {"of": "default:tool:try_who"})
    assert TRY not in entry.content.decode()
    assert staff_client("try_catalogue").post(address).status_code == 403
    tester = staff_client("view_catalogue", "try_catalogue")
    assert text(attempt(tester, "try_who")).count("staff")
    assert "The call, as it is recorded" not in text(attempt(tester, "try_who"))
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(boss)
    assert strict.post(address).status_code == 403
    assert CallEvent.objects.count() == 2


def test_whoever_tries_may_do_what_they_may(staff_client: Callable[..., Client]) -> None:
    @default_server.tool(
        permission_classes=[IsAdminUser], scopes=["rooms:write"], destructive=False
    )
    def try_staff(ctx: Context) -> bool:
        """Tell whether they may."""
        return bool(ctx.user.has_perm("quiz.add_room"))

    tester = staff_client("view_catalogue", "try_catalogue")
    assert attempt(tester, "try_staff").context["structured"] == {"result": False}
    assert Permission.objects.filter(codename="add_room").exists()


@pytest.mark.parametrize("of", ["default:tool:gone", "default:prompt:try_who", "", "\0"])
def test_there_is_no_form_for_what_is_no_tool(boss_client: Client, of: str) -> None:
    assert boss_client.get(TRY, {"of": of}).status_code == 404
    assert boss_client.get(TRY).status_code == 302


@pytest.mark.parametrize(
    "posted",
    [
        {"arguments": "[1]"},
        {"arguments": "{"},
        {"arguments": "{}", "sure": "1", "asked": "{}", "accept": "Accept"},
        {"arguments": "{}", "sure": "1", "asked": signing.dumps({"b": {}}), "accept": "Accept"},
    ],
)
def test_what_was_tampered_with_breaks_nothing(boss_client: Client, posted: dict[str, str]) -> None:
    page = boss_client.post(f"{TRY}?of=default:tool:try_confirmed", posted)
    assert page.status_code == 200
    assert "Refused" in text(page)
    assert not CallEvent.objects.exists()


def test_it_works_on_another_site_under_a_prefix(boss_client: Client) -> None:
    site = AdminSite(name="try-site")
    site.register(Catalogue, CatalogueAdmin)
    site.register(CallEvent, CallEventAdmin)
    with override_settings(
        ROOT_URLCONF=type("urls", (), {"urlpatterns": [path("deep/er/", site.urls)]})
    ):
        address = "/deep/er/mcp_app/catalogue/try/?of=default:tool:try_who"
        page = boss_client.post(address)
        assert page.context["structured"]["user"] == "boss"
        event = CallEvent.objects.get()
        assert f'href="/deep/er/mcp_app/callevent/{event.pk}/change/"' in page.content.decode()
        assert hidden(page, "csrfmiddlewaretoken")
        assert not re.search(r'(?:href|action)="/admin/', page.content.decode())
