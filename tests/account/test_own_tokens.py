"""A user issues, sees, rotates and revokes their own tokens, within the limits that are set."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.core.exceptions import ImproperlyConfigured
from django.template import engines
from django.test import Client
from django.utils import timezone

from mcp_app.audit.periods import to_the_minute
from mcp_app.auth.tokens import issue
from mcp_app.auth.verification import CredentialsInvalid, verify
from mcp_app.conf import validate
from mcp_app.models import Token
from tests.account.pages import new, rotation, text_of, url
from tests.admin.pages import secrets_on, traces


def works(secret: str) -> bool:
    try:
        verify(secret)
    except CredentialsInvalid:
        return False
    return True


def test_a_token_is_issued_shown_once_and_works(browser: Client, ana: Any) -> None:
    answer = browser.post(url("issue"), new(browser, scopes=["rooms:write"], read_only="on"))
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    [secret] = secrets_on(answer)
    token = verify(secret).token
    assert (token.user, token.created_by, token.name) == (ana, ana, "my agent")
    assert (token.scopes, token.tools, token.read_only) == (["rooms:write"], None, True)
    assert token.expires_at is not None
    assert abs(token.expires_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)
    for client in ("Claude Code", "Codex", "curl"):
        assert client in text_of(answer)
    assert "http://testserver/mcp" in answer.content.decode()
    left = traces(browser, answer)
    assert secret[17:] not in left
    later = browser.get(url("tokens"))
    assert "my agent" in text_of(later)
    assert secret[17:] not in later.content.decode()


def test_the_same_form_sent_again_makes_no_second_token(browser: Client) -> None:
    data = new(browser)
    browser.post(url("issue"), data)
    again = browser.post(url("issue"), data)
    assert again.status_code == 409
    assert "was sent before" in text_of(again)
    assert secrets_on(again) == []
    assert Token.objects.count() == 1


def test_the_form_of_the_last_token_sent_again_says_that_it_was_sent(browser: Client) -> None:
    browser.post(url("issue"), new(browser, name="first"))
    last = new(browser, name="last")
    assert secrets_on(browser.post(url("issue"), last))
    again = browser.post(url("issue"), last)
    assert again.status_code == 409
    assert "was sent before" in text_of(again)
    assert Token.objects.count() == 2


def test_rotating_says_who_is_cut_off_and_keeps_the_old_one_for_the_grace(
    browser: Client,
) -> None:
    [old] = secrets_on(browser.post(url("issue"), new(browser)))
    token = verify(old, address="192.0.2.7").token
    asked = text_of(browser.get(url("rotate", token.pk)))
    assert "192.0.2.7" in asked
    assert "After 1 hour, on " in asked
    answer = browser.post(url("rotate", token.pk), rotation(token))
    [secret] = secrets_on(answer)
    assert (works(secret), works(old)) == (True, True)
    assert "no-store" in answer["Cache-Control"]
    again = browser.post(url("rotate", token.pk), rotation(token, expected="1"))
    assert (again.status_code, secrets_on(again)) == (409, [])


def test_revoking_asks_first_and_ends_it(browser: Client) -> None:
    [secret] = secrets_on(browser.post(url("issue"), new(browser)))
    token = verify(secret).token
    assert "cannot be undone" in text_of(browser.get(url("revoke", token.pk)))
    assert works(secret)
    answer = browser.post(url("revoke", token.pk), follow=True)
    assert "“my agent” is revoked" in text_of(answer)
    assert not works(secret)
    assert url("revoke", token.pk) not in answer.content.decode()
    refused = browser.post(url("rotate", token.pk), rotation(token))
    assert (refused.status_code, secrets_on(refused)) == (409, [])


def test_the_list_says_how_many_of_how_many_there_are(browser: Client, ana: Any) -> None:
    assert "You have 0 of 2 tokens." in text_of(browser.get(url("tokens")))
    issue(user=ana, name="by an administrator")
    assert "You have 0 of 2 tokens." in text_of(browser.get(url("tokens")))
    for number, name in enumerate(("first", "second"), 1):
        browser.post(url("issue"), new(browser, name=name))
        page = browser.get(url("tokens"))
        assert f"You have {number} of 2 tokens." in text_of(page)
    assert "revoke one to issue another" in text_of(page)
    assert url("issue") not in page.content.decode()


def test_an_old_secret_in_its_grace_is_shown_with_its_end_and_can_be_ended_now(
    browser: Client,
) -> None:
    [old] = secrets_on(browser.post(url("issue"), new(browser)))
    token = verify(old).token
    end = url("end_secret", token.pk, old[4:16])
    assert end not in browser.get(url("tokens")).content.decode()
    [secret] = secrets_on(browser.post(url("rotate", token.pk), rotation(token)))
    ends_at = token.secrets.order_by("pk")[0].valid_until
    assert ends_at is not None
    told = f"mcp_{old[4:16]}_… works until {to_the_minute(ends_at)}"
    page = browser.get(url("tokens"))
    assert f"{told}, not used since" in text_of(page)
    assert end in page.content.decode()
    verify(old, now=timezone.now() + timedelta(minutes=2), address="192.0.2.7")
    assert f"{told}, still used" in text_of(browser.get(url("tokens")))
    asked = text_of(browser.get(end))
    assert "192.0.2.7" in asked
    assert "The token keeps its other secret" in asked
    assert works(old)
    answer = browser.post(end, follow=True)
    assert f"The secret mcp_{old[4:16]}_… is refused from now on." in text_of(answer)
    assert (works(old), works(secret)) == (False, True)
    assert end not in answer.content.decode()
    assert LogEntry.objects.latest("pk").get_change_message() == f"Ended mcp_{old[4:16]}_…."
    browser.post(end)
    assert LogEntry.objects.filter(change_message__contains="Ended").count() == 1


def test_to_end_the_last_secret_warns_and_the_list_then_says_what_to_do(browser: Client) -> None:
    [secret] = secrets_on(browser.post(url("issue"), new(browser)))
    token = verify(secret).token
    end = url("end_secret", token.pk, secret[4:16])
    assert "the last secret of this token that works" in text_of(browser.get(end))
    answer = text_of(browser.post(end, follow=True))
    assert "No working secret: rotate it to get a new one" in answer
    assert not works(secret)
    [new_one] = secrets_on(browser.post(url("rotate", token.pk), rotation(token)))
    assert works(new_one)
    assert "No working secret" not in text_of(browser.get(url("tokens")))


def test_what_a_user_does_is_in_the_admins_history(browser: Client, ana: Any) -> None:
    browser.post(url("issue"), new(browser))
    token = Token.objects.get()
    browser.post(url("rotate", token.pk), rotation(token))
    browser.post(url("revoke", token.pk))
    entries = LogEntry.objects.order_by("pk")
    assert [(entry.user, entry.get_change_message()) for entry in entries] == [
        (ana, "Added."),
        (ana, "Rotated by its user."),
        (ana, "Revoked by its user."),
    ]


def test_only_tools_that_the_user_may_call_are_offered(browser: Client, ana: Any) -> None:
    page = browser.get(url("issue")).content.decode()
    assert 'value="list_rooms"' not in page
    refused = browser.post(
        url("issue"), new(browser, tools_limit="only", tools_names=["list_rooms"])
    )
    assert "list_rooms is not one of the available choices" in text_of(refused)
    ana.user_permissions.set(Permission.objects.filter(codename__in=["view_room"]))
    page = browser.get(url("issue")).content.decode()
    assert 'value="list_rooms"' in page
    data = new(browser, tools_limit="only", tools_names=["list_rooms"])
    assert secrets_on(browser.post(url("issue"), data))
    assert Token.objects.get().tools == ["list_rooms"]


def test_the_form_speaks_to_the_one_who_fills_it_in(browser: Client, ana: Any) -> None:
    ana.user_permissions.set(Permission.objects.filter(codename__in=["change_room"]))
    page = browser.get(url("issue"))
    told = text_of(page)
    assert "Any tool that you may call" in told
    assert "its user" not in told
    assert "announce (writes, needs rooms:write): Send" in told
    assert re.search(r'<script src="[^"]*mcp_app/tools\.js" defer>', page.content.decode())


def test_without_allowed_scopes_none_is_asked_for(browser: Client, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "ACCOUNT_SCOPES": []}
    assert "Scopes" not in text_of(browser.get(url("issue")))
    assert secrets_on(browser.post(url("issue"), new(browser, scopes=["rooms:write"])))
    assert Token.objects.get().scopes == []


@pytest.mark.parametrize(
    ("account", "tokens", "offered", "never"),
    [
        (30, None, ["7", "30"], False),
        (90, 7, ["7"], False),
        (3, None, ["3"], False),
        (None, None, ["7", "30", "90", "365"], True),
        (None, 30, ["7", "30"], False),
    ],
)
def test_the_lesser_limit_bounds_what_is_offered(
    browser: Client,
    settings: Any,
    account: int | None,
    tokens: int | None,
    offered: list[str],
    never: bool,
) -> None:
    limits = {"ACCOUNT_MAX_DAYS": account, "TOKEN_MAX_DAYS": tokens}
    settings.MCP_APP = {**settings.MCP_APP, **limits}
    form = browser.get(url("issue")).context["form"]
    values = [value for value, _ in form.fields["expiry"].choices]
    assert values == [*offered, *(["never"] if never else []), "custom"]


def test_a_name_with_markup_is_text_on_each_page(browser: Client) -> None:
    name = "<script>alert(1)</script>"
    answer = browser.post(url("issue"), new(browser, name=name))
    pk = Token.objects.get().pk
    pages = [answer, *(browser.get(page) for page in (url("tokens"), url("rotate", pk)))]
    for page in [*pages, browser.get(url("revoke", pk))]:
        assert name not in page.content.decode()
        assert name in text_of(page)


def test_a_product_puts_its_own_base_around_the_pages(browser: Client, settings: Any) -> None:
    base = "<title>{% block title %}{% endblock %}</title>{% block head %}{% endblock %}<b>Shop</b>"
    base += "{% block content %}{% endblock %}"
    loaders = [
        ("django.template.loaders.locmem.Loader", {"mcp_app/account/base.html": base}),
        "django.template.loaders.app_directories.Loader",
    ]
    [engine] = settings.TEMPLATES
    options = {**engine["OPTIONS"], "loaders": loaders}
    settings.TEMPLATES = [{**engine, "APP_DIRS": False, "OPTIONS": options, "DIRS": []}]
    engines.__dict__.pop("templates", None)
    page = browser.get(url("tokens")).content.decode()
    assert "<b>Shop</b>" in page
    assert "<title>My tokens</title>" in page


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"ACCOUNT_SCOPES": ["rooms:fly"]}, "it has \\['rooms:fly'\\]"),
        ({"ACCOUNT_SCOPES": "rooms:write"}, "must list scopes"),
        ({"ACCOUNT_TOKENS": 0}, "ACCOUNT_TOKENS"),
        ({"ACCOUNT_MAX_DAYS": 0}, "ACCOUNT_MAX_DAYS"),
    ],
)
def test_limits_that_cannot_be_right_stop_the_start(
    settings: Any, limits: dict[str, Any], sentence: str
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, **limits}
    with pytest.raises(ImproperlyConfigured, match=sentence):
        validate()


def test_what_an_administrator_issued_is_listed_and_can_be_revoked(
    browser: Client, ana: Any
) -> None:
    token, secret = issue(user=ana, name="wide", scopes=["rooms:burn"])
    page = browser.get(url("tokens"))
    assert "an administrator can rotate it" in text_of(page)
    assert "Times are in the time zone UTC." in text_of(page)
    assert url("rotate", token.pk) not in page.content.decode()
    browser.post(url("revoke", token.pk))
    assert not works(secret.reveal())


def permit(user: Any) -> None:
    """Let somebody see and change rooms."""
    rooms = Permission.objects.filter(codename__in=["view_room", "change_room"])
    user.user_permissions.set(rooms)


def test_a_tool_that_no_token_of_theirs_could_call_is_not_offered(
    browser: Client, ana: Any, settings: Any
) -> None:
    permit(ana)
    offered = browser.get(url("issue")).content.decode()
    assert 'value="close_room"' in offered
    assert "only an administrator can give" not in offered
    settings.MCP_APP = {**settings.MCP_APP, "ACCOUNT_SCOPES": []}
    offered = browser.get(url("issue")).content.decode()
    assert 'value="list_rooms"' in offered
    assert 'value="close_room"' not in offered
    assert "Tools are left out that need a scope which only an administrator can give." in offered
    ticked = new(browser, tools_limit="only", tools_names=["close_room"])
    assert secrets_on(browser.post(url("issue"), ticked)) == []


def test_the_page_with_the_secret_says_what_it_opens_and_nothing_of_the_rest(
    browser: Client, ana: Any
) -> None:
    permit(ana)
    ticked = new(browser, tools_limit="only", tools_names=["close_room", "list_rooms"])
    text = text_of(browser.post(url("issue"), ticked))
    told = re.search(r"These tools can be called with it now:(.*?) my agent", text)
    assert told
    assert "list_rooms" in told[1]
    assert "close_room" not in told[1]
    assert " of " not in told[1]


def test_who_has_as_many_as_they_may_is_told_before_they_fill_in_a_form(
    browser: Client, ana: Any
) -> None:
    for number in (1, 2):
        browser.post(url("issue"), new(browser, name=f"agent {number}"))
    page = browser.get(url("issue"))
    assert "That is as many as you may have: revoke one to issue another." in text_of(page)
    assert 'name="lookup"' not in page.content.decode()
