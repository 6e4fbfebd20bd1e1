"""The page of one call: it reads from who to what came of it, and says what is not recorded."""

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.admin import AdminSite
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import path, reverse
from django.utils import timezone

from mcp_app.admin import CallEventAdmin
from mcp_app.models import CallEvent, Session, Token
from mcp_app.testing import MCPClient
from tests.admin.pages import url as page_url


def url(page: str, *args: Any) -> str:
    return page_url(page, *args, model="callevent")


def read(client: Client, event: CallEvent) -> str:
    """The page's text, without tags, in single spaces."""
    response = client.get(url("change", event.pk))
    assert response.status_code == 200
    main = response.content.decode().partition('class="mcp-story"')[2].partition("</article>")[0]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", f"<{main}")).split())


def around(client: Client, event: CallEvent) -> list[int]:
    rows = client.get(url("change", event.pk)).context["around"].rows
    return [row.pk for row in rows]


@pytest.fixture
def who(issued: Any, ana: Any) -> dict[str, Any]:
    """What a row says of Ana and her token."""
    token, secret = issued
    return {
        "user": ana,
        "username": "ana",
        "token": token,
        "token_name": "laptop",
        "token_lookup": secret.reveal()[4:16],
    }


@pytest.fixture
def denied(who: dict[str, Any]) -> CallEvent:
    """A call that a scope was missing for."""
    return CallEvent.objects.create(
        **who,
        source="token",
        method="tools/call",
        tool="close_room",
        transport="asgi",
        protocol_version="2026-07-28",
        client_name="Claude Code",
        client_version="2.1",
        address="203.0.113.7",
        decision="deny",
        outcome="denied",
        error_class="InsufficientScope",
        error_text="token lacks the scopes rooms:write",
        correlation_id="a" * 32,
        arguments={"room": "[redacted]"},
        duration_ms=3.25,
        request_id="7",
    )


def test_it_tells_who_what_which_gate_and_what_came_of_it(
    boss_client: Client, denied: CallEvent
) -> None:
    told = read(boss_client, denied)
    in_order = [
        "Denied The user may do this, but not with this token.",
        "Who called User ana",
        f"Token laptop mcp_{denied.token_lookup}_…",
        "From where Client Claude Code 2.1",
        "Address 203.0.113.7",
        "Transport asgi, protocol 2026-07-28",
        "What was asked for Method tools/call request 7",
        "close_room",
        '"room": "[redacted]"',
        "Which gate decided Decision Denied Gate Scopes of the token",
        "the token lacks a scope that is needed",
        "Error InsufficientScope",
        "Error text token lacks the scopes rooms:write",
        "Duration 3.2 ms",
        "Result size not recorded",
        f"Correlation id {'a' * 32}",
        "Sealed not yet: a change of this row would not be found",
    ]
    places = [told.find(part) for part in in_order]
    assert -1 not in places, in_order[places.index(-1)]
    assert places == sorted(places)


def test_what_is_not_recorded_is_said_to_be_so(boss_client: Client, db: None) -> None:
    told = read(boss_client, CallEvent.objects.create(outcome="denied"))
    for part in (
        "nobody: the request was not authenticated",
        "Token none",
        "Client did not say",
        "Address not recorded",
        "Method not recorded",
        "Arguments none are kept",
        "Decision not recorded",
        "Gate Not recorded This row does not tell which gate decided.",
        "Duration not recorded",
    ):
        assert part in told, part


def test_a_failed_call_leads_to_the_log(boss_client: Client, db: None) -> None:
    event = CallEvent.objects.create(
        outcome="failed", decision="allow", correlation_id="b" * 32, result_bytes=2048
    )
    told = read(boss_client, event)
    assert "the traceback is in the server's log under the same id" in told
    assert "Gate All let it in" in told
    assert "2.0 KB" in told


def test_a_call_whose_user_is_asked_says_that_it_waits(boss_client: Client) -> None:
    event = CallEvent.objects.create(
        tool="refund", method="tools/call", outcome="waiting", decision="confirm"
    )
    told = read(boss_client, event)
    assert "Waits for a yes" in told
    assert "The user is asked whether it may run, and no answer is recorded" in told
    assert "Nothing has run." in told
    assert "Confirmation A person is asked to agree before it runs." in told


def test_it_says_who_stopped_a_call_and_who_did_not_answer(boss_client: Client, db: None) -> None:
    stopped = CallEvent.objects.create(
        outcome="cancelled", decision="allow", error_class="Cancelled", error_text="stopped by boss"
    )
    assert "An administrator stopped it: boss." in read(boss_client, stopped)
    unanswered = CallEvent.objects.create(outcome="error", error_class="Unanswered")
    assert "The tool asked the user something, and nobody answered in time." in read(
        boss_client, unanswered
    )
    left = CallEvent.objects.create(outcome="cancelled", decision="allow")
    assert "It was cancelled before it ended." in read(boss_client, left)


