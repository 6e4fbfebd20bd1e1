"""Who may call it, and what a user is shown: the same that the endpoint lists for them."""

import html
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from rest_framework.permissions import DjangoModelPermissions

from mcp_app.access.switches import switch_for, turn
from mcp_app.admin.callers_table import USERS
from mcp_app.auth.tokens import issue, revoke
from mcp_app.catalog.registry import MCPServer, default_server
from mcp_app.models import CallEvent
from mcp_app.testing import MCPClient
from project.quiz.models import Match, Room
from tests.admin.words import words

CALLERS = reverse("admin:mcp_app_catalogue_callers")
VIEW_AS = reverse("admin:mcp_app_catalogue_view-as")
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    """A tool for those who may change rooms, with a description that is a script."""

    @default_server.tool(
        permission_classes=[DjangoModelPermissions],
        queryset=Room.objects.all(),
        scopes=["rooms:write"],
        description=HOSTILE,
    )
    def access_change(room: str) -> None:
        """Change."""

    @default_server.resource("access://all")
    def access_all() -> str:
        """All."""
        return ""

    yield
    default_server.remove("access_change")
    default_server.remove_resource("access://all")


def table(client: Client, **asked: Any) -> dict[str, dict[str, bool]]:
    """By tool and user, whether they may."""
    response = client.get(CALLERS, asked)
    assert response.status_code == 200
    return {
        row.entry.declared.name: {user.get_username(): may for user, may in row.cells}
        for row in response.context["rows"]
    }


def on_the_wire(user: Any) -> list[dict[str, Any]]:
    _, secret = issue(user=user, name="wire", scopes=["rooms:write"])
    return MCPClient(secret.reveal()).tools()


def may_add_rooms() -> Permission:
    return Permission.objects.get(content_type__app_label="quiz", codename="add_room")


def test_the_table_holds_what_the_endpoint_lists(
    boss_client: Client, boss: Any, ana: Any, django_user_model: Any
) -> None:
    ben = django_user_model.objects.create_user("ben")
    ben.user_permissions.add(may_add_rooms())
    cleo = django_user_model.objects.create_user("cleo", is_staff=True)
    editors = Group.objects.create(name="editors")
    editors.permissions.add(may_add_rooms())
    cleo.groups.add(editors)
    turn(switch_for("off", "default", noun="tool", name="list_rooms", reason="x"))
    found = table(boss_client)
    for user in (boss, ana, ben, cleo):
        listed = {tool["name"] for tool in on_the_wire(user)}
        assert {name for name, row in found.items() if row[user.get_username()]} == listed
    assert found["access_change"] == {"ana": False, "ben": True, "boss": True, "cleo": True}
    assert not any(found["list_rooms"].values())
    assert set(table(boss_client, group=editors.pk)["access_change"]) == {"cleo"}
    assert set(table(boss_client, user="B")["access_change"]) == {"ben", "boss"}
    assert list(table(boss_client, q="access_change")) == ["access_change"]


def test_a_no_leads_to_why(boss_client: Client, django_user_model: Any) -> None:
    odd = "a&user=boss#?"
    django_user_model.objects.create_user(odd)
    page = boss_client.get(CALLERS, {"user": odd, "q": "access_change"}).content.decode()
    links = [html.unescape(link) for link in re.findall(r'href="([^"]*\?[^"]*)"', page)]
    why = next(link for link in links if "explain" in link)
    form = boss_client.get(why).context["form"]
    assert form.is_valid()
    assert form.cleaned_data["user"].get_username() == odd
    assert form.cleaned_data["of"].declared.name == "access_change"
    assert boss_client.get(next(link for link in links if VIEW_AS in link)).context["shown"]


def test_who_is_not_let_in_is_left_out(boss_client: Client, ana: Any) -> None:
    ana.is_active = False
    ana.save()
    assert set(table(boss_client)["access_change"]) == {"boss"}
    page = boss_client.get(CALLERS, {"user": "ana"}).content.decode()
    assert "No active user is found." in page
    assert "No tool is found." in boss_client.get(CALLERS, {"q": "\\"}).content.decode()


@pytest.mark.parametrize(
    "asked", [{"group": "x"}, {"group": "999"}, {"user": "\0"}, {"users": "x"}, {"p": "-1"}]
)
def test_what_is_asked_wrongly_breaks_nothing(boss_client: Client, asked: dict[str, str]) -> None:
    assert boss_client.get(CALLERS, asked).status_code == 200


