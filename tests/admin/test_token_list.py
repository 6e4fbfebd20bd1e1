"""The list and the page of tokens: status, last use, search, and what cannot be changed there."""

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.test import Client, override_settings
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import strip_tags

from mcp_app.admin import CallEventAdmin, TokenAdmin
from mcp_app.audit.periods import to_the_minute
from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import end_secret, issue, revoke, rotate
from mcp_app.auth.verification import verify
from mcp_app.models import CallEvent, Token
from tests.admin.pages import url

Issued = tuple[Token, Secret]


def address(page: str, *args: Any) -> str:
    """The address of a page on the site called "behind"."""
    return reverse(f"admin:mcp_app_{page}", args=args, current_app="behind")


def names(response: Any) -> set[str]:
    return {token.name for token in response.context["cl"].result_list}


def row_of(response: Any, name: str) -> str:
    """A token's row of the list, as a person reads it."""
    rows = response.content.decode().split("<tbody>")[1].split("</tr>")
    [row] = [text for row in rows if name in (text := unescape(strip_tags(row)))]
    return " ".join(row.split())


@pytest.fixture
def each(ana: Any) -> dict[str, Token]:
    """A token of each status."""
    soon = timezone.now() + timedelta(days=3)
    tokens = {
        "active": issue(user=ana, name="active")[0],
        "expiring": issue(user=ana, name="expiring", expires_at=soon)[0],
        "expired": issue(user=ana, name="expired")[0],
        "revoked": issue(user=ana, name="revoked")[0],
        "no_secret": issue(user=ana, name="no_secret")[0],
    }
    Token.objects.filter(name="expired").update(expires_at=timezone.now())
    revoke(tokens["revoked"])
    end_secret(tokens["no_secret"], tokens["no_secret"].secrets.get().lookup)
    return tokens


def test_the_list_filters_by_status(boss_client: Client, each: dict[str, Token]) -> None:
    for status in each:
        assert names(boss_client.get(url("changelist"), {"status": status})) == {status}
    assert names(boss_client.get(url("changelist"))) == set(each)


def test_a_token_none_of_whose_secrets_works_says_so(
    boss_client: Client, each: dict[str, Token]
) -> None:
    page = boss_client.get(url("changelist"))
    assert "No working secret" in row_of(page, "no_secret")
    for name in set(each) - {"no_secret"}:
        assert "No working secret" not in row_of(page, name)
    change = boss_client.get(url("change", each["no_secret"].pk)).content.decode()
    assert "No working secret" in change


def test_the_list_says_until_when_an_old_secret_works_and_whether_it_is_used(
    boss_client: Client, issued: Issued
) -> None:
    token, old = issued
    new = rotate(token, grace=timedelta(hours=1))
    ends_at = token.secrets.order_by("pk")[0].valid_until
    assert ends_at is not None
    ends = to_the_minute(ends_at)
    verify(new.reveal())
    assert f"old secret until {ends}, not used since" in row_of(
        boss_client.get(url("changelist")), "laptop"
    )
    verify(old.reveal())
    assert f"old secret until {ends}, still used" in row_of(
        boss_client.get(url("changelist")), "laptop"
    )
    end_secret(token, old.reveal()[4:16])
    assert "old secret" not in row_of(boss_client.get(url("changelist")), "laptop")


def test_an_old_secret_of_a_token_that_is_over_is_not_told_of(
    boss_client: Client, issued: Issued
) -> None:
    token, _ = issued
    rotate(token, grace=timedelta(hours=1))
    revoke(token)
    assert "old secret" not in row_of(boss_client.get(url("changelist")), "laptop")


def test_the_list_asks_no_more_for_more_tokens(
    boss_client: Client, ana: Any, django_assert_max_num_queries: Any
) -> None:
    for number in range(20):
        token, _ = issue(user=ana, name=f"token {number}")
        verify(rotate(token, grace=timedelta(hours=1)).reveal())
    with django_assert_max_num_queries(8):
        response = boss_client.get(url("changelist"))
    assert len(names(response)) == 20


