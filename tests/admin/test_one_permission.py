"""Staff with one permission: which pages open to them, and that no link leads them to a refusal."""

from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from tests.admin.pages import LINK, html, url

TOKEN = ("token list", "token", "token history")
CALLS = ("calls", "call", "call history", "overview")
SESSIONS = ("sessions", "session", "session history")
SWITCHES = ("switches", "switch", "switch history")
CATALOGUE = ("catalogue", "entry")

OPENS: dict[str, tuple[str, ...]] = {
    "view_token": TOKEN,
    "change_token": (*TOKEN, "rotate", "revoke", "end secret"),
    "add_token": ("issue", "reach"),
    "delete_token": ("delete token",),
    "view_callevent": CALLS,
    "change_callevent": CALLS,
    "add_callevent": (),
    "delete_callevent": ("delete call",),
    "export_callevent": (),
    "export_callevent view_callevent": (*CALLS, "csv", "jsonl"),
    "tail_callevent": ("tail", "tail rows"),
    "stop_callevent": ("stop",),
    "view_session": SESSIONS,
    "change_session": (*SESSIONS, "end session", "end stream"),
    "add_session": (),
    "delete_session": ("delete session",),
    "watch_session": ("connected",),
    "end_session": ("end session", "end stream"),
    "view_switch": SWITCHES,
    "change_switch": (*SWITCHES, "lift"),
    "add_switch": ("set switch",),
    "delete_switch": (),
    "view_catalogue": CATALOGUE,
    "explain_catalogue": (),
    "explain_catalogue view_catalogue": (*CATALOGUE, "explain", "view as", "callers"),
    "try_catalogue": (),
    "try_catalogue view_catalogue": (*CATALOGUE, "try"),
}

TOLD_BY = {
    "noteoftoken": {"view_token", "change_token"},
    "clientofsession": {
        *("view_session", "change_session", "delete_session"),
        *("watch_session", "end_session"),
    },
    "textofcall": {"view_callevent", "change_callevent"},
}
"""What is written in a row of each kind, and the permissions by which people read it."""


def leads_to(address: str, answer: Any) -> set[str]:
    """Where the links and forms of a page lead within the admin, each path once."""
    found = (urljoin(address, unescape(link)) for link in LINK.findall(html(answer)))
    paths = {urlsplit(there).path for there in found if not urlsplit(there).netloc}
    kept = {path for path in paths if path.startswith("/admin/")}
    return kept - {reverse("admin:logout"), reverse("admin:jsi18n")}


def refused_links(client: Client, address: str, answer: Any) -> set[str]:
    """Those of its links that the person must not follow, or that lead nowhere."""
    asked = {"of": "default:tool:list_rooms"}
    return {
        path for path in leads_to(address, answer) if client.get(path, asked).status_code >= 400
    }


@pytest.mark.django_db
def test_each_permission_of_a_page_is_asked_about_below() -> None:
    models = ("token", "callevent", "session", "switch", "catalogue")
    kinds = Permission.objects.filter(content_type__app_label="mcp_app")
    named = {name for held in OPENS for name in held.split()}
    assert set(kinds.filter(content_type__model__in=models).values_list("codename", flat=True)) == (
        named
    )


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("held", OPENS)
def test_one_permission_opens_its_pages_and_leads_to_no_others(
    held: str, staff_client: Callable[..., Client], every_page: dict[str, str]
) -> None:
    client = staff_client(*held.split())
    answers = {name: client.get(address) for name, address in every_page.items()}
    opened = {name for name, answer in answers.items() if answer.status_code == 200}
    assert opened == set(OPENS[held])
    assert {answers[name].status_code for name in set(every_page) - opened} <= {403}
    assert {client.post(every_page[name]).status_code for name in set(every_page) - opened} <= {403}
    index = reverse("admin:index")
    wrong = {
        name: refused
        for name in opened
        if (refused := refused_links(client, every_page[name], answers[name]))
    }
    assert wrong == {}
    assert refused_links(client, index, client.get(index)) == set()
    told = "".join(html(answers[name]) for name in opened)
    for words, by in TOLD_BY.items():
        assert (words in told) == bool(by.intersection(held.split())), words


def test_who_may_only_issue_is_led_to_no_token_afterwards(
    staff_client: Callable[..., Client], ana: Any
) -> None:
    client = staff_client("add_token")
    form = {"user": "ana", "name": "x", "tools_limit": "any", "expiry": "7", "lookup": "a" * 12}
    for _ in ("issued", "sent again"):
        answer = client.post(url("add"), form)
        assert answer.status_code in (200, 409)
        assert "Home</a>" in html(answer)
        assert refused_links(client, url("add"), answer) == set()
