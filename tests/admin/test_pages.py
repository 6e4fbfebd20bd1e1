"""Pages beside the models' own: linked where they may be opened; and rows as cards."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path, reverse

from mcp_app.access.switches import switch_for, turn
from mcp_app.admin.pages import Page, PagesAdmin
from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import revoke
from mcp_app.models import CallEvent, Token
from mcp_app.templatetags.mcp_app_admin import labelled
from tests.admin.pages import url
from tests.admin.words import words


class Backstage(PagesAdmin):
    """An admin with one page more, for those who may delete."""

    def pages(self) -> list[Page]:
        view = self.echo
        return [
            Page(slug="echo", title="Echo", about="What?", view=view, permission="delete"),
            *super().pages(),
        ]

    def echo(self, request: HttpRequest) -> HttpResponse:
        return self.page_response(request, "admin/mcp_app/page.html", "An echo <b>")


@pytest.fixture
def backstage() -> Iterator[AdminSite]:
    """An admin site that has the page."""
    site = AdminSite(name="backstage")
    site.register(CallEvent, Backstage)
    with override_settings(ROOT_URLCONF=type("urls", (), {"urlpatterns": [path("", site.urls)]})):
        yield site


def text_of(client: Client, name: str) -> str:
    response = client.get(reverse(f"backstage:{name}", args=[]))
    assert response.status_code == 200
    return response.content.decode()


def test_a_page_is_linked_from_the_index_and_from_lists(
    boss_client: Client, backstage: AdminSite
) -> None:
    address = reverse("backstage:mcp_app_callevent_echo")
    index = boss_client.get(reverse("backstage:app_list", args=["mcp_app"])).content.decode()
    assert f'<a href="{address}">Echo</a>' in index
    assert "What?" in index
    assert f'<a href="{address}">Echo</a>' in text_of(boss_client, "mcp_app_callevent_changelist")


def test_the_sites_index_leads_to_the_pages_that_one_may_open(
    staff_client: Callable[..., Client], backstage: AdminSite
) -> None:
    address = reverse("backstage:mcp_app_callevent_echo")
    row = f'<a href="{address}">Echo</a>'
    both = text_of(staff_client("view_callevent", "delete_callevent"), "index")
    assert both.count(row) == 1
    assert both.count('app-mcp_app module"') == 1
    assert reverse("backstage:mcp_app_callevent_changelist") in both
    assert row not in text_of(staff_client("view_callevent"), "index")
    assert row not in text_of(staff_client(), "index")


def test_of_an_app_without_visible_models_the_index_has_the_pages(
    staff_client: Callable[..., Client],
) -> None:
    client = staff_client("tail_callevent")
    address = reverse("admin:mcp_app_callevent_tail")
    index = client.get(reverse("admin:index")).content.decode()
    assert f'<a href="{address}">Live</a>' in index
    assert f'<a href="{address}" class="section"' in index
    assert client.get(address).status_code == 200


def test_an_index_of_ones_own_is_left_alone() -> None:
    class Own(AdminSite):
        index_template = "admin/login.html"

    site = Own(name="own")
    site.register(CallEvent, Backstage)
    assert site.index_template == "admin/login.html"


def test_a_page_says_where_it_stands(boss_client: Client, backstage: AdminSite) -> None:
    text = text_of(boss_client, "mcp_app_callevent_echo")
    assert 'aria-current="page">Echo</a>' in text
    assert "&rsaquo; An echo &lt;b&gt;" in text
    assert f'<a href="{reverse("backstage:app_list", args=["mcp_app"])}">' in text


def test_a_page_takes_its_permission(
    staff_client: Callable[..., Client], backstage: AdminSite
) -> None:
    client = staff_client("view_callevent")
    address = reverse("backstage:mcp_app_callevent_echo")
    assert client.get(address).status_code == 403
    assert address not in text_of(client, "mcp_app_callevent_changelist")
    assert staff_client("delete_callevent").get(address).status_code == 200
    assert Client().get(address).status_code == 302


def test_a_cell_says_the_name_of_its_column() -> None:
    headers: list[dict[str, Any]] = [{"text": '<input type="checkbox">'}, {"text": 'a "name"'}]
    cells = ['<td class="action-checkbox">x</td>', '<th class="field-a"><td></th>']
    assert labelled(cells, headers) == [
        cells[0],
        '<th data-label="A &quot;name&quot;" class="field-a"><td></th>',
    ]


@pytest.mark.parametrize("use_tz", [True, False])
def test_moments_are_written_in_one_way_with_the_time_zone(
    boss_client: Client, issued: tuple[Token, Secret], settings: Any, use_tz: bool
) -> None:
    settings.USE_TZ, settings.TIME_ZONE = use_tz, "Asia/Tokyo"
    token, _ = issued
    switch = turn(switch_for("maintenance", "default", reason="Moving."))
    revoke(token)
    pages = [
        url("changelist"),
        *(url(page, token.pk) for page in ("change", "rotate", "revoke")),
        url("changelist", model="switch"),
        *(url(page, switch.pk, model="switch") for page in ("change", "lift")),
    ]
    for page in pages:
        text = words(boss_client.get(page).content.decode())
        assert "Times are in the time zone Asia/Tokyo." in text, page
        assert not re.search(r"[ap]\.m\.", text), page


@pytest.mark.parametrize(
    ("model", "said"), [("token", "Issue a token"), ("switch", "Set a switch")]
)
def test_the_way_to_a_form_has_the_words_of_the_form(
    model: str, said: str, boss_client: Client
) -> None:
    turn(switch_for("maintenance", "default", reason="Moving."))
    listed = boss_client.get(url("changelist", model=model)).content.decode()
    assert re.search(rf'class="addlink">{said}</a>', listed)
    form = boss_client.get(url("add", model=model)).content.decode()
    breadcrumbs = form.split('class="breadcrumbs"')[1].split("</div>")[0]
    assert words(f"<{breadcrumbs}").endswith(f" {said}")
    for text in (listed, form):
        assert f"Add {model}" not in words(text.split('id="content"')[1])


@pytest.mark.parametrize(
    ("model", "page", "times"),
    [
        ("catalogue", "changelist", 0),
        ("catalogue", "explain", 0),
        ("catalogue", "callers", 0),
        ("catalogue", "view-as", 0),
        ("session", "changelist", 0),
        ("token", "add", 1),
        ("switch", "add", 1),
        ("callevent", "overview", 1),
    ],
)
def test_the_time_zone_is_named_once_and_where_there_are_times(
    model: str, page: str, times: int, boss_client: Client
) -> None:
    text = words(boss_client.get(url(page, model=model)).content.decode())
    assert text.count("Times are in the time zone") == times


def test_the_end_of_a_closure_has_its_time_zone(boss_client: Client, settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Tokyo"
    until = datetime(2126, 1, 1, 12, tzinfo=UTC)
    turn(switch_for("maintenance", "default", reason="Moving.", until=until))
    text = words(boss_client.get(url("changelist", model="catalogue")).content.decode())
    assert "Until 2126-01-01 21:00:00 Asia/Tokyo" in text


def test_the_note_of_a_token_that_is_over_has_the_field_of_others(
    boss_client: Client, issued: tuple[Token, Any]
) -> None:
    token, _ = issued
    before = boss_client.get(url("change", token.pk)).context["adminform"].form
    revoke(token)
    over = boss_client.get(url("change", token.pk)).context["adminform"].form
    assert list(over.fields) == ["note"]
    assert over.fields["note"].widget.attrs == before.fields["note"].widget.attrs
