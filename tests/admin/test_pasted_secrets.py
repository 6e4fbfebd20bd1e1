"""A secret that is pasted into a search stays in no address: it is cut to its public prefix."""

import re
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from mcp_app.auth.hashing import Secret, public
from mcp_app.models import Token
from tests.admin.pages import url

Issued = tuple[Token, Secret]

PAGES = [
    *((model, "changelist") for model in ("token", "callevent", "session", "switch", "catalogue")),
    *(("callevent", page) for page in ("overview", "tail")),
    *(("catalogue", page) for page in ("explain", "view-as", "callers")),
]


@pytest.mark.parametrize(("model", "page"), PAGES)
def test_an_address_with_a_secret_leads_to_one_with_its_prefix(
    model: str, page: str, boss_client: Client, issued: Issued
) -> None:
    secret = issued[1].reveal()
    answer = boss_client.get(url(page, model=model), {"q": f"Bearer {secret}", "user": secret})
    assert answer.status_code == 302
    prefix = secret[:16]
    assert answer["Location"] == f"{url(page, model=model)}?q=Bearer+{prefix}&user={prefix}"
    [said] = map(str, get_messages(answer.wsgi_request))
    assert "cut to its public prefix" in said
    assert secret[16:] not in f"{answer.headers}{boss_client.cookies}"


def test_a_token_is_found_by_a_pasted_secret(boss_client: Client, issued: Issued) -> None:
    token, secret = issued
    found = boss_client.get(url("changelist"), {"q": secret.reveal()}, follow=True)
    text = found.content.decode()
    assert token.name in text
    assert "cut to its public prefix" in text
    assert secret.reveal() not in text


def test_what_is_no_secret_is_left_as_it_is(boss_client: Client, issued: Issued) -> None:
    for typed in ("laptop", str(issued[0].secrets.get()), "mcp_short_secret", "mcp_" + "a" * 12):
        assert public(typed) == typed
        assert boss_client.get(url("changelist"), {"q": typed}).status_code == 200


def test_a_part_of_a_secret_is_cut_too(issued: Issued) -> None:
    secret = issued[1].reveal()
    assert public(f"a {secret[:30]}, {secret}!") == f"a {secret[:16]}, {secret[:16]}!"


def test_an_act_on_what_was_found_is_not_led_away(boss_client: Client, issued: Issued) -> None:
    token, secret = issued
    acting: dict[str, Any] = {"action": "revoke_tokens", "_selected_action": [token.pk]}
    found = f"{url('changelist')}?q={secret.reveal()}"
    assert boss_client.post(found, acting).status_code == 200


@pytest.mark.parametrize(("model", "page"), PAGES)
def test_each_page_has_the_script_that_cuts_it_first(
    model: str, page: str, boss_client: Client
) -> None:
    text = boss_client.get(url(page, model=model)).content.decode()
    script = re.search(r'<script[^>]*src="[^"]*mcp_app/public.js"[^>]*>', text)
    assert script
    assert "data-cut=" in script[0]
