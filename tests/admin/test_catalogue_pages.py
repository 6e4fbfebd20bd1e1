"""The catalogue: all that is declared, a page for each, and who may look at it."""

import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest
from django.contrib.admin import AdminSite
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import path, reverse
from pydantic import Field
from rest_framework.permissions import IsAdminUser, IsAuthenticated

from mcp_app.access.switches import lift, switch_for, turn
from mcp_app.access.throttling import ToolThrottle, UserThrottle
from mcp_app.admin import CallEventAdmin, CatalogueAdmin, SwitchAdmin
from mcp_app.catalog.definition import Tool
from mcp_app.catalog.keywords import AUDIT_LEVELS
from mcp_app.catalog.registry import default_server
from mcp_app.models import CallEvent, Catalogue, Switch
from tests.admin.pages import url as page_url
from tests.admin.words import words

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
LIST = reverse("admin:mcp_app_catalogue_changelist")
ENTRY = reverse("admin:mcp_app_catalogue_entry")


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    """One of each kind, beside those of the example."""

    @default_server.tool(
        destructive=True,
        idempotent=True,
        permission_classes=[IsAuthenticated & ~IsAdminUser],
        throttle_classes=[UserThrottle, ToolThrottle],
        throttle_scope="slow",
        scopes=["rooms:write"],
        timeout=7.5,
        confirm="Close {room}?",
        sensitive=["password"],
        title=HOSTILE,
    )
    def shelf_close(
        room: Annotated[str, Field(max_length=20, description=HOSTILE)],
        password: str,
        kinds: list[int] | None = None,
    ) -> dict[str, int]:
        """Close <script>alert(1)</script>."""
        return {}

    @default_server.resource("shelf://{number}", name="shelf_template")
    def shelf_template(number: int) -> str:
        """Read a number."""
        return ""

    @default_server.resource("shelf://all", name="shelf_resource", mime_type="text/plain")
    def shelf_resource() -> str:
        """Read all."""
        return ""

    @default_server.prompt
    def shelf_prompt(topic: str) -> str:
        """Ask."""
        return ""

    yield
    default_server.remove("shelf_close")
    default_server.remove_resource("shelf://{number}")
    default_server.remove_resource("shelf://all")
    default_server.remove_prompt("shelf_prompt")


def entry(client: Client, kind: str, name: str) -> str:
    response = client.get(ENTRY, {"of": f"default:{kind}:{name}"})
    assert response.status_code == 200
    return str(response.content.decode())


def test_it_lists_all_that_is_declared(boss_client: Client) -> None:
    text = boss_client.get(LIST).content.decode()
    for name in [*default_server.tools, *default_server.prompts]:
        assert f">{name}</a>" in text
    assert ">shelf://{number}</a>" in text
    assert ">shelf://all</a>" in text
    links = re.findall(rf'href="({ENTRY}\?[^"]*)"', text)
    assert len(links) == len(default_server.tools) + 3
    for link in links:
        assert boss_client.get(link.replace("&amp;", "&")).status_code == 200, link


