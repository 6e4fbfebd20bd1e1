"""Sessions in the admin: to read, and to end."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from mcp_app.auth.hashing import Secret
from mcp_app.auth.sessions import DatabaseSessions
from mcp_app.dispatch.context import Caller
from mcp_app.models import CallEvent, Session, Token
from tests.admin.pages import url as page_url
from tests.admin.words import words

Issued = tuple[Token, Secret]


def url(page: str, *args: Any) -> str:
    return page_url(page, *args, model="session")


@pytest.fixture
def caller(issued: Issued) -> Caller:
    return Caller(user=issued[0].user, auth=issued[0])


@pytest.fixture
def session(caller: Caller) -> Session:
    client = {"name": "<script>alert(1)</script>", "version": "2"}
    state = DatabaseSessions().create(caller, "2025-06-18", client, {"roots": {}})
    return Session.objects.get(key=state.session_id)


def test_a_clients_name_shows_as_text(boss_client: Client, session: Session) -> None:
    for page in (url("changelist"), url("change", session.pk)):
        text = boss_client.get(page).content.decode()
        assert "&lt;script&gt;alert(1)" in text
        assert "<script>alert(1)" not in text


def test_ending_ends_and_is_logged(boss_client: Client, session: Session, caller: Caller) -> None:
    data = {"action": "end_sessions", "_selected_action": [session.pk]}
    response = boss_client.post(url("changelist"), data, follow=True)
    assert "1 session ended" in response.content.decode()
    assert DatabaseSessions().find(session.key, caller) is None
    assert LogEntry.objects.get().get_change_message() == "Ended."


def test_ending_takes_the_change_permission(
    staff_client: Callable[..., Client], session: Session, caller: Caller
) -> None:
    data = {"action": "end_sessions", "_selected_action": [session.pk]}
    staff_client("view_session").post(url("changelist"), data)
    assert DatabaseSessions().find(session.key, caller) is not None
    staff_client("view_session", "change_session").post(url("changelist"), data)
    assert DatabaseSessions().find(session.key, caller) is None


def test_nothing_else_is_changed_there(boss_client: Client, session: Session) -> None:
    assert boss_client.get(url("add")).status_code == 403
    assert boss_client.post(url("change", session.pk), {"key": "x"}).status_code == 403


def test_the_list_tells_live_from_over(boss_client: Client, session: Session) -> None:
    def listed(state: str) -> int:
        return len(boss_client.get(url("changelist"), {"state": state}).context["cl"].result_list)

    assert (listed("live"), listed("over")) == (1, 0)
    Session.objects.update(last_seen_at=timezone.now() - timedelta(days=365))
    assert (listed("live"), listed("over")) == (0, 1)


def test_the_list_has_a_plain_title(boss_client: Client, session: Session) -> None:
    assert boss_client.get(url("changelist")).context["title"] == "Sessions"


def test_moments_have_one_form_on_every_page_and_the_pages_name_their_zone(
    boss_client: Client, session: Session, settings: Any
) -> None:
    settings.TIME_ZONE = "Asia/Kathmandu"
    at = datetime(2026, 11, 30, 12, 0, 5, tzinfo=UTC)
    Session.objects.update(created_at=at, last_seen_at=timezone.now())
    CallEvent.objects.create(created_at=at, outcome="ok", tool="list_rooms")
    for page in (
        url("changelist"),
        url("connected"),
        url("change", session.pk),
        url("end", session.pk),
        page_url("changelist", model="callevent"),
        page_url("change", CallEvent.objects.get().pk, model="callevent"),
    ):
        text = boss_client.get(page).content.decode()
        assert '<time datetime="2026-11-30T17:45:05+05:45"' in text, page
        assert "2026-11-30 17:45:05" in words(text), page
        assert "Nov. 30" not in text, page
        assert words(text).count("Times are in the time zone Asia/Kathmandu.") == 1, page


def test_the_page_says_what_a_last_request_is(boss_client: Client, session: Session) -> None:
    text = words(boss_client.get(url("connected")).content.decode())
    assert "Opened Last request" in text
    assert "A session's last request is noted once a minute at most" in text


def test_the_page_of_a_session_leads_to_its_end_for_those_who_may(
    boss_client: Client, staff_client: Callable[..., Client], session: Session
) -> None:
    page, end = url("change", session.pk), f'href="{url("end", session.pk)}"'
    assert end in boss_client.get(page).content.decode()
    assert end not in staff_client("view_session").get(page).content.decode()
    Session.objects.update(ended_at=timezone.now())
    assert end not in boss_client.get(page).content.decode()
