"""A token's page and questions say who uses it, who is cut off when, and what was done to it."""

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import issue, newest_secret_id, revoke, rotate
from mcp_app.auth.verification import CredentialsInvalid, verify
from mcp_app.models import CallEvent, Token, TokenSecret
from mcp_app.testing import MCPClient
from tests.admin.pages import secrets_on, url

Issued = tuple[Token, Secret]


def works(secret: Secret) -> bool:
    try:
        verify(secret.reveal())
    except CredentialsInvalid:
        return False
    return True


def text_of(response: Any) -> str:
    return " ".join(unescape(strip_tags(response.content.decode())).split())


def rows_of(response: Any, title: str) -> list[str]:
    """The rows of the table beneath a heading, as texts."""
    table = response.content.decode().split(f">{title}</h2>")[1].split("</table>")[0]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table.split("<tbody>")[1], re.DOTALL)
    cells = (row.replace("</td>", " </td>") for row in rows)
    return [" ".join(unescape(strip_tags(row)).split()) for row in cells]


def use(secret: Secret, name: str = "cli") -> None:
    MCPClient(secret.reveal(), client_info={"name": name, "version": "1"}).call("server_health")


@pytest.fixture
def in_turn(settings: Any) -> None:
    """Calls are recorded in the test's own transaction."""
    settings.MCP_APP = {**settings.MCP_APP, "WORKERS": 0}


def test_rotating_says_who_is_cut_off_at_once_and_who_at_the_end(
    boss_client: Client, issued: Issued, in_turn: None
) -> None:
    token, first = issued
    use(first, "<b>cron</b>")
    second = rotate(token, grace=timedelta(hours=5))
    use(second, "agent")
    page = boss_client.get(url("rotate", token.pk))
    assert "<b>cron" not in page.content.decode()
    at_end, at_once = text_of(page).split("mcp_")[1:3]
    assert "works until the end that you choose" in at_end
    assert "agent 1 from 127.0.0.1: 1 call" in at_end
    assert "is refused at once" in at_once
    assert "<b>cron</b> 1 from 127.0.0.1" in at_once
    ends = timezone.localtime() + timedelta(hours=1)
    assert f"After 1 hour, on {ends:%Y-%m-%d %H}:" in text_of(page)


@pytest.mark.parametrize("page", ["rotate", "revoke", "end_secret"])
def test_who_has_changed_over_is_not_among_those_who_are_cut_off(
    page: str, boss_client: Client, issued: Issued, in_turn: None
) -> None:
    token, first = issued
    use(first, "agent")
    second = rotate(token, grace=timedelta(hours=5))
    use(second, "agent")
    old = [first.reveal()[4:16]] if page == "end_secret" else []
    text = text_of(boss_client.get(url(page, token.pk, *old))).rpartition("cut off")[2]
    assert "agent 1 from" not in text
    assert "Nobody who is known of still uses it." in text
    assert "1 client that used it has called with a newer secret since" in text


def test_rotating_says_which_limits_stay(boss_client: Client, ana: Any) -> None:
    ends = timezone.now() + timedelta(days=9)
    scopes = {"scopes": ["rooms:write"], "read_only": True, "expires_at": ends}
    token, _ = issue(user=ana, name="laptop", tools=["list_rooms", "get_room"], **scopes)
    text = text_of(boss_client.get(url("rotate", token.pk)))
    assert "Scopes: rooms:write Tools: get_room list_rooms (only those that read) Ends: 20" in text
    free, _ = issue(user=ana, name="desk")
    text = text_of(boss_client.get(url("rotate", free.pk)))
    assert "Scopes: none Tools: any that its user may call Ends: never by itself" in text


def test_where_calls_are_not_kept_the_secret_itself_says_when_it_was_used(
    boss_client: Client, issued: Issued
) -> None:
    token, secret = issued
    assert "Nobody has ever used it" in text_of(boss_client.get(url("rotate", token.pk)))
    verify(secret.reveal(), address="192.0.2.7")
    page = text_of(boss_client.get(url("rotate", token.pk)))
    assert re.search(r"It was last used on .* from 192\.0\.2\.7\.", page)


def test_the_page_with_the_new_secret_says_when_the_old_one_ends(
    boss_client: Client, issued: Issued
) -> None:
    token, _ = issued
    for grace, said in (("86400", "works until"), ("0", "is refused from now on")):
        data = {"grace": grace, "seconds": "", "expected": newest_secret_id(token)}
        answer = boss_client.post(url("rotate", token.pk), data)
        assert len(secrets_on(answer)) == 1
        assert re.search(rf"The secret before it, mcp_\w+_…, {said}", text_of(answer))