def test_more_users_and_tools_take_no_more_queries(
    boss_client: Client, django_user_model: Any
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            boss_client.get(CALLERS)
        return len(captured)

    def users(first: int, last: int) -> None:
        group = Group.objects.get_or_create(name="many")[0]
        group.permissions.add(may_add_rooms())
        for number in range(first, last):
            django_user_model.objects.create_user(f"user{number:03}").groups.add(group)

    users(0, 1)
    few = queries()
    users(1, USERS + 5)
    assert queries() == few
    assert few <= 10
    assert len(table(boss_client)["access_change"]) == USERS
    assert "more users" in words(boss_client.get(CALLERS).content.decode()).casefold()


def test_more_users_than_are_counted_are_said_to_be_more(
    boss_client: Client, django_user_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_app.admin.paging.MOST", USERS + 1)
    django_user_model.objects.bulk_create(
        django_user_model(username=f"user{number:03}") for number in range(USERS + 9)
    )
    page = words(boss_client.get(CALLERS).content.decode())
    assert f"Users 1 to {USERS} of {USERS + 1} or more" in page


class Generous(ModelBackend):
    """A backend whose users may do what no table says."""

    def _get_user_permissions(self, user_obj: Any) -> Any:
        return Permission.objects.all()


def test_a_backend_of_the_product_s_has_the_last_word(
    boss_client: Client, boss: Any, ana: Any, settings: Any
) -> None:
    settings.AUTHENTICATION_BACKENDS = [f"{__name__}.Generous"]
    boss_client.force_login(boss)
    assert table(boss_client)["access_change"] == {"ana": True, "boss": True}


def view(client: Client, **asked: str) -> Any:
    response = client.get(VIEW_AS, asked)
    assert response.status_code == 200
    return response


def test_they_are_shown_what_the_endpoint_sends(
    boss_client: Client, ana: Any, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "PAGE_SIZE": 3}
    ana.user_permissions.add(may_add_rooms())
    token, secret = issue(user=ana, name="wide", scopes=["rooms:write"])
    wire = MCPClient(secret.reveal())
    for asked, client in (
        ({}, wire),
        ({"token": token.secrets.get().lookup}, wire),
    ):
        (one,) = view(boss_client, user="ana", **asked).context["shown"]
        lists = {listed.member: listed for _, listed, *_ in one["lists"]}
        assert lists["tools"].sent == client.tools()
        assert lists["resources"].sent == client.resources()
    narrow, secret = issue(user=ana, name="narrow", tools=["access_change"])
    page = view(boss_client, user="ana", token=narrow.secrets.get().lookup)
    tools = page.context["shown"][0]["lists"][0][1]
    assert tools.sent == MCPClient(secret.reveal()).tools() == []


def test_an_empty_list_says_which_gates_shut(boss_client: Client, ana: Any) -> None:
    narrow, _ = issue(user=ana, name="narrow", tools=["access_change"])
    lookup = narrow.secrets.get().lookup
    page = view(boss_client, user="ana", token=lookup)
    text = words(page.content.decode())
    assert "None of those that are declared is shown." in text
    assert "the user lacks quiz.add_room, which no group has" in text
    assert "the token may call access_change alone" in text
    assert "the token is limited to tools, and this is none" in text, "why there is no resource"
    found = dict(re.findall(r'href="([^"]*/explain/[^"]*)">([^<]*)<', page.content.decode()))
    why = next(link for link, said in found.items() if "access_change" in said)
    told = boss_client.get(html.unescape(why)).context
    assert told["form"].secret == narrow.secrets.get()
    assert told["shut"].name == "permission DjangoModelPermissions"
    shut = page.context["shown"][0]["lists"][0].shut
    assert sum(each.count for each in shut) == len(default_server.tools)
    assert [each.count for each in shut] == sorted((s.count for s in shut), reverse=True)


def test_what_shuts_for_another_reason_stands_apart(boss_client: Client, ana: Any) -> None:
    @default_server.tool(permission_classes=[DjangoModelPermissions], queryset=Match.objects.all())
    def access_match() -> None:
        """Play."""

    narrow, _ = issue(user=ana, name="narrow", tools=["access_change"])
    try:
        page = view(boss_client, user="ana", token=narrow.secrets.get().lookup)
    finally:
        default_server.remove("access_match")
    shut = page.context["shown"][0]["lists"][0].shut
    found = {
        one.gate.why.split(", ")[0]: one.count for one in shut if "DjangoModel" in one.gate.name
    }
    lacks = "asked as an HTTP POST; the user lacks quiz.add_"
    assert found == {f"{lacks}room": 1, f"{lacks}match": 1}


def test_a_list_that_nothing_is_declared_for_says_so(boss_client: Client, ana: Any) -> None:
    bare = MCPServer("bare")

    @bare.resource("bare://all")
    def bare_all() -> str:
        """All."""
        return ""

    text = words(view(boss_client, user="ana").content.decode())
    assert "Tools None is declared." in text.partition("Server bare")[2]


def test_the_cost_is_that_of_the_bytes(boss_client: Client, ana: Any, settings: Any) -> None:
    ana.user_permissions.add(may_add_rooms())
    page = view(boss_client, user="ana")
    (one,) = page.context["shown"]
    tools = one["lists"][0][1]
    sizes = {item.key: item.size for item in tools.items}
    version = settings_version()
    assert sizes == {
        name: len(default_server.tools[name].definition_json(version)) for name in sizes
    }
    assert sum(sizes.values()) < tools.size < sum(sizes.values()) + 200
    assert one["tokens"] == -(-one["size"] // 4)
    keys = [item.key for item, _ in one["lists"][0][2]]
    assert sorted(keys, key=lambda key: -sizes[key]) == keys
    assert "tokens are spent before" not in words(page.content.decode())
    settings.MCP_APP = {**settings.MCP_APP, "LIST_TOKENS_WARNING": one["tokens"] - 1}
    assert "tokens are spent before" in words(view(boss_client, user="ana").content.decode())


def settings_version() -> Any:
    from mcp_app.conf import settings

    return settings.versions[0]


def test_who_is_not_let_in_is_shown_nothing(boss_client: Client, ana: Any, settings: Any) -> None:
    token, _ = issue(user=ana, name="gone")
    revoke(token)
    page = view(boss_client, user="ana", token=token.secrets.get().lookup)
    assert page.context["shown"] == []
    assert "The gate “credential” is shut: the token is revoked." in words(page.content.decode())
    turn(switch_for("maintenance", "default", reason="Moving house."))
    closed = words(view(boss_client, user="ana").content.decode())
    assert "The server is in maintenance: Moving house." in closed
    settings.MCP_APP = {**settings.MCP_APP, "ENABLED": False}
    assert view(boss_client, user="ana").context["shown"] == []


def test_a_look_leaves_no_trace(boss_client: Client, ana: Any) -> None:
    turn(switch_for("maintenance", "default", reason="Moving house."))
    with CaptureQueriesContext(connection) as captured:
        view(boss_client, user="ana")
        boss_client.get(CALLERS)
    # DECLARE is how PostgreSQL is asked for the groups to choose from.
    assert {query["sql"].split()[0] for query in captured} <= {"SELECT", "DECLARE"}
    assert not CallEvent.objects.exists()


def test_what_authors_and_users_wrote_shows_as_text(
    boss_client: Client, django_user_model: Any
) -> None:
    user = django_user_model.objects.create_user(f"{HOSTILE}", is_superuser=True)
    issue(user=user, name=HOSTILE)
    group = Group.objects.create(name=HOSTILE)
    for response in (
        boss_client.get(CALLERS, {"group": group.pk, "user": HOSTILE, "q": HOSTILE}),
        boss_client.get(CALLERS),
        view(boss_client, user=HOSTILE),
    ):
        text = response.content.decode()
        assert "&lt;script&gt;alert(1)" in text
        assert HOSTILE not in text


@pytest.mark.parametrize("address", [CALLERS, VIEW_AS])
def test_they_take_the_permission_to_explain(
    staff_client: Callable[..., Client], address: str
) -> None:
    viewer = staff_client("view_catalogue", "try_catalogue")
    assert viewer.get(address, {"user": "ana"}).status_code == 403
    assert address not in viewer.get(reverse("admin:mcp_app_catalogue_changelist")).content.decode()
    explainer = staff_client("view_catalogue", "explain_catalogue")
    assert explainer.get(address).status_code == 200
    assert Client().get(address).status_code == 302


def test_a_token_s_page_leads_to_what_its_holder_is_shown(
    boss_client: Client, staff_client: Callable[..., Client], issued: Any
) -> None:
    token = issued[0]
    address = reverse("admin:mcp_app_token_change", args=[token.pk])
    found = re.search(rf'href="({VIEW_AS}\?[^"]*)"', boss_client.get(address).content.decode())
    assert found
    form = boss_client.get(html.unescape(found[1])).context["form"]
    assert form.is_valid()
    assert form.secret == token.secrets.get()
    viewer = staff_client("view_token", "view_catalogue")
    assert VIEW_AS not in viewer.get(address).content.decode()
