"""Issuing in the admin: the secret is in one answer and nowhere else (ACCEPTANCE D-074, D-090)."""

import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, LogEntry
from django.test import Client, override_settings
from django.test.utils import override_script_prefix
from django.urls import path
from django.utils import timezone
from django.utils.html import escape

from mcp_app.auth.hashing import Secret
from mcp_app.auth.verification import verify
from mcp_app.models import CallEvent, Token, TokenSecret
from tests.admin.pages import hidden, secrets_on, traces, url


def form(client: Client, user: Any, **changes: Any) -> dict[str, Any]:
    """What a browser sends from a freshly opened form."""
    page = client.get(url("add"))
    assert page.status_code == 200
    return {
        "user": user.pk,
        "name": "laptop",
        "scopes": ["rooms:write"],
        "tools_limit": "any",
        "expiry": "30",
        "note": "",
        "lookup": hidden(page, "lookup"),
    } | changes


def test_the_answer_shows_a_secret_that_works(boss_client: Client, boss: Any, ana: Any) -> None:
    response = boss_client.post(url("add"), form(boss_client, ana))
    assert response.status_code == 200
    [secret] = secrets_on(response)
    token = verify(secret).token
    assert (token.user, token.name, token.scopes) == (ana, "laptop", ["rooms:write"])
    assert token.created_by == boss
    assert token.expires_at is not None
    assert abs(token.expires_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)


def test_the_answer_is_kept_by_no_cache_and_runs_no_inline_code(
    boss_client: Client, ana: Any
) -> None:
    response = boss_client.post(url("add"), form(boss_client, ana))
    assert "no-store" in response["Cache-Control"]
    own = response.content.decode().split('id="content-main"')[1].split("</main>")[0]
    assert "<script" not in own
    assert "<style" not in own
    assert "style=" not in own
    assert "onclick" not in own


def test_the_secret_is_in_no_log_entry_session_cookie_message_or_address(
    boss_client: Client, ana: Any
) -> None:
    response = boss_client.post(url("add"), form(boss_client, ana))
    [secret] = secrets_on(response)
    left = traces(boss_client, response)
    assert secret not in left
    assert secret[17:] not in left
    assert TokenSecret.objects.get().digest not in response.content.decode()
    entry = LogEntry.objects.get()
    assert (entry.action_flag, entry.object_repr) == (ADDITION, "laptop")


def test_no_later_page_shows_it(boss_client: Client, ana: Any) -> None:
    [secret] = secrets_on(boss_client.post(url("add"), form(boss_client, ana)))
    pk = Token.objects.get().pk
    pages = [url("changelist"), url("change", pk), url("history", pk), url("rotate", pk)]
    for page in pages:
        response = boss_client.get(page)
        assert response.status_code == 200
        assert secret[17:] not in response.content.decode()
    assert f"mcp_{secret[4:16]}_…" in boss_client.get(url("change", pk)).content.decode()


def test_sending_the_form_again_makes_no_second_token_and_shows_no_secret(
    boss_client: Client, ana: Any
) -> None:
    data = form(boss_client, ana)
    boss_client.post(url("add"), data)
    again = boss_client.post(url("add"), data)
    assert again.status_code == 409
    assert "was sent before" in again.content.decode()
    assert secrets_on(again) == []
    assert Token.objects.count() == 1
    assert LogEntry.objects.count() == 1


def test_two_opened_forms_make_two_tokens(boss_client: Client, ana: Any) -> None:
    for _ in range(2):
        assert secrets_on(boss_client.post(url("add"), form(boss_client, ana)))
    assert Token.objects.count() == 2


def test_the_snippets_name_this_site_and_carry_the_secret(boss_client: Client, ana: Any) -> None:
    data = form(boss_client, ana)
    response = boss_client.post(url("add"), data, headers={"host": "127.0.0.1:8123"})
    [secret] = secrets_on(response)
    texts = [snippet.text for snippet in response.context["snippets"]]
    assert len(texts) >= 10
    for text in texts:
        assert "http://127.0.0.1:8123/mcp" in text
        assert f"Bearer {secret}" in text
        assert escape(text) in response.content.decode()


def test_the_call_that_is_offered_leaves_a_row_in_the_log(boss_client: Client, ana: Any) -> None:
    response = boss_client.post(url("add"), form(boss_client, ana))
    [offered] = [each for each in response.context["snippets"] if each.client == "curl: tools/call"]
    words = shlex.split(offered.text)
    said = [words[at + 1] for at, word in enumerate(words) if word == "-H"]
    headers = dict(line.split(": ", 1) for line in said)
    answer = Client().post("/mcp", words[-1], content_type="application/json", headers=headers)
    assert "structuredContent" in answer.json()["result"]
    event = CallEvent.objects.get()
    assert (event.tool, event.username, event.outcome) == ("leaderboard_countries", "ana", "ok")


def test_a_token_that_may_call_nothing_at_once_is_offered_no_call(
    boss_client: Client, ana: Any
) -> None:
    limits = {"tools_limit": "only", "tools_names": ["replay_solo_ledger"]}
    response = boss_client.post(url("add"), form(boss_client, ana) | limits)
    assert "curl: tools/call" not in {each.client for each in response.context["snippets"]}


def test_behind_a_proxy_the_snippets_name_the_address_that_people_use(
    boss_client: Client, ana: Any, settings: Any
) -> None:
    settings.USE_X_FORWARDED_HOST = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "shop.example"]
    behind = {"x-forwarded-host": "shop.example", "x-forwarded-proto": "https"}
    data = form(boss_client, ana)
    with override_script_prefix("/quiz/"):
        response = boss_client.post("/admin/mcp_app/token/add/", data, headers=behind)
    assert response.context["endpoint"] == "https://shop.example/quiz/mcp"


