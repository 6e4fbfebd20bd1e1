"""Explain in the admin: the gates that `mcp_explain` prints, for a user and a token of theirs."""

import json
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from mcp_app.access.explanation import Gate
from mcp_app.auth.tokens import issue, revoke
from mcp_app.catalog.registry import default_server
from mcp_app.models import CallEvent
from project.quiz.models import Room
from project.quiz.permissions import CanChange
from tests.admin.pages import url as page_url
from tests.admin.words import words

EXPLAIN = reverse("admin:mcp_app_catalogue_explain")


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    @default_server.tool(scopes=["rooms:write"])
    def explained_close(room: str) -> None:
        """Close."""

    yield
    default_server.remove("explained_close")


def asked(**changes: str) -> dict[str, str]:
    return {"of": "default:tool:explained_close", "user": "ana"} | changes


def gates(client: Client, **changes: str) -> list[Gate]:
    response = client.get(EXPLAIN, asked(**changes))
    assert response.status_code == 200
    found: list[Gate] = response.context["gates"]
    return found


def test_the_page_and_the_command_say_the_same(boss_client: Client, issued: Any) -> None:
    lookup = issued[0].secrets.get().lookup
    for token in ("", lookup):
        out = StringIO()
        words_of = ["--user", "ana", *(["--token", token] if token else [])]
        call_command("mcp_explain", "explained_close", *words_of, "--json", stdout=out)
        printed = [Gate(**row) for row in json.loads(out.getvalue())]
        assert gates(boss_client, token=token) == printed
        assert all(gate.passed or gate.by_token for gate in printed)
        assert any(gate.by_token for gate in printed) is (token == "")


def test_without_a_token_the_page_does_not_promise_what_a_token_decides(
    boss_client: Client, issued: Any
) -> None:
    text = words(boss_client.get(EXPLAIN, asked()).content.decode())
    assert "scopes depends on the token the token needs rooms:write" in text
    assert "3 depend on the token" in text
    lookup = issued[0].secrets.get().lookup
    text = words(boss_client.get(EXPLAIN, asked(token=lookup)).content.decode())
    assert "depends on the token" not in text


def test_it_names_the_first_gate_that_is_shut(boss_client: Client, ana: Any) -> None:
    token, _ = issue(user=ana, name="narrow", tools=["list_rooms"], read_only=True)
    lookup = token.secrets.get().lookup
    text = words(boss_client.get(EXPLAIN, asked(token=lookup)).content.decode())
    assert "the first gate that is shut is “limits of the token”" in text
    assert "scopes fail the token lacks rooms:write" in text
    revoke(token)
    text = words(boss_client.get(EXPLAIN, asked(token=lookup)).content.decode())
    assert "the first gate that is shut is “credential”" in text
    assert "revoked" in text
    with pytest.raises(CommandError):
        call_command("mcp_explain", "explained_close", "--token", lookup, stdout=StringIO())


def test_a_resource_is_outside_a_token_for_named_tools(boss_client: Client, ana: Any) -> None:
    @default_server.resource("explained://all")
    def explained_all() -> str:
        """All."""
        return ""

    token, _ = issue(user=ana, name="narrow", tools=sorted(default_server.tools)[:5])
    lookup = token.secrets.get().lookup
    try:
        found = gates(boss_client, of="default:resource:explained://all", token=lookup)
    finally:
        default_server.remove_resource("explained://all")
    limits = next(gate for gate in found if gate.name == "limits of the token")
    assert (limits.passed, limits.why) == (False, "the token is limited to tools, and this is none")


def test_tokens_to_choose_from_are_the_user_s(boss_client: Client, issued: Any, boss: Any) -> None:
    other, _ = issue(user=boss, name="another's")
    page = boss_client.get(EXPLAIN, asked()).content.decode()
    assert "laptop (mcp_" in page
    assert "another" not in page
    refused = boss_client.get(EXPLAIN, asked(token=other.secrets.get().lookup))
    assert refused.context["gates"] == []
    assert "Select a valid choice" in refused.content.decode()


@pytest.mark.parametrize(
    "changes",
    [{"user": "nobody"}, {"user": "\0"}, {"user": ""}, {"of": "x"}, {"of": "default:tool:gone"}],
)
def test_what_there_is_not_is_said_in_words(
    boss_client: Client, ana: Any, changes: dict[str, str]
) -> None:
    response = boss_client.get(EXPLAIN, asked(**changes))
    assert response.status_code == 200
    assert response.context["gates"] == []
    assert 'class="errorlist"' in response.content.decode()


