"""Sessions in the admin: to read, and to end."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from mcp_app.auth.hashing import Secret
from mcp_app.auth.sessions import DatabaseSessions
from mcp_app.dispatch.context import Caller
from mcp_app.models import Session, Token
from tests.admin.pages import url as page_url

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