def test_each_snippet_folds_without_a_script_and_has_a_button_that_names_it(
    boss_client: Client, ana: Any
) -> None:
    page = boss_client.post(url("add"), form(boss_client, ana)).content.decode()
    for client in ("Claude Code", "Codex", "curl"):
        assert re.search(rf"<details[^>]*>\s*<summary>{client} ", page)
        assert f'<span class="visually-hidden"> ({client})</span></button>' in page
    assert page.count("<details name=") == page.count("data-copy=") - 1


def urls_without_the_endpoint() -> list[Any]:
    from django.contrib import admin

    return [path("back-office/", admin.site.urls)]


def test_without_a_mounted_endpoint_a_hint_stands_for_the_snippets(
    boss_client: Client, ana: Any
) -> None:
    module = type("urls", (), {"urlpatterns": urls_without_the_endpoint()})
    with override_settings(ROOT_URLCONF=module):
        response = boss_client.post(url("add"), form(boss_client, ana))
    [secret] = secrets_on(response)
    assert response.content.decode().count(secret) == 1
    assert "add mcp_app.urls" in response.content.decode()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": ""}, "This field is required"),
        ({"scopes": ["rooms:burn"]}, "rooms:burn is not one of the available choices"),
        ({"expiry": "custom"}, "Give the date"),
        (
            {"expiry": "custom", "expires_at": "2001-01-01T00:00"},
            "The expiry is in the past",
        ),
        ({"expiry": "12345"}, "12345 is not one of the available choices"),
        ({"lookup": "../../etc"}, "Enter a valid value"),
    ],
)
def test_a_wrong_form_issues_nothing(
    changes: dict[str, Any], sentence: str, boss_client: Client, ana: Any
) -> None:
    response = boss_client.post(url("add"), form(boss_client, ana, **changes))
    assert response.status_code == 200
    assert sentence in response.content.decode()
    assert secrets_on(response) == []
    assert not Token.objects.exists()


def test_a_user_by_name_where_the_form_knows_keys_is_an_error_of_the_field(
    boss_client: Client, ana: Any
) -> None:
    assert boss_client.get(url("add"), {"user": "ana"}).status_code == 200
    named = form(boss_client, ana, note="for the build") | {"user": "ana"}
    sent = boss_client.post(url("add"), named)
    page = sent.content.decode()
    assert 'id="id_user_error"' in page
    assert "for the build" in page
    assert not Token.objects.exists()


def test_a_chosen_date_is_when_it_ends(boss_client: Client, ana: Any) -> None:
    data = form(boss_client, ana, expiry="custom", expires_at="2126-12-24T18:00:05")
    assert secrets_on(boss_client.post(url("add"), data))
    token = Token.objects.get()
    assert token.expires_at == datetime(2126, 12, 24, 18, 0, 5, tzinfo=UTC)


def test_to_save_a_token_as_it_is_shown_changes_nothing(
    boss_client: Client, issued: tuple[Token, Secret]
) -> None:
    ends = timezone.now() + timedelta(days=30)
    Token.objects.update(expires_at=ends)
    token = Token.objects.get()
    page = boss_client.get(url("change", token.pk))
    [shown] = re.findall(r'name="expires_at" value="([^"]+)"', page.content.decode())
    data = {
        "name": token.name,
        "scopes": token.scopes,
        "tools_limit": "any",
        "expires_at": shown,
        "note": "",
        "secrets-TOTAL_FORMS": "0",
        "secrets-INITIAL_FORMS": "0",
    }
    assert boss_client.post(url("change", token.pk), data).status_code == 302
    token.refresh_from_db()
    assert abs(token.expires_at - ends) < timedelta(seconds=1)
    assert LogEntry.objects.get().get_change_message() == "No fields changed."


def test_no_token_is_offered_for_an_inactive_user(boss_client: Client, ana: Any) -> None:
    ana.is_active = False
    ana.save()
    response = boss_client.post(url("add"), form(boss_client, ana))
    assert "This user is not active" in response.content.decode()
    assert not Token.objects.exists()


def test_the_settings_bound_what_is_offered(boss_client: Client, settings: Any) -> None:
    settings.MCP_APP = settings.MCP_APP | {"TOKEN_MAX_DAYS": 30}
    offered = boss_client.get(url("add")).content.decode()
    assert "In 30 days" in offered
    assert "In 90 days" not in offered
    assert "Never" not in offered


def test_scopes_are_offered_with_their_descriptions_escaped(
    boss_client: Client, settings: Any
) -> None:
    settings.MCP_APP = settings.MCP_APP | {"SCOPES": {"a:b": "<script>alert(1)</script>"}}
    page = boss_client.get(url("add")).content.decode()
    assert "<code>a:b</code>" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)" not in page


def test_only_a_superuser_issues_for_a_superuser(
    staff_client: Callable[..., Client], boss: Any, ana: Any
) -> None:
    client = staff_client("add_token")
    response = client.post(url("add"), form(client, boss) | {"user": "boss"})
    assert "That choice is not one of the available choices" in response.content.decode()
    assert not Token.objects.exists()
    assert secrets_on(client.post(url("add"), form(client, ana) | {"user": "ana"}))


def test_issuing_takes_the_add_permission(staff_client: Callable[..., Client], ana: Any) -> None:
    client = staff_client("view_token", "change_token")
    assert client.get(url("add")).status_code == 403
    assert client.post(url("add"), {"user": ana.pk}).status_code == 403


def test_a_post_without_the_csrf_token_is_refused(boss: Any, ana: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(boss)
    assert client.post(url("add"), form(client, ana)).status_code == 403
    assert not Token.objects.exists()