def test_the_last_use_is_the_latest_of_the_secrets(boss_client: Client, issued: Issued) -> None:
    token, old = issued
    new = rotate(token, grace=timedelta(hours=1))
    at = timezone.now()
    verify(new.reveal(), now=at - timedelta(minutes=30))
    verify(old.reveal(), now=at)
    [listed] = boss_client.get(url("changelist")).context["cl"].result_list
    assert listed.last_used_at == at


def test_search_finds_by_name_user_and_prefix(
    boss_client: Client, issued: Issued, ana: Any
) -> None:
    text = issued[1].reveal()
    issue(user=ana, name="ci")
    for term in ("lapt", text[4:16], text[:16], f"{text[:16]}_…"):
        assert names(boss_client.get(url("changelist"), {"q": term})) == {"laptop"}
    assert names(boss_client.get(url("changelist"), {"q": "ana"})) == {"laptop", "ci"}


def test_the_page_of_a_token_shows_its_secrets_but_no_digest(
    boss_client: Client, issued: Issued
) -> None:
    token, secret = issued
    page = boss_client.get(url("change", token.pk)).content.decode()
    assert f"mcp_{secret.reveal()[4:16]}_…" in page
    assert token.secrets.get().digest not in page


def test_a_token_is_renamed_and_narrowed_but_never_changes_hands(
    boss_client: Client, boss: Any, issued: Issued, ana: Any
) -> None:
    token, secret = issued
    data = {
        "name": "desk",
        "scopes": [],
        "tools_limit": "any",
        "note": "",
        "expires_at_0": "",
        "expires_at_1": "",
        "user": boss.pk,
        "revoked_at": "2001-01-01",
        "secrets-TOTAL_FORMS": "0",
        "secrets-INITIAL_FORMS": "0",
    }
    response = boss_client.post(url("change", token.pk), data)
    assert response.status_code == 302
    token.refresh_from_db()
    assert (token.name, token.scopes, token.user, token.revoked_at) == ("desk", [], ana, None)
    assert verify(secret.reveal()).token == token


def test_an_inactive_owner_is_said(boss_client: Client, issued: Issued, ana: Any) -> None:
    ana.is_active = False
    ana.save()
    assert "Owner inactive" in boss_client.get(url("changelist")).content.decode()


def test_a_name_with_markup_shows_as_text(boss_client: Client, ana: Any) -> None:
    token, _ = issue(user=ana, name="<script>alert(1)</script>")
    pages = (url("changelist"), *(url(p, token.pk) for p in ("change", "rotate", "revoke")))
    for page in pages:
        assert "<script>alert(1)" not in boss_client.get(page).content.decode()


def test_another_admin_site_under_another_prefix_links_to_itself(
    boss_client: Client, issued: Issued
) -> None:
    site = AdminSite(name="behind")
    site.register(Token, TokenAdmin)
    site.register(CallEvent, CallEventAdmin)
    token, _ = issued
    event = CallEvent.objects.create(outcome="ok", tool="t", token=token, token_name="laptop")
    patterns = [path("front/", admin.site.urls), path("behind/the/scenes/", site.urls)]
    with override_settings(ROOT_URLCONF=type("urls", (), {"urlpatterns": patterns})):
        change = address("token_change", token.pk)
        assert change.startswith("/behind/the/scenes/")
        for page in ("change/", "rotate/", "revoke/"):
            text = boss_client.get(change.replace("change/", page)).content.decode()
            assert "/behind/the/scenes/" in text
            assert "/front/" not in text
        assert change in boss_client.get(address("callevent_change", event.pk)).content.decode()
        assert boss_client.post(change.replace("change/", "revoke/"))["Location"] == change


def test_where_an_admin_site_has_no_users_a_username_is_typed(boss_client: Client) -> None:
    site = AdminSite(name="behind")
    site.register(Token, TokenAdmin)
    with override_settings(ROOT_URLCONF=type("urls", (), {"urlpatterns": [path("", site.urls)]})):
        text = boss_client.get(address("token_add")).content.decode()
    assert 'type="text" name="user"' in text