def test_a_token_tells_whether_an_old_secret_is_still_tried(
    boss_client: Client, issued: Issued, in_turn: None
) -> None:
    token, old = issued
    use(old)
    rotate(token, grace=timedelta(0))
    [new, was, after] = rows_of(boss_client.get(url("change", token.pk)), "Its secrets")
    assert "never" in new
    assert "cli 1 from 127.0.0.1" in was
    assert after == "Nobody has tried it since."
    use(old, "forgotten <script>")
    page = boss_client.get(url("change", token.pk))
    assert "<script>" not in "".join(rows_of(page, "Its secrets")[:2])
    assert re.match(
        r"Still tried: 1 refused call since it ended; the last on .* from 127\.0\.0\.1\.",
        rows_of(page, "Its secrets")[2],
    )


def test_each_secret_leads_to_its_calls_for_those_who_may_see_calls(
    boss_client: Client, staff_client: Callable[..., Client], issued: Issued, in_turn: None
) -> None:
    token, old = issued
    use(old, "before")
    new = rotate(token, grace=timedelta(hours=1))
    use(new, "after")
    log = reverse("admin:mcp_app_callevent_changelist")
    page = boss_client.get(url("change", token.pk)).content.decode()
    for secret, client in ((old, "before"), (new, "after")):
        address = f"{log}?secret=mcp_{secret.reveal()[4:16]}"
        assert f'href="{address}"' in page
        [call] = boss_client.get(address).context["cl"].result_list
        assert call.client_name == client
    assert (
        f"{log}?secret"
        not in staff_client("view_token").get(url("change", token.pk)).content.decode()
    )


def test_a_row_of_the_secrets_says_what_each_cell_holds(
    boss_client: Client, issued: Issued
) -> None:
    token, _ = issued
    rotate(token, grace=timedelta(0))
    page = boss_client.get(url("change", token.pk)).content.decode()
    table = page.split(">Its secrets</h2>")[1].split("</table>")[0]
    assert "mcp-cards" in page.split(">Its secrets</h2>")[1].split("<table>")[0]
    headings = re.findall(r'<th scope="col">([^<]+)</th>', table)
    for row in re.findall(
        r"<tr(?! class=\"mcp-after)[^>]*>(.*?)</tr>", table.split("<tbody>")[1], re.S
    ):
        assert re.findall(r'data-label="([^"]+)"', row) == headings


def test_a_leaked_secret_is_ended_and_the_agent_with_the_new_one_goes_on(
    boss_client: Client, issued: Issued
) -> None:
    token, leaked = issued
    new = rotate(token, grace=timedelta(days=1))
    lookup = leaked.reveal()[4:16]
    address = url("end_secret", token.pk, lookup)
    assert address in boss_client.get(url("change", token.pk)).content.decode()
    asked = boss_client.get(address)
    assert "The token keeps its other secret" in text_of(asked)
    assert "last" not in text_of(asked)
    assert works(leaked)
    answer = boss_client.post(address, follow=True)
    assert f"The secret mcp_{lookup}_… is refused from now on." in text_of(answer)
    assert answer.redirect_chain == [(url("change", token.pk), 302)]
    assert (works(leaked), works(new)) == (False, True)
    assert address not in answer.content.decode()
    assert f"Ended mcp_{lookup}_…." in rows_of(answer, "What was done to it")[0]
    # A second time it says so, and does nothing.
    ended = TokenSecret.objects.get(lookup=lookup).valid_until
    assert "This secret has ended already" in text_of(boss_client.get(address))
    boss_client.post(address)
    assert TokenSecret.objects.get(lookup=lookup).valid_until == ended
    assert len(rows_of(boss_client.get(url("change", token.pk)), "What was done to it")) == 1


def test_to_end_the_last_secret_that_works_warns_of_what_will_then_happen(
    boss_client: Client, issued: Issued
) -> None:
    token, first = issued
    second = rotate(token, grace=timedelta(0))
    address = url("end_secret", token.pk, second.reveal()[4:16])
    asked = text_of(boss_client.get(address))
    assert "the last secret of this token that works" in asked
    assert "no client gets in with the token" in asked
    assert "until it is rotated" in asked
    assert "keeps its other secret" not in asked
    told = text_of(boss_client.post(address, follow=True))
    assert "None of its secrets works any more" in told
    ended = text_of(boss_client.get(url("end_secret", token.pk, first.reveal()[4:16])))
    assert "the last secret" not in ended


def test_a_token_without_a_secret_that_works_says_what_to_do(
    boss_client: Client, issued: Issued
) -> None:
    token, secret = issued
    boss_client.post(url("end_secret", token.pk, secret.reveal()[4:16]))
    assert "None of its secrets works" in text_of(boss_client.get(url("change", token.pk)))
    data = {"grace": "86400", "seconds": "", "expected": newest_secret_id(token)}
    [new] = secrets_on(boss_client.post(url("rotate", token.pk), data))
    assert works(Secret(new))
    assert not works(secret)


