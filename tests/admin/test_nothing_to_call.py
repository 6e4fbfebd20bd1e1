"""A new secret that opens no tool says so, by what answers `tools/list`, and says why."""

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import DatabaseError
from django.test import Client

from mcp_app.access.in_force import Announced
from mcp_app.access.switches import turn
from mcp_app.auth.tokens import issue, newest_secret_id, revoke
from mcp_app.catalog.registry import default_server
from mcp_app.models import Switch, SwitchKind, Token
from mcp_app.testing import MCPClient
from tests.account import pages as account
from tests.admin.pages import hidden, secrets_on, url
from tests.admin.words import words

NOTHING = "This token can call no tool now."
FOR_ALL = ("leaderboard_countries", "replay_solo_ledger")


@pytest.fixture(autouse=True)
def guarded() -> Iterator[None]:
    """No tool is for everybody."""
    taken = [default_server.remove(name) for name in FOR_ALL]
    yield
    for tool in taken:
        assert tool is not None
        default_server.add(tool)


def allow(user: Any, *codenames: str) -> None:
    found = Permission.objects.filter(content_type__app_label="quiz", codename__in=codenames)
    user.user_permissions.set(found)
    assert len(found) == len(codenames)


def issued(client: Client, user: Any, **changes: Any) -> Any:
    """The page that shows a new secret."""
    form = {"user": user.pk, "name": "laptop", "tools_limit": "any", "expiry": "30"}
    lookup = hidden(client.get(url("add")), "lookup")
    return client.post(url("add"), {**form, "lookup": lookup, **changes})


@pytest.mark.parametrize(
    ("permissions", "limits", "why"),
    [
        ((), {}, "Its user has no permission for any tool."),
        (("view_room",), {"tools_limit": "only"}, "It is limited to no tool at all."),
        (
            ("view_room",),
            {"tools_limit": "only", "tools_names": ["announce"]},
            "None of the tools that its user may call is within its limits.",
        ),
        (
            ("change_room",),
            {"scopes": ["rooms:write"], "read_only": "on"},
            "None of the tools that its user may call is within its limits.",
        ),
        (("change_room",), {}, "Each tool that it might call needs a scope: rooms:write."),
        (("change_room",), {"scopes": ["rooms:write"]}, ""),
        (("view_room",), {}, ""),
        (("view_room",), {"tools_limit": "only", "tools_names": ["get_room"]}, ""),
    ],
)
def test_the_page_says_what_the_endpoint_lists(
    permissions: tuple[str, ...],
    limits: dict[str, Any],
    why: str,
    boss_client: Client,
    ana: Any,
) -> None:
    allow(ana, *permissions)
    page = issued(boss_client, ana, **limits)
    [secret] = secrets_on(page)
    text = account.text_of(page)
    assert (NOTHING in text) is bool(why) is not bool(MCPClient(secret).tools())
    assert why in text


def test_a_rotated_token_and_ones_own_are_told_of_too(boss_client: Client, ana: Any) -> None:
    browser = Client()
    browser.force_login(ana)
    page = browser.post(account.url("issue"), account.new(browser))
    assert len(secrets_on(page)) == 1
    assert f"{NOTHING} Its user has no permission" in account.text_of(page)
    token = Token.objects.get()
    form = {"grace": "0", "seconds": "", "expected": newest_secret_id(token)}
    rotated = boss_client.post(url("rotate", token.pk), form)
    assert len(secrets_on(rotated)) == 1
    assert NOTHING in account.text_of(rotated)


def test_the_page_of_a_token_says_it_and_leads_to_who_explains_it(
    boss_client: Client, ana: Any
) -> None:
    token, secret = issue(user=ana, name="laptop", scopes=["rooms:write"])
    page = boss_client.get(url("change", token.pk)).content.decode()
    assert f"{NOTHING} Its user has no permission for any tool." in words(page)
    lookup = secret.reveal()[4:16]
    [gates] = re.findall(r'href="([^"]*/explain/\?[^"]*)"', page)
    text = words(boss_client.get(unescape(gates)).content.decode())
    assert "laptop" in text
    assert "This field is required" not in text
    assert f'/view-as/?user=ana&amp;token={lookup}"' in page
    allow(ana, "view_room", "change_room")
    page = words(boss_client.get(url("change", token.pk)).content.decode())
    assert NOTHING not in page
    assert re.search(r"It can call (\d+) of \d+ tools now:.* list_rooms ", page)
    revoke(token)
    page = words(boss_client.get(url("change", token.pk)).content.decode())
    assert "It can call" not in page


def test_the_form_says_what_the_token_would_open(boss_client: Client, ana: Any) -> None:
    def told(**asked: Any) -> str:
        answer = boss_client.get(url("reach"), {"tools_limit": "any", **asked})
        assert "no-store" in answer["Cache-Control"]
        return words(answer.content.decode())

    form = boss_client.get(url("add")).content.decode()
    assert f'data-url="{url("reach")}"' in form
    assert "mcp_app/reach.js" in form
    assert "Once a user is chosen" in told()
    assert f"{NOTHING} Its user has no permission" in told(user=ana.pk)
    allow(ana, "view_room", "change_room")
    may = told(user=ana.pk)
    assert "list_rooms" in may
    assert "close_room" not in may
    assert "close_room" in told(user=ana.pk, scopes=["rooms:write"])
    assert "close_room" not in told(user=ana.pk, scopes=["rooms:write"], read_only="on")
    only = told(user=ana.pk, tools_limit="only", tools_names=["get_room"])
    assert "It can call 1 of" in only
    assert "get_room" in only
    assert not Token.objects.exists()


def test_what_a_token_would_open_is_told_to_who_may_issue_it(
    staff_client: Callable[..., Client], ana: Any, boss: Any
) -> None:
    asked = {"tools_limit": "any", "user": "ana"}
    assert staff_client("view_token").get(url("reach"), asked).status_code == 403
    clerk = staff_client("add_token")
    text = clerk.get(url("reach"), asked).content.decode()
    assert NOTHING in words(text)
    assert "href" not in text
    assert "Once a user is chosen" in words(
        clerk.get(url("reach"), {**asked, "user": "boss"}).content.decode()
    )


def test_what_is_switched_off_is_not_called_a_lack_of_permission(
    boss_client: Client, ana: Any
) -> None:
    allow(ana, "change_room")
    turn(Switch(kind=SwitchKind.READ_ONLY, server=default_server.name, reason="Moving."))
    page = account.text_of(issued(boss_client, ana, scopes=["rooms:write"]))
    assert f"{NOTHING} All that it might call is switched off at present." in page


def test_a_secret_is_shown_also_where_it_cannot_be_found_out_what_it_opens(
    boss_client: Client, ana: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(ana, "view_room")

    def away(self: Announced) -> Any:
        raise DatabaseError

    monkeypatch.setattr(Announced, "take", away)
    page = issued(boss_client, ana)
    assert len(secrets_on(page)) == 1
    assert NOTHING not in account.text_of(page)
