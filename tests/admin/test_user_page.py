"""From a user's page to their tokens, and to the form that issues one, for those who may."""

import re
from collections.abc import Callable
from html import unescape
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.test import Client, RequestFactory
from django.urls import reverse

from mcp_app.admin.links import issue_url, tokens_url
from mcp_app.admin.token_pages import may_act_as
from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import issue
from mcp_app.models import Token
from tests.admin.pages import url

Issued = tuple[Token, Secret]


def links_on(client: Client, user: Any) -> dict[str, str]:
    """The buttons of a user's page: what they say, and where they lead."""
    page = client.get(reverse("admin:auth_user_change", args=[user.pk]))
    assert page.status_code == 200
    tools = page.content.decode().split('class="object-tools"')[1].split("</ul>")[0]
    found = re.findall(r'<a href="([^"]+)"[^>]*>([^<]+)</a>', tools)
    return {said: unescape(address) for address, said in found}


@pytest.fixture
def clerk(staff_client: Callable[..., Client], django_user_model: Any) -> Callable[..., Client]:
    """Make a browser of a staff member who may see users, and more."""

    def make(*codenames: str) -> Client:
        client = staff_client(*codenames)
        person = django_user_model.objects.get(pk=client.session["_auth_user_id"])
        person.user_permissions.add(Permission.objects.get(codename="view_user"))
        return client

    return make


def test_a_user_leads_to_their_tokens_and_no_others(
    clerk: Callable[..., Client], issued: Issued, boss: Any, ana: Any
) -> None:
    issue(user=boss, name="of ana's boss")
    client = clerk("view_token")
    listed = client.get(links_on(client, ana)["Tokens"])
    assert [token.pk for token in listed.context["cl"].result_list] == [issued[0].pk]
    assert "By user" in listed.content.decode()
    assert "By user" not in client.get(url("changelist")).content.decode()


@pytest.mark.parametrize("name", ["nobody", "\0", "' or 1=1"])
def test_a_name_that_nobody_has_has_no_tokens(
    name: str, boss_client: Client, issued: Issued
) -> None:
    listed = boss_client.get(url("changelist"), {"user": name})
    assert listed.status_code == 200
    assert list(listed.context["cl"].result_list) == []


def test_a_user_leads_to_the_form_with_their_name_in_it(
    clerk: Callable[..., Client], boss_client: Client, ana: Any
) -> None:
    found = boss_client.get(links_on(boss_client, ana)["Issue a token"])
    assert re.search(rf'<option value="{ana.pk}" selected>ana</option>', found.content.decode())
    # Who finds users there types their names.
    client = clerk("add_token")
    found = client.get(links_on(client, ana)["Issue a token"])
    assert re.search(rf'<option value="{ana.pk}" selected>ana</option>', found.content.decode())


def test_each_button_takes_its_permission(clerk: Callable[..., Client], ana: Any) -> None:
    buttons = {"Tokens", "Issue a token"}
    assert buttons & set(links_on(clerk(), ana)) == set()
    assert buttons & set(links_on(clerk("view_token"), ana)) == {"Tokens"}
    assert buttons & set(links_on(clerk("add_token"), ana)) == {"Issue a token"}


def test_no_token_is_offered_where_the_form_would_refuse_it(
    clerk: Callable[..., Client], boss_client: Client, boss: Any, ana: Any
) -> None:
    assert "Issue a token" in links_on(boss_client, boss)
    assert "Issue a token" not in links_on(clerk("add_token"), boss)
    ana.is_active = False
    ana.save()
    assert "Issue a token" not in links_on(boss_client, ana)


def test_users_of_a_model_without_superusers_are_all_alike() -> None:
    plain = SimpleNamespace()
    assert may_act_as(SimpleNamespace(user=plain), plain)


def test_the_page_of_what_is_no_user_leads_to_no_tokens(rf: RequestFactory, boss: Any) -> None:
    request = rf.get("/")
    request.user = boss
    request.current_app = "admin"  # type: ignore[attr-defined]
    assert "" not in (tokens_url(request, boss), issue_url(request, boss))
    assert (tokens_url(request, Token()), issue_url(request, Token())) == ("", "")


def test_a_form_that_takes_names_has_the_name(
    boss_client: Client, ana: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = admin.site._registry[type(ana)]
    monkeypatch.setattr(type(users), "search_fields", ())
    found = boss_client.get(links_on(boss_client, ana)["Issue a token"])
    assert 'type="text" name="user" value="ana"' in found.content.decode()