@pytest.fixture
def refused(who: dict[str, Any]) -> CallEvent:
    """A call with a secret that had ended."""
    return CallEvent.objects.create(
        **who,
        method="tools/call",
        outcome="unauthenticated",
        error_class="Unauthenticated",
        error_text="rotated",
    )


def test_a_secret_that_is_over_is_told_by_its_token(
    boss_client: Client, refused: CallEvent
) -> None:
    told = read(boss_client, refused)
    assert "Nobody knows" not in told
    assert "Its secret is over: it was replaced by a newer one, or ended alone." in told
    assert "User ana whose token it is: the request was not let in" in told
    assert f"Token laptop mcp_{refused.token_lookup}_…" in told
    refused.delete()
    forged = CallEvent.objects.create(
        token_lookup="AbCdEfGhIjKl", outcome="unauthenticated", error_text="mismatch"
    )
    told = read(boss_client, forged)
    assert "Its secret is not genuine. Nobody knows who that was." in told
    assert "User nobody: the request was not authenticated" in told
    assert "Token none that is known: mcp_AbCdEfGhIjKl_… is what the request said" in told


def test_the_gate_leads_to_what_the_gates_say_now(
    boss_client: Client, denied: CallEvent, staff_client: Callable[..., Client]
) -> None:
    def gate(client: Client) -> str:
        text = client.get(url("change", denied.pk)).content.decode()
        return text.partition("Which gate decided")[2].partition("</section>")[0]

    link = reverse("admin:mcp_app_catalogue_explain")
    assert f'href="{link}?of=default%3Atool%3Aclose_room&amp;user=ana&amp;token=' in gate(
        boss_client
    )
    assert link not in gate(staff_client("view_callevent"))


def test_the_header_still_greets_whoever_reads(boss_client: Client, denied: CallEvent) -> None:
    text = boss_client.get(url("change", denied.pk)).content.decode()
    assert "<strong>boss</strong>" in text.partition('id="user-tools"')[2].partition("</div>")[0]


def test_the_calls_around_it_are_those_of_its_session(boss_client: Client, issued: Any) -> None:
    now = timezone.now()

    def make(minutes: int, session: str = "one", token: Token | None = issued[0]) -> int:
        at = now + timedelta(minutes=minutes)
        row = CallEvent.objects.create(
            outcome="ok", created_at=at, session_id=session, token=token, username="ana"
        )
        return int(row.pk)

    before = [make(minutes) for minutes in range(-8, 0)]
    this = make(0)
    after = [make(minutes) for minutes in range(1, 3)]
    make(0, session="two")
    make(0, token=None)
    make(-60 * 25)
    event = CallEvent.objects.get(pk=this)
    assert around(boss_client, event) == [*before[-5:], this, *after]
    assert "in the same session" in read(boss_client, event)


@pytest.mark.parametrize(
    ("shared", "said"),
    [
        ({"token_id": 7}, "with the same token"),
        ({"user_id": 7}, "by the same user"),
        ({"address": "203.0.113.7"}, "from the same address"),
    ],
)
def test_without_a_session_they_share_the_next_best(
    shared: dict[str, Any], said: str, boss_client: Client, db: None
) -> None:
    at = timezone.now()
    same = [CallEvent.objects.create(outcome="ok", created_at=at, **shared) for _ in range(3)]
    CallEvent.objects.create(outcome="ok", created_at=at)
    assert around(boss_client, same[1]) == [event.pk for event in same]
    assert f"The calls around it, {said}" in read(boss_client, same[1])


def test_it_leads_to_the_calls_that_share_something(boss_client: Client, denied: CallEvent) -> None:
    text = boss_client.get(url("change", denied.pk)).content.decode()
    listed = url("changelist")
    for query in (
        "user=ana",
        f"token=mcp_{denied.token_lookup}",
        "tool=close_room",
        "client=Claude+Code",
    ):
        assert f'<a href="{listed}?{query}">' in text
        found = boss_client.get(f"{listed}?{query}").context["cl"].result_list
        assert [event.pk for event in found] == [denied.pk]


def test_a_call_leads_to_its_session_and_that_to_its_calls(
    boss_client: Client, staff_client: Callable[..., Client], denied: CallEvent, issued: Any
) -> None:
    denied.session_id = key = "e" * 32
    denied.save()
    token, story = issued[0], url("change", denied.pk)
    listed = f"{url('changelist')}?session={key}"
    calls = f"{listed}&token=mcp_{denied.token_lookup}"
    text = unescape(boss_client.get(story).content.decode())
    assert f'<a href="{calls}">Calls of this session</a>' in text
    assert f"<code>{key}</code>" in text, "a session that is deleted has no page"
    session = Session.objects.create(key=key, token=token, user=token.user, protocol_version="x")
    page = page_url("change", session.pk, model="session")
    way = f'<code><a href="{page}">{key}</a></code>'
    assert way in boss_client.get(story).content.decode()
    assert f'<a href="{listed}">' in boss_client.get(page).content.decode()
    for address in (calls, listed):
        found = boss_client.get(address).context["cl"].result_list
        assert [event.pk for event in found] == [denied.pk]
    assert way not in staff_client("view_callevent").get(story).content.decode()
    assert listed not in staff_client("view_session").get(page).content.decode()