@pytest.mark.parametrize("lookup", ["x", "000000000000"])
def test_a_secret_of_another_token_is_not_ended_by_this_ones_address(
    lookup: str, boss_client: Client, issued: Issued, ana: Any
) -> None:
    token, _ = issued
    _, secret = issue(user=ana, name="other")
    for name in (lookup, secret.reveal()[4:16]):
        answer = boss_client.post(url("end_secret", token.pk, name), follow=True)
        assert "Perhaps it was deleted?" in answer.content.decode()
    assert works(secret)


def test_ending_a_secret_takes_the_change_permission_and_the_csrf_token(
    staff_client: Callable[..., Client], boss: Any, issued: Issued
) -> None:
    token, secret = issued
    address = url("end_secret", token.pk, secret.reveal()[4:16])
    looking = staff_client("view_token")
    assert looking.post(address).status_code == 403
    assert address not in looking.get(url("change", token.pk)).content.decode()
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(boss)
    assert strict.post(address).status_code == 403
    assert Client().post(address).status_code == 302
    assert works(secret)


def test_the_history_says_who_did_what(
    boss_client: Client, staff_client: Callable[..., Client], issued: Issued
) -> None:
    token, _ = issued
    data = {"grace": "0", "seconds": "", "expected": newest_secret_id(token)}
    boss_client.post(url("rotate", token.pk), data)
    client = staff_client("change_token", "view_token")
    client.post(url("revoke", token.pk))
    page = client.get(url("change", token.pk))
    revoked, rotated = rows_of(page, "What was done to it")
    assert re.fullmatch(r"\S+ \S+ staff\d+ Revoked\.", revoked)
    assert re.fullmatch(
        r"\S+ \S+ boss Rotated: mcp_\w+_… is new\. mcp_\w+_… ends on \S+ \S+\.", rotated
    )


@pytest.mark.parametrize("how", ["revoked", "expired"])
def test_a_token_that_is_over_looks_over_and_has_no_live_form(
    how: str, boss_client: Client, issued: Issued
) -> None:
    token, _ = issued
    if how == "revoked":
        revoke(token)
    else:
        Token.objects.update(expires_at=timezone.now())
    page = boss_client.get(url("change", token.pk))
    assert {"revoked": "This token is revoked", "expired": "has expired"}[how] in text_of(page)
    html = page.content.decode()
    for act in ("rotate", "revoke"):
        assert url(act, token.pk) not in html
    assert "End now" not in html
    form = html.split('id="token_form"')[1].split("</form>")[0]
    assert set(re.findall(r'<(?:input|textarea|select)[^>]* name="(\w+)"', form)) == {
        "csrfmiddlewaretoken",
        "note",
        "_save",
    }
    sent = {"name": "alive", "tools_limit": "any", "expires_at": "2126-01-01T00:00", "note": "why"}
    told = boss_client.post(url("change", token.pk), sent)
    assert "The token has ended meanwhile, so nothing was saved." in text_of(told)
    assert ">\nwhy</textarea>" in told.content.decode()
    token.refresh_from_db()
    assert (token.name, token.note, token.is_over) == ("laptop", "", True)
    assert boss_client.post(url("change", token.pk), {"note": "why"}).status_code == 302
    token.refresh_from_db()
    assert (token.name, token.note, token.is_over) == ("laptop", "why", True)


def test_an_owner_who_is_not_active_is_a_banner(
    boss_client: Client, issued: Issued, ana: Any
) -> None:
    ana.is_active = False
    ana.save()
    page = text_of(boss_client.get(url("change", issued[0].pk)))
    assert "The user of this token is not active" in page


def test_bulk_questions_say_when_each_was_last_used(
    boss_client: Client, issued: Issued, ana: Any
) -> None:
    used, secret = issued
    verify(secret.reveal())
    unused, _ = issue(user=ana, name="unused")
    for action in ("rotate_tokens", "revoke_tokens"):
        data = {"action": action, "_selected_action": [used.pk, unused.pk]}
        page = text_of(boss_client.post(url("changelist"), data))
        assert re.search(r"laptop \(ana\), last used \d{4}-", page)
        assert "unused (ana), never used" in page


def test_the_pages_of_a_token_with_many_calls_ask_for_few_of_them(
    boss_client: Client, issued: Issued, django_assert_max_num_queries: Any
) -> None:
    token, secret = issued
    lookup = secret.reveal()[4:16]
    CallEvent.objects.bulk_create(
        CallEvent(token=token, token_lookup=lookup, outcome="ok", client_name=f"c{n}")
        for n in range(300)
    )
    with django_assert_max_num_queries(12):
        page = boss_client.get(url("change", token.pk))
    assert page.status_code == 200
