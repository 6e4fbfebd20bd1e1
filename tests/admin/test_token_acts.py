"""Rotating and revoking in the admin, one and several (ACCEPTANCE D-073, D-074)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from mcp_app.audit.periods import to_the_minute
from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import end_secret, issue, newest_secret_id, revoke, rotate
from mcp_app.auth.verification import CredentialsInvalid, verify
from mcp_app.models import CallEvent, Session, StreamEvent, Token, TokenSecret
from tests.admin.pages import hidden, secrets_on, traces, url
from tests.admin.words import words

Issued = tuple[Token, Secret]


def works(secret: str) -> bool:
    try:
        verify(secret)
    except CredentialsInvalid:
        return False
    return True


def rotate_form(token: Token, **changes: Any) -> dict[str, Any]:
    return {"grace": "3600", "seconds": "", "expected": newest_secret_id(token)} | changes


@pytest.mark.parametrize("act", ["rotate", "revoke"])
def test_a_get_asks_and_changes_nothing(act: str, boss_client: Client, issued: Issued) -> None:
    token, secret = issued
    response = boss_client.get(url(act, token.pk))
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    assert works(secret.reveal())
    assert TokenSecret.objects.count() == 1
    assert not LogEntry.objects.exists()


def test_rotating_shows_the_new_secret_once_and_keeps_the_old_for_the_grace(
    boss_client: Client, issued: Issued
) -> None:
    token, old = issued
    response = boss_client.post(url("rotate", token.pk), rotate_form(token))
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    [new] = secrets_on(response)
    assert (works(new), works(old.reveal())) == (True, True)
    left = traces(boss_client, response)
    assert new[17:] not in left
    end = token.secrets.order_by("id")[0].valid_until
    assert end is not None
    assert abs(end - timezone.now() - timedelta(hours=1)) < timedelta(minutes=1)
    assert "Rotated" in LogEntry.objects.get().get_change_message()


@pytest.mark.parametrize(
    "grace", [{"grace": "0"}, {"grace": "custom", "seconds": "0"}], ids=["preset", "custom"]
)
def test_no_grace_ends_the_old_secret(
    grace: dict[str, str], boss_client: Client, issued: Issued
) -> None:
    token, old = issued
    [new] = secrets_on(boss_client.post(url("rotate", token.pk), rotate_form(token, **grace)))
    assert (works(new), works(old.reveal())) == (True, False)


def offered(response: Any) -> list[str]:
    return [str(label) for _, label in response.context["form"].fields["grace"].choices]


def test_no_grace_is_offered_that_the_token_s_own_end_makes_untrue(
    boss_client: Client, ana: Any
) -> None:
    end = timezone.now() + timedelta(hours=3)
    token, old = issue(user=ana, name="short", expires_at=end)
    asked = boss_client.get(url("rotate", token.pk))
    assert offered(asked)[0] == "At once"
    assert offered(asked)[1].startswith("After 1 hour, on ")
    assert offered(asked)[2:] == [f"With the token, on {to_the_minute(end)}"]
    assert 'value="86400"' in asked.content.decode()
    assert 'name="seconds"' not in asked.content.decode()
    late = rotate_form(token, grace="604800")
    told = boss_client.post(url("rotate", token.pk), late).content.decode()
    assert f"works until {to_the_minute(end)}." in told, "a choice that was offered stays good"
    assert f"ends on {to_the_minute(end)}." in LogEntry.objects.get().get_change_message()
    assert works(old.reveal())
    shown = words(boss_client.get(url("change", token.pk)).content.decode())
    assert to_the_minute(end + timedelta(days=6)) not in shown
    assert words(shown).count(to_the_minute(end)) >= 2


def test_the_project_s_own_usual_grace_is_offered_where_it_ends_before_the_token(
    boss_client: Client, ana: Any, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "ROTATION_GRACE": 1800}
    token, _ = issue(user=ana, name="short", expires_at=timezone.now() + timedelta(hours=3))
    form = boss_client.get(url("rotate", token.pk)).context["form"]
    assert (form["grace"].initial, form["seconds"].initial) == ("custom", 1800)
    assert "custom" in dict(form.fields["grace"].choices)
    nearly, _ = issue(user=ana, name="nearly", expires_at=timezone.now() + timedelta(minutes=9))
    form = boss_client.get(url("rotate", nearly.pk)).context["form"]
    assert (form["grace"].initial, form["seconds"].initial) == ("3600", None)
    assert "custom" not in dict(form.fields["grace"].choices)


def test_a_secret_that_was_cut_off_is_offered_no_grace(boss_client: Client, issued: Issued) -> None:
    token, _ = issued
    end_secret(token, token.secrets.get().lookup)
    asked = boss_client.get(url("rotate", token.pk))
    assert offered(asked) == ["It has ended already"]
    assert secrets_on(boss_client.post(url("rotate", token.pk), rotate_form(token, grace="0")))


def test_graces_of_several_tokens_say_where_one_ends_sooner(
    boss_client: Client, issued: Issued, ana: Any
) -> None:
    short, _ = issue(user=ana, name="short", expires_at=timezone.now() + timedelta(hours=3))
    both = boss_client.post(url("changelist"), chosen("rotate_tokens", issued[0], short))
    hour, day, week, own = offered(both)[1:]
    assert "sooner" not in hour
    assert all("with its token where that ends sooner" in each for each in (day, week))
    assert "or with the token where that ends sooner" in own
    longer, _ = issue(user=ana, name="long", expires_at=timezone.now() + timedelta(hours=4))
    ending = boss_client.post(url("changelist"), chosen("rotate_tokens", short, longer))
    assert offered(ending)[2:] == [
        f"Each with its token, the last on {to_the_minute(longer.expires_at)}"
    ]


@pytest.mark.parametrize("seconds", ["-1", "1000000000", "abc", "", "1e3", "\0"])
def test_a_bad_grace_is_an_error_of_the_form(
    seconds: str, boss_client: Client, issued: Issued
) -> None:
    token, _ = issued
    data = rotate_form(token, grace="custom", seconds=seconds)
    response = boss_client.post(url("rotate", token.pk), data)
    assert response.status_code == 200
    assert "errorlist" in response.content.decode()
    assert secrets_on(response) == []
    assert TokenSecret.objects.count() == 1


def test_who_rotates_after_another_is_told_and_changes_nothing(
    boss_client: Client, issued: Issued
) -> None:
    token, _ = issued
    data = rotate_form(token)
    [winner] = secrets_on(boss_client.post(url("rotate", token.pk), data))
    response = boss_client.post(url("rotate", token.pk), data)
    assert response.status_code == 409
    assert "was rotated meanwhile" in response.content.decode()
    assert secrets_on(response) == []
    assert works(winner)
    assert TokenSecret.objects.count() == 2


def test_a_revoked_token_looks_dead_and_keeps_what_it_was(
    boss_client: Client, issued: Issued
) -> None:
    token, _ = issued
    revoke(token)
    page = boss_client.get(url("change", token.pk)).content.decode()
    assert "This token is revoked" in page
    assert 'name="note"' in page
    assert not any(f'name="{field}' in page for field in ("name", "scopes", "tools", "expires_at"))
    secrets = {"secrets-TOTAL_FORMS": "0", "secrets-INITIAL_FORMS": "0"}
    changed = {"name": "alive", "scopes": ["rooms:write"], "note": "why", **secrets}
    before = (token.name, token.scopes)
    refused = boss_client.post(url("change", token.pk), changed)
    assert "so nothing was saved" in refused.content.decode()
    token.refresh_from_db()
    assert (token.name, token.scopes, token.note) == (*before, "")
    noted = {"note": "why", **secrets}
    assert boss_client.post(url("change", token.pk), noted).status_code == 302
    token.refresh_from_db()
    assert (token.name, token.scopes, token.note) == (*before, "why")


def test_a_revoked_token_offers_no_acts_and_refuses_them(
    boss_client: Client, issued: Issued
) -> None:
    token, _ = issued
    assert url("rotate", token.pk) in boss_client.get(url("change", token.pk)).content.decode()
    revoke(token)
    assert url("rotate", token.pk) not in boss_client.get(url("change", token.pk)).content.decode()
    response = boss_client.post(url("rotate", token.pk), rotate_form(token))
    assert (response.status_code, secrets_on(response)) == (409, [])
    assert "revoked token cannot be rotated" in response.content.decode()


def test_revoking_ends_the_token_and_is_logged(boss_client: Client, issued: Issued) -> None:
    token, secret = issued
    response = boss_client.post(url("revoke", token.pk), follow=True)
    assert response.redirect_chain == [(url("change", token.pk), 302)]
    assert "is revoked" in response.content.decode()
    assert not works(secret.reveal())
    assert LogEntry.objects.get().get_change_message() == "Revoked."


def test_where_a_token_can_be_revoked_or_deleted_it_says_what_each_does(
    boss_client: Client, staff_client: Callable[..., Client], issued: Issued
) -> None:
    token, secret = issued
    told = "To stop a token, revoke it"
    change, delete = url("change", token.pk), url("delete", token.pk)
    several = boss_client.post(url("changelist"), chosen("delete_selected", token))
    for page in (boss_client.get(change), boss_client.get(delete), several):
        assert told in page.content.decode()
    for codename in ("change_token", "delete_token"):
        only = staff_client("view_token", codename).get(change)
        assert told not in only.content.decode()
    call = CallEvent.objects.create(outcome="ok", token=token, token_name="laptop")
    boss_client.post(delete, {"post": "yes"})
    call.refresh_from_db()
    assert (call.token, call.token_name) == (None, "laptop")
    assert not works(secret.reveal())


def test_the_token_of_a_superuser_leads_others_to_no_rotation(
    boss_client: Client, staff_client: Callable[..., Client], boss: Any, issued: Issued
) -> None:
    his, _ = issue(user=boss, name="the boss's")
    changer = staff_client("view_token", "change_token")
    page = changer.get(url("change", his.pk)).content.decode()
    assert url("rotate", his.pk) not in page
    assert url("revoke", his.pk) in page
    assert url("rotate", his.pk) in boss_client.get(url("change", his.pk)).content.decode()
    assert url("rotate", issued[0].pk) in changer.get(url("change", issued[0].pk)).content.decode()


def test_who_may_delete_tokens_deletes_one_with_its_sessions_and_reads_no_names_of_those(
    staff_client: Callable[..., Client], issued: Issued
) -> None:
    token, secret = issued
    version = "2025-11-25"
    session = Session.objects.create(
        key="k", user=token.user, token=token, client_name="Their client", protocol_version=version
    )
    StreamEvent.objects.create(session=session, stream="astream", number=1, data="{}")
    client = staff_client("view_token", "delete_token")
    delete = url("delete", token.pk)
    several = client.post(url("changelist"), chosen("delete_selected", token))
    for page in (client.get(delete).content.decode(), several.content.decode()):
        assert f'Token: <a href="{url("change", token.pk)}">laptop</a>' in page
        assert "Sessions: 1" in page
        assert "Their client" not in page
        assert "astream" not in page
    assert client.post(delete, {"post": "yes"}).status_code == 302
    assert not Session.objects.exists()
    assert not works(secret.reveal())


@pytest.mark.parametrize("act", ["rotate", "revoke"])
@pytest.mark.parametrize("codenames", [(), ("view_token",), ("add_token", "delete_token")])
def test_acts_take_the_change_permission(
    act: str,
    codenames: tuple[str, ...],
    staff_client: Callable[..., Client],
    issued: Issued,
) -> None:
    token, secret = issued
    client = staff_client(*codenames)
    assert client.get(url(act, token.pk)).status_code == 403
    assert client.post(url(act, token.pk), rotate_form(token)).status_code == 403
    assert works(secret.reveal())
    assert TokenSecret.objects.count() == 1


@pytest.mark.parametrize("act", ["rotate", "revoke"])
def test_the_change_permission_is_enough(
    act: str, staff_client: Callable[..., Client], issued: Issued
) -> None:
    token, _ = issued
    response = staff_client("change_token").post(url(act, token.pk), rotate_form(token))
    assert response.status_code == {"rotate": 200, "revoke": 302}[act]


def test_only_a_superuser_rotates_the_token_of_a_superuser(
    staff_client: Callable[..., Client], boss: Any
) -> None:
    token, secret = issue(user=boss, name="the boss's")
    client = staff_client("change_token")
    assert client.post(url("rotate", token.pk), rotate_form(token)).status_code == 403
    assert TokenSecret.objects.count() == 1
    assert client.post(url("revoke", token.pk)).status_code == 302
    assert not works(secret.reveal())


@pytest.mark.parametrize("act", ["rotate", "revoke"])
def test_a_post_without_the_csrf_token_is_refused(act: str, boss: Any, issued: Issued) -> None:
    token, secret = issued
    client = Client(enforce_csrf_checks=True)
    client.force_login(boss)
    assert client.post(url(act, token.pk), rotate_form(token)).status_code == 403
    assert works(secret.reveal())


@pytest.mark.parametrize("act", ["rotate", "revoke"])
def test_strangers_are_sent_to_the_login(act: str, issued: Issued) -> None:
    response = Client().post(url(act, issued[0].pk))
    assert response.status_code == 302
    assert "login" in response["Location"]


@pytest.mark.parametrize("act", ["rotate", "revoke"])
@pytest.mark.parametrize("pk", ["999", "x", "1'--"])
def test_a_token_that_is_not_there_is_said_to_be_missing(
    act: str, pk: str, boss_client: Client
) -> None:
    response = boss_client.post(url(act, pk), follow=True)
    assert "exist. Perhaps it was deleted?" in response.content.decode()


def chosen(action: str, *tokens: Token, **more: Any) -> dict[str, Any]:
    return {"action": action, "_selected_action": [token.pk for token in tokens]} | more


def test_bulk_acts_ask_first(boss_client: Client, issued: Issued) -> None:
    token, secret = issued
    for action in ("rotate_tokens", "revoke_tokens"):
        response = boss_client.post(url("changelist"), chosen(action, token))
        assert response.status_code == 200
        assert hidden(response, "confirmed") == "yes"
        assert works(secret.reveal())
        assert TokenSecret.objects.count() == 1


def test_bulk_rotation_shows_all_new_secrets_and_says_what_it_skipped(
    boss_client: Client, issued: Issued, ana: Any
) -> None:
    first, old = issued
    second, _ = issue(user=ana, name="ci")
    gone, _ = issue(user=ana, name="lost phone")
    revoke(gone)
    asked = boss_client.post(url("changelist"), chosen("rotate_tokens", first, second, gone))
    seen = {f"expected_{t.pk}": hidden(asked, f"expected_{t.pk}") for t in (first, second, gone)}
    data = chosen("rotate_tokens", first, second, gone, confirmed="yes", grace="0", **seen)
    response = boss_client.post(url("changelist"), data)
    secrets = secrets_on(response)
    assert {verify(secret).token for secret in secrets} == {first, second}
    assert "no-store" in response["Cache-Control"]
    page = response.content.decode()
    assert "lost phone" in page
    assert "revoked token cannot be rotated" in page
    assert not works(old.reveal())
    left = traces(boss_client, response)
    assert not any(secret[17:] in left for secret in secrets)
    assert LogEntry.objects.count() == 2
    again = boss_client.post(url("changelist"), data)
    assert secrets_on(again) == []
    assert TokenSecret.objects.count() == 5


def test_no_form_that_rotates_comes_back_without_a_word(
    boss_client: Client, issued: Issued
) -> None:
    wrong = {"grace": "0", "expected": "x"}
    page = boss_client.post(url("rotate", issued[0].pk), wrong).content.decode()
    assert "Enter a whole number." in page
    assert TokenSecret.objects.count() == 1


def test_a_bulk_rotation_is_of_what_was_seen_also_after_a_mistake_in_its_form(
    boss_client: Client, issued: Issued
) -> None:
    token, _ = issued
    asked = boss_client.post(url("changelist"), chosen("rotate_tokens", token))
    seen = {f"expected_{token.pk}": hidden(asked, f"expected_{token.pk}")}
    rotate(token, grace=timedelta(0))
    wrong = chosen("rotate_tokens", token, confirmed="yes", grace="custom", seconds="", **seen)
    again = boss_client.post(url("changelist"), wrong)
    assert "Write how many seconds." in again.content.decode()
    assert {f"expected_{token.pk}": hidden(again, f"expected_{token.pk}")} == seen
    right = chosen("rotate_tokens", token, confirmed="yes", grace="0", **seen)
    refused = boss_client.post(url("changelist"), right)
    assert secrets_on(refused) == []
    assert "rotated meanwhile" in refused.content.decode()


def test_bulk_rotation_leaves_a_superusers_token_to_superusers(
    staff_client: Callable[..., Client], boss: Any, issued: Issued
) -> None:
    his, _ = issue(user=boss, name="the boss's")
    tokens = (issued[0], his)
    seen = {f"expected_{token.pk}": newest_secret_id(token) for token in tokens}
    response = staff_client("change_token", "view_token").post(
        url("changelist"), chosen("rotate_tokens", *tokens, confirmed="yes", grace="0", **seen)
    )
    [secret] = secrets_on(response)
    assert verify(secret).token == issued[0]
    assert "Only a superuser" in response.content.decode()


def test_bulk_revocation_revokes_all_and_logs_each(
    boss_client: Client, issued: Issued, ana: Any
) -> None:
    first, secret = issued
    second, other = issue(user=ana, name="ci")
    data = chosen("revoke_tokens", first, second, confirmed="yes")
    response = boss_client.post(url("changelist"), data, follow=True)
    assert "2 tokens revoked" in response.content.decode()
    assert not works(secret.reveal())
    assert not works(other.reveal())
    assert LogEntry.objects.count() == 2


@pytest.mark.parametrize("action", ["rotate_tokens", "revoke_tokens"])
def test_bulk_acts_take_the_change_permission(
    action: str, staff_client: Callable[..., Client], issued: Issued
) -> None:
    token, secret = issued
    data = chosen(action, token, confirmed="yes", grace="0")
    response = staff_client("view_token").post(url("changelist"), data, follow=True)
    assert secrets_on(response) == []
    assert works(secret.reveal())
    assert TokenSecret.objects.count() == 1