def test_it_is_filtered_by_text_and_kind_and_paged(
    boss_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = boss_client.get(LIST, {"q": "READ A num", "kind": "template"})
    assert [row["entry"].declared.name for row in found.context["rows"]] == ["shelf_template"]
    nothing = boss_client.get(LIST, {"q": f"{HOSTILE}?"})
    assert "Nothing that is declared has that" in words(nothing.content.decode())
    monkeypatch.setattr("mcp_app.admin.catalogue.PER_PAGE", 3)
    pages = [boss_client.get(LIST, {"p": n, "kind": "tool"}) for n in (1, 2, "x", 9999)]
    assert [len(page.context["rows"]) for page in pages[:2]] == [3, 3]
    assert "kind=tool&amp;p=2" in pages[0].content.decode().replace(
        "p=2&amp;kind=tool", "kind=tool&amp;p=2"
    )


def test_a_page_tells_all_that_is_known_of_a_tool(boss_client: Client, settings: Any) -> None:
    settings.MCP_APP = {
        **settings.MCP_APP,
        "SCOPES": {"rooms:write": "Change rooms"},
        "THROTTLE_RATES": {"slow": "3/min"},
        "MAX_QUERIES": 12,
    }
    text = words(entry(boss_client, "tool", "shelf_close"))
    for said in (
        "destructive yes: it may delete or overwrite",
        "idempotent yes: the same call again changes nothing more",
        "read-only no",
        "open world not said",
        "(IsAuthenticated & ~IsAdminUser)",
        "HTTP method that these are shown DELETE",
        "rooms:write: Change rooms",
        "A person is asked first Close {room}?",
        "Arguments in the call log names and values; secrets and what is marked sensitive are left",
        "UserThrottle: no rate, so no limit",
        "ToolThrottle: 3/min",
        "Time limit 7.5 s",
        "Database queries 12",
        "Size of a result 4.0 MB",
        "room required string",
        "length ≤ 20",
        "password required sensitive: no log holds it string",
        "kinds array of integer or null",
        "tokens of context",
    ):
        assert said.casefold() in text.casefold(), said
    assert "Media type text/plain" in words(entry(boss_client, "resource", "shelf://all"))
    assert "topic required" in words(entry(boss_client, "prompt", "shelf_prompt"))
    assert "number required integer" in words(entry(boss_client, "template", "shelf://{number}"))


def test_a_page_says_what_the_log_keeps_of_arguments(boss_client: Client, settings: Any) -> None:
    told = {}
    for level in AUDIT_LEVELS:
        settings.MCP_APP = {**settings.MCP_APP, "AUDIT_ARGUMENTS": level}
        text = words(entry(boss_client, "tool", "shelf_close"))
        told[level] = text.partition("Arguments in the call log")[2][:30]
    assert len(set(told.values())) == len(AUDIT_LEVELS)
    assert told["none"].startswith(" none ")


def test_what_authors_wrote_shows_as_text(boss_client: Client) -> None:
    found = default_server.tools["shelf_close"]
    hostile = Tool(
        name=HOSTILE,
        description=HOSTILE,
        function=found.function,
        kind=found.kind,
        arguments=found.arguments,
        output=found.output,
        module=HOSTILE,
        title=HOSTILE,
        confirm=HOSTILE,
        scopes=(HOSTILE,),
    )
    assert default_server.add(hostile)
    turn(switch_for("off", "default", noun="tool", name=HOSTILE, reason=HOSTILE))
    try:
        pages = [
            boss_client.get(LIST).content.decode(),
            entry(boss_client, "tool", HOSTILE),
            boss_client.get(
                reverse("admin:mcp_app_catalogue_explain"), {"of": HOSTILE, "user": HOSTILE}
            ).content.decode(),
            boss_client.get(
                reverse("admin:mcp_app_catalogue_explain"),
                {"of": f"default:tool:{HOSTILE}", "user": "boss"},
            ).content.decode(),
        ]
    finally:
        default_server.remove(HOSTILE)
    for text in [*pages, entry(boss_client, "tool", "shelf_close")]:
        assert "&lt;script&gt;alert(1)" in text
        assert "<script>alert(1)" not in text
        assert "<img src=x" not in text


def test_a_switch_shows_and_is_one_step_away(boss_client: Client) -> None:
    text = entry(boss_client, "tool", "shelf_close")
    found = re.search(rf'href="({page_url("add", model="switch")}\?[^"]*)"', text)
    assert found
    form = boss_client.get(found[1].replace("&amp;", "&")).content.decode()
    assert re.search(r"selected>default: tool shelf_close<", form)
    assert '<option value="off" selected>' in form
    turn(switch_for("off", "default", noun="tool", name="shelf_close", reason="It is broken."))
    assert "Off This tool is switched off: It is broken." in words(
        entry(boss_client, "tool", "shelf_close")
    )
    assert "It is broken." in boss_client.get(LIST, {"q": "shelf_close"}).content.decode()
    assert "It is broken." not in boss_client.get(LIST, {"q": "shelf_prompt"}).content.decode()


def test_what_is_off_leads_to_where_it_is_lifted(
    boss_client: Client, staff_client: Callable[..., Client]
) -> None:
    of = {"of": "default:tool:shelf_close"}
    for kind, named in (("off", {"noun": "tool", "name": "shelf_close"}), ("read_only", {})):
        switch = turn(switch_for(kind, "default", reason="x", **named))
        lifts = page_url("lift", switch.pk, model="switch")
        shows = page_url("change", switch.pk, model="switch")
        assert f'<a href="{lifts}">Lift the switch</a>' in entry(boss_client, "tool", "shelf_close")
        viewer = staff_client("view_catalogue", "view_switch").get(ENTRY, of).content.decode()
        assert f'<a href="{shows}">The switch</a>' in viewer
        assert lifts not in viewer
        assert "/switch/" not in staff_client("view_catalogue").get(ENTRY, of).content.decode()
        lift(switch)
    assert "Lift the switch" not in entry(boss_client, "tool", "shelf_close")


def test_a_switch_leads_to_what_it_is_for(boss_client: Client) -> None:
    switch = turn(switch_for("off", "default", noun="tool", name="shelf_close", reason="x"))
    page = boss_client.get(page_url("change", switch.pk, model="switch")).content.decode()
    assert f'href="{ENTRY}?of=default%3Atool%3Ashelf_close"' in page
    closed = turn(switch_for("maintenance", "default", reason="x"))
    assert (
        ENTRY not in boss_client.get(page_url("change", closed.pk, model="switch")).content.decode()
    )


def test_calls_of_the_week_are_counted_from_the_index_in_one_query(
    boss_client: Client, boss: Any
) -> None:
    for outcome in ("ok", "ok", "denied", "failed"):
        CallEvent.objects.create(outcome=outcome, tool="shelf_close", method="tools/call")
    with CaptureQueriesContext(connection) as captured:
        text = words(boss_client.get(LIST).content.decode())
    counted = [query["sql"] for query in captured if "mcp_app_callevent" in query["sql"]]
    assert "4 25 % went wrong, 1 turned away" in text
    page = words(entry(boss_client, "tool", "shelf_close"))
    assert "4 calls in 7 days , 25 % went wrong, 1 turned away" in page
    assert len(counted) == 1
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {counted[0]}")
            assert "INDEX mcp_call_" in str(cursor.fetchall())


def test_calls_lead_to_the_catalogue(boss_client: Client) -> None:
    event = CallEvent.objects.create(outcome="ok", tool="shelf_close", method="tools/call")
    story = boss_client.get(page_url("change", event.pk, model="callevent")).content.decode()
    assert f'href="{ENTRY}?of=default%3Atool%3Ashelf_close"' in story
    gone = CallEvent.objects.create(outcome="ok", tool="shelf_gone", method="tools/call")
    assert (
        ENTRY
        not in boss_client.get(page_url("change", gone.pk, model="callevent")).content.decode()
    )


def test_it_takes_its_own_permission(staff_client: Callable[..., Client]) -> None:
    other = staff_client("view_callevent", "view_switch", "view_token")
    assert other.get(LIST).status_code == 403
    assert other.get(ENTRY, {"of": "default:tool:shelf_close"}).status_code == 403
    assert LIST not in other.get(reverse("admin:app_list", args=["mcp_app"])).content.decode()
    viewer = staff_client("view_catalogue")
    CallEvent.objects.create(outcome="ok", tool="shelf_close", method="tools/call")
    text = viewer.get(LIST).content.decode()
    assert "Calls in 7 days" not in text
    page = viewer.get(ENTRY, {"of": "default:tool:shelf_close"}).content.decode()
    assert "in 7 days" not in page
    for address in ("explain",):
        hidden = reverse(f"admin:mcp_app_catalogue_{address}")
        assert viewer.get(hidden).status_code == 403
        assert hidden not in page
    assert page_url("add", model="switch") not in page
    assert Client().get(LIST).status_code == 302


@pytest.mark.parametrize(
    "of", ["", "default", "default:tool", "default:tool:none", ":::", "\0", "x:tool:shelf_close"]
)
def test_what_does_not_exist_is_not_found(boss_client: Client, of: str) -> None:
    assert boss_client.get(ENTRY, {"of": of}).status_code == 404


def test_no_row_of_a_proxy_is_anybody_s_page(boss_client: Client) -> None:
    switch = turn(switch_for("maintenance", "default", reason="x"))
    for end in (f"{switch.pk}/change/", f"{switch.pk}/delete/", f"{switch.pk}/", "add/"):
        assert boss_client.get(f"{LIST}{end}").status_code == 404
    assert Switch.objects.get() == switch


def test_it_works_on_another_site_under_a_prefix(boss_client: Client) -> None:
    site = AdminSite(name="shelf-site")
    for model, held in (
        (Catalogue, CatalogueAdmin),
        (CallEvent, CallEventAdmin),
        (Switch, SwitchAdmin),
    ):
        site.register(model, held)
    patterns = type("urls", (), {"urlpatterns": [path("deep/er/", site.urls)]})
    with override_settings(ROOT_URLCONF=patterns):
        text = boss_client.get("/deep/er/mcp_app/catalogue/").content.decode()
        links = set(re.findall(r'href="(/[^"]*)"', text)) - {"/"}  # of the site
        assert any("entry/?of=" in link for link in links)
        for link in links:
            if not link.startswith("/static/"):
                assert link.startswith("/deep/er/"), link
        first = next(link for link in links if "entry/?of=" in link)
        assert boss_client.get(first.replace("&amp;", "&")).status_code == 200