def test_a_token_leads_to_its_calls(boss_client: Client, denied: CallEvent, issued: Any) -> None:
    text = boss_client.get(page_url("change", issued[0].pk)).content.decode()
    address = f"{url('changelist')}?token=mcp_{denied.token_lookup}"
    assert f'<a href="{address}">Calls</a>' in text
    found = boss_client.get(address).context["cl"].result_list
    assert [event.pk for event in found] == [denied.pk]


def test_a_token_leads_to_no_calls_for_those_who_may_not_see_them(
    staff_client: Callable[..., Client], denied: CallEvent, issued: Any
) -> None:
    text = staff_client("view_token").get(page_url("change", issued[0].pk)).content.decode()
    assert url("changelist") not in text


def test_a_user_leads_to_their_calls(
    staff_client: Callable[..., Client], boss_client: Client, denied: CallEvent, ana: Any
) -> None:
    page = reverse("admin:auth_user_change", args=[ana.pk])
    link = f'<a href="{url("changelist")}?user=ana">Calls</a>'
    text = boss_client.get(page).content.decode()
    assert link in text
    assert "History" in text
    elsewhere = staff_client("view_token")
    allowed = Permission.objects.get(codename="view_user")
    get_user_model().objects.get(pk=elsewhere.session["_auth_user_id"]).user_permissions.add(
        allowed
    )
    text = elsewhere.get(page).content.decode()
    assert "History" in text
    assert url("changelist") not in text
    assert boss_client.get(reverse("admin:auth_user_add")).status_code == 200


def test_seeing_and_deleting_take_their_permissions(
    staff_client: Callable[..., Client], denied: CallEvent
) -> None:
    address, deletes = url("change", denied.pk), url("delete", denied.pk)
    assert staff_client("view_token").get(address).status_code == 403
    assert deletes not in staff_client("view_callevent").get(address).content.decode()
    allowed = staff_client("view_callevent", "delete_callevent")
    assert deletes in allowed.get(address).content.decode()
    assert Client().get(address).status_code == 302


def test_a_call_that_is_gone_leads_back(boss_client: Client, db: None) -> None:
    assert boss_client.get(url("change", 12345)).status_code == 302
    assert boss_client.get(url("change", "no-number")).status_code == 302


def test_it_asks_the_database_little(boss_client: Client, denied: CallEvent) -> None:
    boss_client.get(url("change", denied.pk))
    with CaptureQueriesContext(connection) as queries:
        boss_client.get(url("change", denied.pk))
    # The session and its user; the call, its user and token, two for its neighbours, the seal;
    # what is closed.
    assert len(queries) <= 9


def test_it_stands_under_another_admin_site(boss_client: Client, denied: CallEvent) -> None:
    site = AdminSite(name="story_site")
    site.register(CallEvent, CallEventAdmin)
    with override_settings(ROOT_URLCONF=type("urls", (), {"urlpatterns": [path("x/", site.urls)]})):
        address = reverse("story_site:mcp_app_callevent_change", args=[denied.pk])
        text = boss_client.get(address).content.decode()
        listed = reverse("story_site:mcp_app_callevent_changelist")
    assert f'<a href="{listed}?user=ana">' in text
    assert "ana</dd>" in text


@pytest.mark.parametrize(
    ("tool", "by"), [("list_rooms", "CanView"), ("server_stats", "IsAdminUser")]
)
def test_a_denied_call_names_the_permission_class_that_said_no(
    boss_client: Client, issued: Any, tool: str, by: str
) -> None:
    MCPClient(issued[1].reveal()).call(tool)
    event = CallEvent.objects.get()
    text = read(boss_client, event)
    assert f"Gate Permission classes {by} It exists, and this class refused the user." in text
    explain = f"of=default%3Atool%3A{tool}&amp;user=ana&amp;token={event.token_lookup}"
    assert explain in boss_client.get(url("change", event.pk)).content.decode()


def test_a_row_that_names_no_class_tells_of_the_classes(
    boss_client: Client, who: dict[str, Any]
) -> None:
    event = CallEvent.objects.create(
        **who,
        outcome="denied",
        decision="deny",
        error_class="UnknownTool",
        error_text="permission classes refused",
    )
    assert "Permission classes It exists, and its permission classes refused" in read(
        boss_client, event
    )
