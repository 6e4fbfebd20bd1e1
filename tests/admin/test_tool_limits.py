"""Which tools a token may call, as the admin asks and shows it: any, some, or none at all."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils.html import strip_tags

from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import issue, narrowing, revoke
from mcp_app.catalog.registry import default_server
from mcp_app.models import Token
from tests.admin.pages import hidden, secrets_on, url


def text_of(page: Any) -> str:
    return unescape(strip_tags(page.content.decode()))


def new(client: Client, user: Any, **tools: Any) -> dict[str, Any]:
    lookup = hidden(client.get(url("add")), "lookup")
    return {"user": user.pk, "name": "laptop", "expiry": "30", "lookup": lookup, **tools}


def changed(token: Token, **tools: Any) -> dict[str, Any]:
    secrets = {"secrets-TOTAL_FORMS": "0", "secrets-INITIAL_FORMS": "0"}
    return {"name": token.name, "note": "", **secrets, **tools}


def ticked(page: Any) -> list[str]:
    return re.findall(r'name="tools_names" value="(\w+)"[^>]* checked', page.content.decode())


def shown(page: Any) -> dict[str, Any]:
    """What a browser would send of the two controls as they stand."""
    [chosen] = re.findall(r'name="tools_limit" value="(\w+)"[^>]* checked', page.content.decode())
    return {"tools_limit": chosen, "tools_names": ticked(page)}


@pytest.mark.parametrize(
    ("tools", "stored"),
    [
        ({"tools_limit": "any"}, None),
        ({"tools_limit": "any", "tools_names": []}, None),
        ({"tools_limit": "only"}, []),
        (
            {"tools_limit": "only", "tools_names": ["list_rooms", "announce"]},
            ["announce", "list_rooms"],
        ),
    ],
)
def test_the_choice_is_what_the_token_may_call(
    tools: dict[str, Any], stored: list[str] | None, boss_client: Client, ana: Any
) -> None:
    assert secrets_on(boss_client.post(url("add"), new(boss_client, ana, **tools)))
    token = Token.objects.get()
    assert token.tools == stored
    assert narrowing(token)["tools"] == (None if stored is None else frozenset(stored))
    # Saved as it is shown, it stays what it is.
    sent = shown(boss_client.get(url("change", token.pk)))
    assert boss_client.post(url("change", token.pk), changed(token, **sent)).status_code == 302
    token.refresh_from_db()
    assert token.tools == stored


@pytest.mark.parametrize(
    ("tools", "sentence"),
    [
        ({}, "This field is required"),
        ({"tools_names": "list_rooms"}, "This field is required"),
        ({"tools_limit": "all"}, "all is not one of the available choices"),
        ({"tools_limit": "any", "tools_names": "list_rooms"}, "Tools are ticked, but any tool"),
        (
            {"tools_limit": "only", "tools_names": "list_roms"},
            "list_roms is not one of the available",
        ),
    ],
)
def test_what_is_not_clear_issues_and_changes_nothing(
    tools: dict[str, str],
    sentence: str,
    boss_client: Client,
    ana: Any,
    issued: tuple[Token, Secret],
) -> None:
    token, _ = issued
    for page, data in (
        (url("add"), new(boss_client, ana, **tools)),
        (url("change", token.pk), changed(token, **tools)),
    ):
        answer = boss_client.post(page, data)
        assert answer.status_code == 200
        assert sentence in text_of(answer)
        # What was ticked is there to be mended.
        known = {"list_rooms"} & {tools.get("tools_names", "")}
        assert set(ticked(answer)) == known
    assert list(Token.objects.values_list("pk", "tools")) == [(token.pk, None)]


def test_a_limited_token_is_made_unlimited_and_back(
    boss_client: Client, issued: tuple[Token, Secret]
) -> None:
    token, _ = issued
    steps: list[tuple[dict[str, str], list[str] | None]] = [
        ({"tools_limit": "only", "tools_names": "list_rooms"}, ["list_rooms"]),
        ({"tools_limit": "only"}, []),
        ({"tools_limit": "any"}, None),
    ]
    for tools, stored in steps:
        answer = boss_client.post(url("change", token.pk), changed(token, **tools))
        assert answer.status_code == 302
        token.refresh_from_db()
        assert token.tools == stored


@pytest.mark.parametrize(
    ("tools", "cell"),
    [(None, "any tool that its user may"), ([], "none"), (["list_rooms"], "list_rooms")],
)
def test_who_may_not_change_it_reads_what_it_may_call(
    tools: list[str] | None,
    cell: str,
    boss_client: Client,
    staff_client: Callable[..., Client],
    ana: Any,
) -> None:
    token, _ = issue(user=ana, name="laptop", tools=tools)
    looking = staff_client("view_token").get(url("change", token.pk))
    revoke(token)
    for page in (looking, boss_client.get(url("change", token.pk))):
        row = page.content.decode().split("field-tools_shown")[1].split("field-")[0]
        assert strip_tags(row).split(":")[1].split("\n\n")[0].strip().startswith(cell)


def test_the_list_tells_none_from_any(boss_client: Client, ana: Any) -> None:
    for tools in (None, []):
        Token.objects.all().delete()
        issue(user=ana, name="laptop", tools=tools)
        page = boss_client.get(url("changelist")).content.decode()
        assert ("no tools" in page) is (tools == [])


def test_each_tool_is_offered_once_with_what_it_is_for(boss_client: Client) -> None:
    page = boss_client.get(url("add"))
    names = re.findall(r'name="tools_names" value="(\w+)"', page.content.decode())
    assert names == sorted(default_server.tools)
    assert "Close a room for good" in text_of(page)


def test_each_tool_says_whether_it_writes_and_what_scopes_it_needs(boss_client: Client) -> None:
    page = unescape(strip_tags(boss_client.get(url("add")).content.decode()))
    told = " ".join(page.split())
    assert "list_rooms (only reads): List rooms" in told
    assert "announce (writes, needs rooms:write): Send" in told
    assert "close_room (writes, needs rooms:write): Close a room for good" in told


def test_the_list_is_folded_by_style_and_its_boxes_rest_by_a_script_of_its_own(
    boss_client: Client, issued: tuple[Token, Secret]
) -> None:
    for page in (url("add"), url("change", issued[0].pk)):
        html = boss_client.get(page).content.decode()
        assert re.search(r'<script src="[^"]*mcp_app/tools\.js" defer></script>', html)
        # Without the script all of it can be used as ever.
        assert not re.search(r'name="tools_names"[^>]* disabled', html)


def test_a_tool_that_there_is_no_more_is_shown_and_taken_away(
    boss_client: Client, issued: tuple[Token, Secret]
) -> None:
    token, _ = issued
    Token.objects.filter(pk=token.pk).update(tools=["list_rooms", "gone_tool"])
    page = boss_client.get(url("change", token.pk))
    assert sorted(ticked(page)) == ["gone_tool", "list_rooms"]
    assert "gone_tool (no longer declared: it allows nothing)" in text_of(page)
    kept = {"tools_limit": "only", "tools_names": ["list_rooms"]}
    assert boss_client.post(url("change", token.pk), changed(token, **kept)).status_code == 302
    token.refresh_from_db()
    assert token.tools == ["list_rooms"]


def test_the_ticked_tools_come_first(boss_client: Client, ana: Any) -> None:
    ticked = sorted(default_server.tools)[-2:]
    token, _ = issue(user=ana, name="laptop", tools=ticked)
    page = boss_client.get(url("change", token.pk)).content.decode()
    offered = re.findall(r'name="tools_names" value="([^"]*)"', page)
    assert offered[:2] == ticked
    assert offered[2:] == sorted(set(default_server.tools) - set(ticked))
    sent = {"tools_limit": "only", "tools_names": ticked[1:]}
    page = boss_client.post(url("change", token.pk), sent).content.decode()
    assert re.findall(r'name="tools_names" value="([^"]*)"', page)[0] == ticked[1]
