"""Switches in the admin: set from what is declared, lifted, kept as history."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from mcp_app.access.switches import switch_for, turn
from mcp_app.catalog.registry import default_server
from mcp_app.models import Switch

ADD = reverse("admin:mcp_app_switch_add")
LIST = reverse("admin:mcp_app_switch_changelist")


def choice(page: Any, label: str) -> str:
    """The value of what is labelled so."""
    choices = page.context["adminform"].form.fields["target"].choices
    return next(str(value) for value, text in choices if text == label)


def post(client: Client, label: str, kind: str = "off", **fields: str) -> Any:
    target = choice(client.get(ADD), label)
    return client.post(ADD, {"kind": kind, "target": target, "reason": "It is broken.", **fields})


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
