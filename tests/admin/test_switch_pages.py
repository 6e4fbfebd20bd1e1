"""Switches in the admin: set from what is declared, lifted, kept as history."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from mcp_app.access.switches import lift, switch_for, turn
from mcp_app.audit.periods import local
from mcp_app.auth.sessions import DatabaseSessions
from mcp_app.catalog.registry import default_server
from mcp_app.dispatch.context import Caller
from mcp_app.models import CallEvent, Switch
from tests.admin.words import words

ADD = reverse("admin:mcp_app_switch_add")
LIST = reverse("admin:mcp_app_switch_changelist")


def choice(page: Any, label: str) -> str:
    """The value of what is labelled so."""
    choices = page.context["adminform"].form.fields["target"].choices
    return next(str(value) for value, text in choices if text == label)


def ask(client: Client, label: str, kind: str = "off", **fields: str) -> Any:
    """Send the form: its errors, or the page that says who is affected."""
    target = choice(client.get(ADD), label)
    ends = {"ending": "custom" if "until" in fields else "never"}
    told = {"kind": kind, "target": target, "reason": "It is broken."}
    return client.post(ADD, {**told, **ends, **fields})


def confirm(client: Client, asked: Any) -> Any:
    """Agree to what that page says."""
    fields = [*asked.context["fields"], asked.context["sure"]]
    return client.post(ADD, dict(fields))


def post(client: Client, label: str, kind: str = "off", **fields: str) -> Any:
    asked = ask(client, label, kind, **fields)
    return confirm(client, asked) if "sure" in asked.context else asked


def test_a_tool_is_chosen_from_what_is_declared(boss_client: Client, boss: Any) -> None:
    tool = sorted(default_server.tools)[0]
    assert post(boss_client, f"default: tool {tool}").status_code == 302
    switch = Switch.objects.in_force().get()
    assert (switch.name, switch.noun, switch.set_by) == (tool, "tool", boss)
    assert LogEntry.objects.get().object_id == str(switch.pk)
    assert tool in boss_client.get(LIST).content.decode()
    page = boss_client.get(reverse("admin:mcp_app_switch_change", args=[switch.pk]))
    assert "It is broken." in page.content.decode()


def test_a_server_is_closed_and_lifted(boss_client: Client) -> None:
    assert post(boss_client, "the server default", "maintenance").status_code == 302
    switch = Switch.objects.in_force().get()
    lifting = {"action": "lift_switches", "_selected_action": [switch.pk]}
    assert boss_client.post(LIST, lifting).status_code == 302
    assert not Switch.objects.in_force().exists()
    assert LogEntry.objects.count() == 2


@pytest.mark.parametrize("kind", ["read_only", "maintenance"])
def test_what_does_not_go_together_is_refused(boss_client: Client, kind: str) -> None:
    tool = sorted(default_server.tools)[0]
    assert "does not go" in post(boss_client, f"default: tool {tool}", kind).content.decode()
    assert "does not go" in post(boss_client, "the server default", "off").content.decode()
    forged = {"kind": "off", "target": "9999", "reason": "x"}
    assert boss_client.post(ADD, forged).status_code == 200
    assert not Switch.objects.exists()


@pytest.mark.parametrize("target", ["", "0", "999999"])
def test_a_target_that_does_not_fit_is_one_error_beside_it(
    boss_client: Client, target: str
) -> None:
    told = {"kind": "off", "target": target, "reason": "It is broken.", "ending": "never"}
    page = boss_client.post(ADD, told)
    assert list(page.context["adminform"].form.errors) == ["target"]
    past = {"ending": "custom", "until": "2020-01-01T00:00"}
    page = boss_client.post(ADD, {**told, **past})
    assert list(page.context["adminform"].form.errors) == ["target", "until"]
    assert Switch.objects.count() == 0


def test_an_end_in_the_past_and_no_reason_are_refused(boss_client: Client) -> None:
    past = {"until": "2001-01-01T00:00"}
    assert post(boss_client, "the server default", "maintenance", **past).status_code == 200
    ahead = {"until": (timezone.now() + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M")}
    assert post(boss_client, "the server default", "read_only", **ahead).status_code == 302
    assert Switch.objects.get().until is not None
    Switch.objects.all().delete()
    nothing = {"kind": "maintenance", "reason": "x", "target": ""}
    assert boss_client.post(ADD, nothing).status_code == 200
    empty = {"reason": ""}
    assert post(boss_client, "the server default", "maintenance", **empty).status_code == 200
    assert not Switch.objects.exists()


@pytest.mark.parametrize("ending", ["1h", "4h", "today", "tomorrow"])
@pytest.mark.parametrize("use_tz", [True, False])
def test_the_usual_ends_are_offered_with_their_moments(
    ending: str, use_tz: bool, boss_client: Client, settings: Any
) -> None:
    settings.USE_TZ, settings.TIME_ZONE = use_tz, "Asia/Tokyo"
    now = local(timezone.now())
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    wanted = {
        "1h": now + timedelta(hours=1),
        "4h": now + timedelta(hours=4),
        "today": midnight + timedelta(days=1),
        "tomorrow": midnight + timedelta(days=1, hours=9),
    }[ending]
    text = words(boss_client.get(ADD).content.decode())
    assert f", on {wanted:%Y-%m-%d %H}:" in text
    assert "Times are in the time zone Asia/Tokyo." in text
    asked = ask(boss_client, "the server default", "maintenance", ending=ending)
    until = next(value for name, value in asked.context["fields"] if name == "until")
    confirm(boss_client, asked)
    end = Switch.objects.get().until
    assert end is not None
    assert abs(local(end) - wanted) < timedelta(minutes=1)
    assert f"{local(end):%Y-%m-%dT%H:%M:%S}" == until, "what was shown is what is set"


def test_a_chosen_end_is_given(boss_client: Client) -> None:
    missing = post(boss_client, "the server default", "maintenance", ending="custom")
    assert "Give the date and time" in missing.content.decode()
    unknown = post(boss_client, "the server default", "maintenance", ending="soon")
    assert unknown.status_code == 200
    ignored = {"until": "2001-01-01T00:00", "ending": "never"}
    assert post(boss_client, "the server default", "maintenance", **ignored).status_code == 302
    assert Switch.objects.get().until is None


def test_the_form_says_what_it_is_for_and_that_it_asks_first(boss_client: Client) -> None:
    asked = {"kind": "off", "of": "default:tool:close_room"}
    page = boss_client.get(ADD, asked)
    text = page.content.decode()
    assert "<h1>Switch off close_room</h1>" in text
    label = r'<option value="\d+" selected>default: tool close_room</option>'
    assert re.search(label, text)
    assert '<option value="off" selected>' in text
    assert re.findall(r'type="submit" value="([^"]*)"', text) == ["Continue…"]
    target = choice(page, "default: tool close_room")
    address = f"{ADD}?{urlencode(asked)}"
    form = {"kind": "off", "target": target, "ending": "never"}
    refused = boss_client.post(address, {**form, "reason": ""}).content.decode()
    assert "<h1>Switch off close_room</h1>" in refused
    sure = boss_client.post(address, {**form, "reason": "Broken."}).content.decode()
    assert "<h1>Switch off close_room?</h1>" in sure
    assert 'value="Switch off"' in sure
    assert "<h1>Set a switch</h1>" in boss_client.get(ADD).content.decode()
    sure = ask(boss_client, "the server default", "read_only").content.decode()
    assert "<h1>Make the server default read-only?</h1>" in sure


def test_one_that_is_over_does_not_look_as_though_it_were_in_force(
    boss_client: Client, boss: Any
) -> None:
    switch = off(reason="Broken.")
    text = words(boss_client.get(page("change", switch)).content.decode())
    assert "Off: close_room (lifted)" not in text
    assert ">in force</span>" in boss_client.get(LIST).content.decode()
    lift(switch, by=boss)
    text = words(boss_client.get(page("change", switch)).content.decode())
    assert "off: close_room (lifted)" in text
    assert "Not in force: boss lifted it on" in text
    ended = turn(switch_for("maintenance", "default", reason="Moving.", until=soon()))
    Switch.objects.filter(pk=ended.pk).update(until=timezone.now())
    text = words(boss_client.get(page("change", ended)).content.decode())
    assert "maintenance: default (ended)" in text
    assert "Not in force: it ended by itself on" in text
    rows = boss_client.get(LIST).content.decode()
    assert "icon-yes" not in rows
    assert ">in force</span>" not in rows


def test_permissions_say_who_sets_and_who_lifts(staff_client: Callable[..., Client]) -> None:
    until = timezone.now() + timedelta(hours=1)
    switch = turn(switch_for("maintenance", "default", reason="<script>x</script>", until=until))
    viewer, lifter = staff_client("view_switch"), staff_client("view_switch", "change_switch")
    page = viewer.get(LIST).content.decode()
    assert "&lt;script&gt;x&lt;/script&gt;" in page
    assert "<script>x" not in page
    assert viewer.get(ADD).status_code == 403
    lifting = {"action": "lift_switches", "_selected_action": [switch.pk]}
    viewer.post(LIST, lifting)
    assert Switch.objects.in_force().exists()
    lifter.post(LIST, lifting)
    assert not Switch.objects.in_force().exists()
    assert staff_client().get(LIST).status_code == 403


def off(**columns: Any) -> Switch:
    return turn(switch_for("off", "default", noun="tool", name="close_room", **columns))


def page(name: str, switch: Switch) -> str:
    return reverse(f"admin:mcp_app_switch_{name}", args=[switch.pk])


def test_one_is_lifted_on_its_own_page(boss_client: Client, boss: Any) -> None:
    switch = off(reason="<b>Broken.</b>")
    lift_page = page("lift", switch)
    assert f'href="{lift_page}"' in boss_client.get(page("change", switch)).content.decode()
    asked = boss_client.get(lift_page).content.decode()
    assert "close_room" in asked
    assert "&lt;b&gt;Broken." in asked
    assert Switch.objects.in_force().exists(), "looking lifts nothing"
    assert boss_client.post(lift_page).url == page("change", switch)
    switch.refresh_from_db()
    assert (switch.is_in_force, switch.lifted_by) == (False, boss)
    assert LogEntry.objects.get().get_change_message() == "Lifted."
    assert lift_page not in boss_client.get(page("change", switch)).content.decode()


def test_one_that_is_over_is_not_lifted_again(boss_client: Client) -> None:
    switch = off(reason="Broken.")
    boss_client.post(page("lift", switch))
    at = Switch.objects.get().lifted_at
    assert boss_client.post(page("lift", switch)).status_code == 302
    assert Switch.objects.get().lifted_at == at
    assert LogEntry.objects.count() == 1
    assert boss_client.get(reverse("admin:mcp_app_switch_lift", args=[999])).status_code == 302


def test_lifting_one_takes_the_permission_to_lift(staff_client: Callable[..., Client]) -> None:
    switch = off(reason="Broken.")
    viewer, lifter = staff_client("view_switch"), staff_client("view_switch", "change_switch")
    assert page("lift", switch) not in viewer.get(page("change", switch)).content.decode()
    assert viewer.get(page("lift", switch)).status_code == 403
    assert viewer.post(page("lift", switch)).status_code == 403
    assert Client().post(page("lift", switch)).status_code == 302
    assert Switch.objects.in_force().exists()
    assert lifter.post(page("lift", switch)).status_code == 302
    assert not Switch.objects.in_force().exists()


def test_the_list_says_how_each_ended_and_by_whom(boss_client: Client, boss: Any) -> None:
    ada = get_user_model().objects.create_user("ada")
    lifted = off(reason="The first.")
    lift(lifted, by=ada)
    off(reason="The second.")
    off(reason="The third.", by=boss)
    turn(switch_for("maintenance", "default", reason="Moving.", until=soon()))
    Switch.objects.filter(kind="maintenance").update(until=timezone.now())
    turn(switch_for("read_only", "default", reason="Counting.", until=soon()))
    rows = words(boss_client.get(LIST).content.decode()).partition("read-only server")[2]
    places = [
        rows.find(part)
        for part in (
            "Counting.",
            "ends by itself",
            "Moving.",
            "ended by itself",
            "The third.",
            "until it is lifted",
            "The second.",
            "lifted by boss",
            "The first.",
            "lifted by ada",
        )
    ]
    assert -1 not in places, rows
    assert places == sorted(places)
    told = words(boss_client.get(page("change", lifted)).content.decode())
    assert "Lifted by: ada" in told


def soon() -> Any:
    return timezone.now() + timedelta(hours=1)


def called(tool: str, **columns: Any) -> CallEvent:
    told = {"method": "tools/call", "outcome": "ok", "username": "ana", **columns}
    return CallEvent.objects.create(tool=tool, **told)


def test_who_is_affected_is_said_before_it_is_set(boss_client: Client, issued: Any) -> None:
    token, _secret = issued
    called("close_room", token=token)
    called("close_room", username="<b>ben</b>", outcome="started")
    called("close_room", username="<b>ben</b>", outcome="waiting")
    called("announce", username="eve")
    called("close_room", username="old", created_at=timezone.now() - timedelta(days=2))
    DatabaseSessions().create(Caller(user=token.user, auth=token), "2025-06-18", {}, {})
    asked = ask(boss_client, "default: tool close_room")
    assert not Switch.objects.exists()
    found = asked.context["affected"]
    assert (found.calls, found.users_total, found.tokens_total) == (3, 2, 1)
    assert dict(found.users) == {"ana": 1, "<b>ben</b>": 2}
    assert (found.running_total, found.sessions) == (2, 1)
    text = asked.content.decode()
    assert "It is broken." in text
    assert "&lt;b&gt;ben" in text
    assert "<b>ben" not in text
    assert confirm(boss_client, asked).status_code == 302
    assert Switch.objects.in_force().get().name == "close_room"


@pytest.mark.parametrize(("kind", "calls"), [("read_only", 1), ("maintenance", 3)])
def test_a_whole_server_affects_whom_it_would_refuse(
    boss_client: Client, kind: str, calls: int
) -> None:
    for tool in ("close_room", "list_rooms", "unheard_of"):
        called(tool)
    asked = ask(boss_client, "the server default", kind)
    assert asked.context["affected"].calls == calls


def test_callers_are_named_to_those_who_may_see_calls(staff_client: Callable[..., Client]) -> None:
    called("close_room", username="zoe", outcome="started")
    for held, named in ((("add_switch",), False), (("add_switch", "view_callevent"), True)):
        asked = ask(staff_client(*held), "default: tool close_room")
        assert asked.context["affected"].calls == 1
        assert ("zoe" in asked.content.decode()) is named


def test_what_was_agreed_to_is_what_is_set(boss_client: Client) -> None:
    """The choice is a number, which names another thing once something else is declared."""
    asked = ask(boss_client, "default: tool close_room")
    fields = dict(asked.context["fields"])
    fields["target"] = choice(boss_client.get(ADD), "default: tool announce")
    name, value = asked.context["sure"]
    again = boss_client.post(ADD, {**fields, name: value})
    assert again.status_code == 200
    assert again.context["switch"].name == "announce"
    assert not Switch.objects.exists()


def test_one_for_the_same_is_said_to_be_replaced(boss_client: Client) -> None:
    post(boss_client, "the server default", "maintenance", reason="The first.")
    asked = ask(boss_client, "the server default", "maintenance", reason="The second.")
    assert "The first." in asked.content.decode()
    confirm(boss_client, asked)
    assert Switch.objects.in_force().get().reason == "The second."


INDEX = reverse("admin:app_list", args=["mcp_app"])
TOLD = (
    INDEX,
    *(reverse(f"admin:mcp_app_callevent_{page}") for page in ("changelist", "overview", "tail")),
    reverse("admin:mcp_app_catalogue_changelist"),
)


@pytest.mark.parametrize("page", TOLD)
@pytest.mark.parametrize("kind", ["maintenance", "read_only"])
def test_a_closed_server_is_told_on_the_pages(boss_client: Client, kind: str, page: str) -> None:
    assert "mcp-closure" not in boss_client.get(page).content.decode()
    until = timezone.now() + timedelta(hours=2)
    switch = turn(switch_for(kind, "default", reason="<b>Moving</b> house.", until=until))
    text = boss_client.get(page).content.decode()
    banner = text.partition('class="mcp-note mcp-closure"')[2].partition("</p>")[0]
    assert "&lt;b&gt;Moving&lt;/b&gt; house." in banner
    assert f"{timezone.localtime(until):%H:%M:%S}" in banner
    assert reverse("admin:mcp_app_switch_change", args=[switch.pk]) in banner


def test_closures_are_one_query_and_link_for_those_who_may_see_switches(
    staff_client: Callable[..., Client],
) -> None:
    client = staff_client("view_callevent")
    turn(switch_for("maintenance", "default", reason="Moving house."))
    page = reverse("admin:mcp_app_callevent_overview")
    with CaptureQueriesContext(connection) as asked:
        text = client.get(page).content.decode()
    assert sum("mcp_app_switch" in query["sql"] for query in asked) == 1
    assert "Moving house." in text
    assert "/switch/" not in text


def test_one_tool_that_is_off_closes_no_server(boss_client: Client) -> None:
    tool = sorted(default_server.tools)[0]
    turn(switch_for("off", "default", noun="tool", name=tool, reason="It is broken."))
    assert "mcp-closure" not in boss_client.get(INDEX).content.decode()
