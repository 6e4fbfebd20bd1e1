"""A new secret that opens no tool says so, by what answers `tools/list`, and says why."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import DatabaseError
from django.test import Client

from mcp_app.access.in_force import Announced
from mcp_app.access.switches import turn
from mcp_app.auth.tokens import newest_secret_id
from mcp_app.catalog.registry import default_server
from mcp_app.models import Switch, SwitchKind, Token
from mcp_app.testing import MCPClient
from tests.account import pages as account
from tests.admin.pages import hidden, secrets_on, url

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
