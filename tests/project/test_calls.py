"""The example's own calls: made once, of all sorts, and whole where the log's pages look."""

import datetime as dt
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client, override_settings
from django.utils import timezone

from mcp_app.audit.gates import NOT_RECORDED, deciding_gate
from mcp_app.models import CallEvent, CallOutcome, Token
from project import people
from project.calls import seed_calls

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def prepared(tmp_path: Path) -> None:
    """The example's users, and its token."""
    people.prepare(tmp_path / "credentials.json")


def test_they_are_of_yesterday_and_today_and_none_is_to_come() -> None:
    now = timezone.now()
    assert seed_calls(now)

    moments = list(CallEvent.objects.order_by("pk").values_list("created_at", flat=True))
    assert moments == sorted(moments)
    assert {(now - at) // dt.timedelta(days=1) for at in moments} == {0, 1}
    assert moments[-1] < now


def test_they_are_of_several_people_clients_and_tokens_and_end_in_every_way() -> None:
    seed_calls(timezone.now())

    calls = CallEvent.objects
    assert {"sam", "vera", "admin"} <= set(calls.values_list("username", flat=True))
    assert calls.exclude(client_name="").values("client_name").distinct().count() >= 4
    assert calls.exclude(token=None).values("token").distinct().count() >= 4
    ended = set(calls.values_list("outcome", flat=True))
    assert ended >= {CallOutcome.OK, CallOutcome.FAILED, CallOutcome.DENIED, CallOutcome.UNKNOWN}
    failed = calls.get(outcome=CallOutcome.FAILED)
    assert failed.created_at < timezone.now() - dt.timedelta(days=1)
    assert len(failed.correlation_id) == 32


def test_each_tells_which_gate_decided_it_and_keeps_what_it_asked_for() -> None:
    seed_calls(timezone.now())

    for event in CallEvent.objects.all():
        assert deciding_gate(event) != NOT_RECORDED
    assert CallEvent.objects.filter(tool="get_room").first().arguments["invite_code"] == "PLAY42"


def test_seeding_again_or_after_a_real_call_changes_nothing() -> None:
    seed_calls(timezone.now())
    first = CallEvent.objects.count(), Token.objects.count()

    assert not seed_calls(timezone.now() + dt.timedelta(hours=1))

    assert (CallEvent.objects.count(), Token.objects.count()) == first


def test_the_command_makes_them_and_leaves_them_out_where_it_is_told_to(tmp_path: Path) -> None:
    with override_settings(CREDENTIALS_FILE=tmp_path / "credentials.json"):
        call_command("prepare_example", calls=False)
        assert not CallEvent.objects.exists()
        call_command("prepare_example")
        assert CallEvent.objects.exists()


def test_the_log_the_overview_and_a_story_have_something_to_show() -> None:
    seed_calls(timezone.now())
    browser = Client()
    browser.force_login(get_user_model().objects.get(username="admin"))
    failed = CallEvent.objects.get(outcome=CallOutcome.FAILED)

    for page in ("", "overview/?for=week", f"{failed.pk}/change/"):
        answer = browser.get(f"/admin/mcp_app/callevent/{page}")
        assert answer.status_code == 200
        assert "report-agent" in answer.content.decode()


def test_nothing_is_used_before_it_is_made() -> None:
    seed_calls(timezone.now())
    for event in CallEvent.objects.exclude(token=None).select_related("token", "user"):
        secret = event.token.secrets.get()
        assert event.user.date_joined < event.created_at
        assert event.token.created_at == secret.created_at < event.created_at
        assert event.created_at <= secret.last_used_at
