"""What an ordinary user tries on the pages of their tokens, and does not get."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.utils import timezone

from mcp_app.auth.hashing import Secret, new_lookup
from mcp_app.auth.own import issue_own
from mcp_app.auth.tokens import issue
from mcp_app.auth.verification import CredentialsInvalid, verify
from mcp_app.models import Token, TokenSecret
from tests.account.pages import new, rotation, text_of, url
from tests.admin.pages import secrets_on

ACTS = ("rotate", "revoke", "end_secret")


def address(act: str, token: Token, pk: int | None = None) -> str:
    """Where something is done to a token; with `pk` to another one."""
    lookup = [token.secrets.get().lookup] if act == "end_secret" else []
    return url(act, token.pk if pk is None else pk, *lookup)


def works(secret: Secret) -> bool:
    try:
        verify(secret.reveal())
    except CredentialsInvalid:
        return False
    return True


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("method", ["get", "post"])
def test_another_users_token_is_not_there(act: str, method: str, browser: Client, ben: Any) -> None:
    token, secret = issue(user=ben, name="ben's own")
    answer = getattr(browser, method)(address(act, token), rotation(token))
    assert answer.status_code == 404
    absent = getattr(browser, method)(address(act, token, token.pk + 1), rotation(token))
    assert answer.content == absent.content
    assert works(secret)
    assert TokenSecret.objects.count() == 1
    assert "ben" not in text_of(browser.get(url("tokens")))


def test_not_even_a_superuser_acts_on_others_tokens_here(django_user_model: Any, ben: Any) -> None:
    boss = Client()
    boss.force_login(django_user_model.objects.create_superuser("boss"))
    token, secret = issue(user=ben, name="ben's own")
    for act in ACTS:
        assert boss.post(address(act, token), rotation(token)).status_code == 404
    assert works(secret)


@pytest.mark.parametrize("pk", [0, 10**18, 10**40])
def test_a_number_that_is_no_token_is_not_found(pk: int, browser: Client) -> None:
    assert browser.post(url("revoke", pk)).status_code == 404


def test_a_secret_of_another_token_is_not_ended_by_the_address_of_ones_own(
    browser: Client, ana: Any, ben: Any
) -> None:
    own, _ = issue(user=ana, name="laptop")
    _, secret = issue(user=ben, name="ben's own")
    for lookup in (secret.reveal()[4:16], "000000000000", "x"):
        assert browser.post(url("end_secret", own.pk, lookup)).status_code == 404
    assert works(secret)


@pytest.mark.parametrize("page", ["tokens", "issue", *ACTS])
def test_strangers_are_sent_to_the_login(page: str, ana: Any) -> None:
    token, secret = issue(user=ana, name="laptop")
    there = address(page, token) if page in ACTS else url(page)
    for answer in (Client().get(there), Client().post(there)):
        assert answer.status_code == 302
        assert answer["Location"].startswith("/account/login/?next=")
    assert works(secret)


def test_a_post_from_another_site_is_refused_even_without_djangos_middleware(
    ana: Any, settings: Any
) -> None:
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "Csrf" not in name]
    token, secret = issue(user=ana, name="laptop", expires_at=timezone.now() + timedelta(days=9))
    client = Client(enforce_csrf_checks=True)
    client.force_login(ana)
    data = new(client)
    assert client.post(url("issue"), data).status_code == 403
    for act in ACTS:
        assert client.post(address(act, token), rotation(token)).status_code == 403
    assert works(secret)
    assert TokenSecret.objects.count() == 1


def test_nothing_changes_by_a_get_and_other_methods_are_refused(browser: Client, ana: Any) -> None:
    token, secret = issue(user=ana, name="laptop")
    for act in ACTS:
        browser.get(address(act, token), rotation(token))
        assert browser.delete(address(act, token)).status_code == 405
        assert browser.put(address(act, token)).status_code == 405
    browser.get(url("issue"), new(browser))
    assert works(secret)
    assert TokenSecret.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"scopes": ["rooms:burn"]}, "rooms:burn is not one of the available choices"),
        ({"scopes": ["rooms:write", "rooms:burn"]}, "is not one of the available choices"),
        ({"expiry": "90"}, "90 is not one of the available choices"),
        ({"expiry": "never"}, "never is not one of the available choices"),
        ({"expiry": "custom", "expires_at": "2126-01-01T00:00"}, "expire within 30 days"),
        ({"expiry": "custom", "expires_at": ""}, "Give the date"),
        ({"lookup": "x"}, "Enter a valid value"),
        ({"name": ""}, "This field is required"),
        ({"tools_limit": "only", "tools_names": ["no_such"]}, "no_such is not one of"),
    ],
)
def test_a_form_beyond_the_limits_issues_nothing(
    changes: dict[str, Any], sentence: str, browser: Client
) -> None:
    answer = browser.post(url("issue"), new(browser, **changes))
    assert answer.status_code == 200
    assert sentence in text_of(answer)
    assert not Token.objects.exists()


def test_fields_that_the_form_has_not_are_ignored(browser: Client, ana: Any, ben: Any) -> None:
    more = {"user": ben.pk, "created_by": ben.pk, "note": "x", "revoked_at": "", "id": "7"}
    [secret] = secrets_on(browser.post(url("issue"), new(browser, **more)))
    token = verify(secret).token
    assert (token.user, token.created_by, token.note) == (ana, ana, "")


def test_the_limits_hold_beneath_the_form_too(ana: Any) -> None:
    soon = timezone.now() + timedelta(days=9)
    wrong: list[dict[str, Any]] = [
        {"scopes": ["rooms:burn"], "expires_at": soon},
        {"expires_at": None},
        {"expires_at": timezone.now() + timedelta(days=31)},
    ]
    for limits in wrong:
        with pytest.raises(ValidationError):
            issue_own(Token(user=ana, name="x", **limits), lookup=new_lookup())
    assert not Token.objects.exists()


@pytest.mark.parametrize(
    "wide",
    [
        {"scopes": ["rooms:burn"], "expires_at": timedelta(days=9)},
        {"expires_at": timedelta(days=31)},
        {},
    ],
)
def test_no_secret_of_a_token_that_is_wider_is_got_by_rotating_it(
    wide: dict[str, Any], browser: Client, ana: Any
) -> None:
    limits = dict(wide)
    if "expires_at" in limits:
        limits["expires_at"] += timezone.now()
    token, secret = issue(user=ana, name="wide", **limits)
    assert "Ask an administrator" in text_of(browser.get(url("rotate", token.pk)))
    answer = browser.post(url("rotate", token.pk), rotation(token, grace="0"))
    assert (answer.status_code, secrets_on(answer)) == (409, [])
    assert works(secret)
    assert TokenSecret.objects.count() == 1


def test_as_many_as_are_allowed_and_no_more(browser: Client, ana: Any) -> None:
    *allowed, opened_early = (new(browser) for _ in range(3))
    for form in allowed:
        assert secrets_on(browser.post(url("issue"), form))
    refused = browser.post(url("issue"), opened_early)
    assert secrets_on(refused) == []
    assert "You have 2 tokens" in text_of(refused)
    assert "That is as many as you may have" in text_of(browser.get(url("tokens")))
    # What is over, and what an administrator issued, takes no place.
    issue(user=ana, name="of the administrator")
    own = Token.objects.filter(created_by=ana)
    browser.post(url("revoke", own[0].pk))
    assert secrets_on(browser.post(url("issue"), new(browser)))
    assert secrets_on(browser.post(url("issue"), opened_early)) == []


@pytest.mark.django_db(transaction=True)
def test_submissions_at_once_do_not_exceed_the_number(django_user_model: Any) -> None:
    user = django_user_model.objects.create_user("ana")
    start, results = threading.Barrier(5), []

    def submit() -> None:
        token = Token(user=user, name="x", expires_at=timezone.now() + timedelta(days=9))
        start.wait()
        try:
            results.append(issue_own(token, lookup=new_lookup()))
        except ValidationError as refused:
            results.append(refused)
        finally:
            connection.close()

    threads = [threading.Thread(target=submit) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(type(result).__name__ for result in results) == [
        *["Secret"] * 2,
        *["ValidationError"] * 3,
    ]
    assert Token.objects.count() == 2


def test_an_inactive_user_gets_nowhere_whatever_lets_them_in(ana: Any, settings: Any) -> None:
    settings.AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.AllowAllUsersModelBackend"]
    token, secret = issue(user=ana, name="laptop")
    client = Client()
    client.force_login(ana)
    data = new(client)
    ana.is_active = False
    ana.save()
    assert client.get(url("tokens")).status_code == 403
    assert client.post(url("issue"), data).status_code == 403
    for act in ACTS:
        assert client.post(address(act, token), rotation(token)).status_code == 403
    assert Token.objects.count() == 1
    assert not works(secret)


def test_a_user_who_became_inactive_meanwhile_is_issued_nothing(ana: Any) -> None:
    type(ana).objects.update(is_active=False)
    token = Token(user=ana, name="x", expires_at=timezone.now() + timedelta(days=9))
    with pytest.raises(ValidationError, match="not active"):
        issue_own(token, lookup=new_lookup())


def test_a_demoted_user_is_offered_what_is_left_to_them(
    django_user_model: Any,
) -> None:
    boss = django_user_model.objects.create_superuser("boss")
    client = Client()
    client.force_login(boss)
    assert 'value="close_room"' in client.get(url("issue")).content.decode()
    data = new(client, tools_limit="only", tools_names=["close_room"])
    django_user_model.objects.update(is_superuser=False, is_staff=False)
    assert 'value="close_room"' not in client.get(url("issue")).content.decode()
    assert "close_room is not one of" in text_of(client.post(url("issue"), data))
    assert not Token.objects.exists()