def test_it_opens_with_what_was_chosen_and_asks_nothing_of_nobody(boss_client: Client) -> None:
    response = boss_client.get(EXPLAIN, {"of": "default:tool:explained_close"})
    assert '<option value="default:tool:explained_close" selected>' in response.content.decode()
    assert response.context["gates"] == []


def test_a_denied_call_leads_to_it(boss_client: Client, issued: Any, ana: Any) -> None:
    lookup = issued[0].secrets.get().lookup
    event = CallEvent.objects.create(
        outcome="denied",
        method="tools/call",
        tool="explained_close",
        user=ana,
        username="ana",
        token=issued[0],
        token_lookup=lookup,
    )
    story = boss_client.get(page_url("change", event.pk, model="callevent"))
    link = story.context["explained"]
    assert link.replace("&", "&amp;") in story.content.decode()
    form = boss_client.get(link).context["form"]
    assert form.is_valid()
    assert form.secret.lookup == lookup
    assert form.cleaned_data["of"].declared.name == "explained_close"


def test_it_takes_a_permission_of_its_own(staff_client: Callable[..., Client], ana: Any) -> None:
    viewer = staff_client("view_catalogue", "view_callevent", "view_token")
    assert viewer.get(EXPLAIN, asked()).status_code == 403
    event = CallEvent.objects.create(
        outcome="denied", method="tools/call", tool="explained_close", user=ana, username="ana"
    )
    story = viewer.get(page_url("change", event.pk, model="callevent")).content.decode()
    assert EXPLAIN not in story
    assert staff_client("explain_catalogue").get(EXPLAIN, asked()).status_code == 403
    explainer = staff_client("view_catalogue", "explain_catalogue")
    assert explainer.get(EXPLAIN, asked()).status_code == 200
    index = explainer.get(reverse("admin:app_list", args=["mcp_app"])).content.decode()
    assert EXPLAIN in index


def test_it_writes_nothing(boss_client: Client, issued: Any) -> None:
    with CaptureQueriesContext(connection) as captured:
        boss_client.get(EXPLAIN, asked(token=issued[0].secrets.get().lookup))
    verbs = {query["sql"].split()[0] for query in captured}
    assert verbs == {"SELECT"}
    assert not CallEvent.objects.exists()


@pytest.fixture
def guarded(ana: Any, declared: None) -> Iterator[Group]:
    """A tool that asks for a permission, which a group has; Ana is in another group."""
    having = Group.objects.create(name="closers")
    having.permissions.add(Permission.objects.get(codename="change_room"))
    ana.groups.add(Group.objects.create(name="readers"))

    @default_server.tool(permission_classes=[CanChange], queryset=Room.objects.all())
    def guarded_close(room: str) -> None:
        """Close."""

    yield having
    default_server.remove("guarded_close")


def test_it_leads_to_the_user_and_to_the_groups_that_matter(
    boss_client: Client, ana: Any, guarded: Group
) -> None:
    query = asked(of="default:tool:guarded_close")
    text = boss_client.get(EXPLAIN, query).content.decode()
    assert f'<a href="/admin/auth/user/{ana.pk}/change/">ana</a>' in text
    assert f'<a href="/admin/auth/group/{ana.groups.get().pk}/change/">readers</a>' in text
    assert f'<a href="/admin/auth/group/{guarded.pk}/change/">closers</a>' in text
    assert "Groups that have what the user lacks closers" in words(text)


def test_it_leads_to_the_token_whose_limits_are_shut(
    boss_client: Client, staff_client: Callable[..., Client], ana: Any
) -> None:
    token, _ = issue(user=ana, name="narrow", tools=["list_rooms"])
    query = asked(token=token.secrets.get().lookup)
    way = f'<a href="{page_url("change", token.pk)}">narrow</a>'
    assert way in boss_client.get(EXPLAIN, query).content.decode()
    assert way not in boss_client.get(EXPLAIN, asked()).content.decode()
    told = staff_client("view_catalogue", "explain_catalogue").get(EXPLAIN, query)
    assert page_url("change", token.pk) not in told.content.decode()
    may = staff_client("view_catalogue", "explain_catalogue", "view_token").get(EXPLAIN, query)
    assert way in may.content.decode()


def test_it_leads_to_no_page_that_the_viewer_may_not_see(
    staff_client: Callable[..., Client], guarded: Group
) -> None:
    client = staff_client("view_catalogue", "explain_catalogue")
    text = client.get(EXPLAIN, asked(of="default:tool:guarded_close")).content.decode()
    assert "permission CanChange" in text
    assert "/admin/auth/" not in text
    assert "Where that is set" not in text
