"""The overview as a page: its numbers, its links, its picture, and who may look at it."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.contrib.admin import AdminSite
from django.contrib.staticfiles import finders
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import path, reverse
from django.utils import timezone, translation

from mcp_app.admin import CallEventAdmin
from mcp_app.admin.charts import ceiling, stacked
from mcp_app.admin.display import duration, percentage, tone
from mcp_app.audit.outcomes import GROUP_OF
from mcp_app.auth.tokens import issue
from mcp_app.models import CallEvent, CallOutcome, Token
from tests.admin.pages import url as page_url

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


def url(page: str, *args: Any) -> str:
    return page_url(page, *args, model="callevent")


def page(client: Client, period: str = "day") -> str:
    response = client.get(url("overview"), {"for": period})
    assert response.status_code == 200
    return str(response.content.decode())


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


@pytest.fixture
def calls(issued: Any, ana: Any) -> list[CallEvent]:
    """Eight calls of now, and one of three days ago."""
    token = issued[0]
    columns = {"user": ana, "username": "ana", "token": token, "client_name": "Claude Code"}
    made = [
        CallEvent.objects.create(outcome=outcome, tool="list_rooms", duration_ms=n + 1, **columns)
        for n, outcome in enumerate(["ok"] * 5 + ["failed", "denied", "started"])
    ]
    earlier = timezone.now() - timedelta(days=3)
    made.append(CallEvent.objects.create(outcome="ok", tool="get_room", created_at=earlier))
    return made


def test_it_has_the_numbers_of_its_period(boss_client: Client, calls: list[CallEvent]) -> None:
    day, week = words(page(boss_client)), words(page(boss_client, "week"))
    assert "Calls 8 Error rate 12.5 % went wrong; turned away not counted Turned away 12.5 %" in day
    assert "Median duration 4.0 ms 95 % took at most 8.0 ms" in day
    assert "Together 8 5 1 1 1 12.5 %" in day
    assert "Busiest tools Tool Calls Went wrong Turned away list_rooms 8 1 12.5 % 1" in day
    assert "Busiest users User Calls Went wrong Turned away ana 8 1 12.5 % 1" in day
    assert "Busiest tokens Token Calls Went wrong Turned away laptop 8 1 12.5 % 1" in day
    assert "Busiest clients Client Calls Went wrong Turned away Claude Code 8 1 12.5 % 1" in day
    assert "get_room" not in day
    assert "Calls 9 Error rate 11.1 %" in week
    assert "get_room 1 0 0 %" in week


@pytest.mark.parametrize("outcome", CallOutcome.values)
def test_a_call_has_one_colour_in_list_story_live_and_chart(outcome: str) -> None:
    style = Path(str(finders.find("mcp_app/admin.css"))).read_text()
    ours = re.search(rf"\.mcp-bar-{GROUP_OF[outcome]} {{\s*fill: ([^;]+);", style)
    mark = "" if tone(outcome) == "bad" else f"-{tone(outcome)}"
    theirs = re.search(rf"\.mcp-badge{mark}::before {{[^}}]*background: ([^;]+);", style)
    assert ours
    assert theirs
    assert ours[1] == theirs[1]


def test_every_number_leads_to_the_calls_that_it_counts(
    boss_client: Client, calls: list[CallEvent]
) -> None:
    text = page(boss_client, "week")
    links = re.findall(rf'href="({url("changelist")}\?[^"]*)"[^>]*>([\d]+)<', text)
    assert len(links) > 10
    for address, number in links:
        response = boss_client.get(address.replace("&amp;", "&"))
        assert response.status_code == 200, address
        assert response.context["cl"].result_count == int(number), address


def test_the_error_rate_leads_to_what_went_wrong(
    boss_client: Client, calls: list[CallEvent]
) -> None:
    way = re.search(rf'Error rate</dt><dd><a href="({url("changelist")}[^"]*)"', page(boss_client))
    assert way
    found = boss_client.get(unescape(way[1])).context["cl"].result_list
    assert [event.outcome for event in found] == ["failed"]
    CallEvent.objects.filter(outcome="failed").delete()
    assert "Error rate</dt><dd>0 %" in page(boss_client), "and of nothing to nothing"


def test_an_hour_of_another_zone_leads_to_its_calls(
    boss_client: Client, issued: Any, settings: Any
) -> None:
    settings.TIME_ZONE = "Asia/Kathmandu"
    CallEvent.objects.create(outcome="ok")
    hours = re.findall(r'href="([^"]*since=[^"]*until=[^"]*)"', page(boss_client))
    assert len(hours) == 2
    for address in hours:
        found = boss_client.get(address.replace("&amp;", "&")).context["cl"]
        assert found.result_count == 1


def test_the_latest_that_were_turned_away_say_by_which_gate(
    boss_client: Client, calls: list[CallEvent]
) -> None:
    CallEvent.objects.filter(outcome="denied").update(
        decision="deny", error_class="InsufficientScope"
    )
    text = page(boss_client).partition("Latest turned away")[2]
    assert "list_rooms ana Denied Scopes of the token" in words(text)
    denied = next(event for event in calls if event.outcome == "denied")
    assert url("change", denied.pk) in text


def test_of_no_calls_it_says_so(boss_client: Client, db: None) -> None:
    text = words(page(boss_client, "month"))
    assert "There were no calls in the last 30 days." in text
    assert "None in the last 30 days." in text
    assert "Calls 0 Error rate - went wrong; turned away not counted Turned away -" in text
    assert "Median duration - 95 % took at most -" in text


def test_tokens_near_their_end_are_for_those_who_may_see_tokens(
    boss_client: Client, staff_client: Callable[..., Client], issued: Any, ana: Any
) -> None:
    soon = timezone.now() + timedelta(days=3)
    Token.objects.filter(pk=issued[0].pk).update(expires_at=soon)
    issue(user=ana, name="sooner", expires_at=soon - timedelta(days=1))
    issue(user=ana, name="later", expires_at=soon + timedelta(days=30))
    text = words(page(boss_client).partition("Tokens near their end")[2])
    assert re.search(r"sooner ana \S+ \S+ laptop ana", text)
    assert "later" not in text
    assert "Tokens near their end" not in page(staff_client("view_callevent"))


def test_it_takes_the_permission_to_see_calls(staff_client: Callable[..., Client]) -> None:
    client = staff_client("view_token")
    assert client.get(url("overview")).status_code == 403
    assert url("overview") not in client.get(page_url("changelist")).content.decode()
    allowed = staff_client("view_callevent")
    assert allowed.get(url("overview")).status_code == 200
    index = allowed.get(reverse("admin:app_list", args=["mcp_app"])).content.decode()
    assert url("overview") in index
    assert Client().get(url("overview")).status_code == 302


def test_what_callers_sent_shows_as_text(boss_client: Client, ana: Any) -> None:
    ana.username = HOSTILE[:150]
    ana.save()
    token, _ = issue(user=ana, name=HOSTILE, expires_at=timezone.now() + timedelta(days=1))
    CallEvent.objects.create(
        outcome="denied",
        tool=HOSTILE,
        method=HOSTILE,
        user=ana,
        username=HOSTILE,
        token=token,
        client_name=HOSTILE,
        error_class=HOSTILE,
        decision="deny",
    )
    text = page(boss_client)
    assert text.count("&lt;script&gt;alert(1)") >= 8
    assert "<script>alert(1)" not in text
    assert "<img src=x" not in text


def test_an_unknown_period_is_a_day(boss_client: Client, calls: list[CallEvent]) -> None:
    assert "the last 24 hours" in page(boss_client, "century")


def test_many_calls_take_as_many_queries_as_one(
    boss_client: Client, calls: list[CallEvent]
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            page(boss_client)
        return len(captured)

    before = queries()
    CallEvent.objects.bulk_create(
        CallEvent(outcome="ok", tool=f"tool {n}", client_name=f"client {n}") for n in range(40)
    )
    assert queries() == before


def test_no_row_is_read_for_what_is_counted(boss_client: Client, calls: list[CallEvent]) -> None:
    with CaptureQueriesContext(connection) as captured:
        page(boss_client)
    counted = [query["sql"] for query in captured if "COUNT(" in query["sql"]]
    assert len(counted) == 9
    if connection.vendor == "sqlite":
        for sql in counted:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
                plan = " ".join(str(row) for row in cursor.fetchall())
            # What went wrong of the ten may be few enough for the index over them.
            few = " IN ('error', 'failed', 'timeout'" in sql
            assert ("INDEX mcp_call_" if few else "COVERING INDEX mcp_call_when") in plan, sql


def test_the_picture_is_told_and_its_bars_are_as_high_as_their_numbers(
    boss_client: Client, calls: list[CallEvent]
) -> None:
    with translation.override("de"):
        text = page(boss_client)
    svg = text[text.index('<svg class="mcp-chart"') :]
    root = ET.fromstring(svg[: svg.index("</svg>\n</svg>") + len("</svg>\n</svg>")])  # noqa: S314 - our own page
    assert root.get("role") == "img"
    told = {child.get("id"): child.text for child in root if child.tag in ("title", "desc")}
    assert (root.get("aria-labelledby") or "").split() == list(told)
    assert all(told.values())
    rects = [rect for rect in root.iter("rect") if rect.get("y")]
    heights = {
        rect.get("class"): float(rect.get("height") or 0) for rect in rects if rect.get("class")
    }
    assert heights == {
        "mcp-bar-ok": 90,
        "mcp-bar-failed": 18,
        "mcp-bar-turned_away": 18,
        "mcp-bar-unfinished": 18,
    }
    patterns = [rect.get("fill") for rect in rects if not rect.get("class")]
    assert patterns == ["url(#mcp-pattern-failed)", "url(#mcp-pattern-turned_away)"]
    assert "8 calls (OK 5, Went wrong 1, Turned away 1, Not finished 1)" in svg


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (None, "-"),
        (0.0, "0 %"),
        (0.0001, "< 0.1 %"),
        (0.0136, "1.4 %"),
        (0.125, "12.5 %"),
        (1.0, "100 %"),
    ],
)
def test_a_share_is_told_to_a_tenth(share: float | None, shown: str) -> None:
    assert percentage(share) == shown


@pytest.mark.parametrize(
    ("language", "shown"),
    [("en", ["4.0 ms", "999.9 ms", "1.45 s"]), ("de", ["4,0 ms", "999,9 ms", "1,45 s"])],
)
def test_a_duration_has_the_decimal_sign_of_the_language(language: str, shown: list[str]) -> None:
    with translation.override(language):
        assert [duration(each) for each in (4.0, 999.94, 1450.0)] == shown


@pytest.mark.parametrize(
    ("most", "top"),
    [(0, 1), (1, 1), (2, 2), (3, 4), (5, 5), (6, 10), (41, 50), (1_000_001, 2_000_000)],
)
def test_an_axis_ends_at_a_round_number(most: int, top: int) -> None:
    assert ceiling(most) == top


def test_a_small_part_of_a_bar_can_be_seen() -> None:
    chart = stacked([[("ok", 999_999), ("failed", 1)]], ["now"], ["now"])
    assert [part.height for part in chart.bars[0].parts] == ["180.00", "1.50"]
    assert chart.bars[0].parts[1].y == "0.00"


def test_it_stands_under_another_admin_site_and_without_tokens(
    boss_client: Client, calls: list[CallEvent]
) -> None:
    site = AdminSite(name="overview_site")
    site.register(CallEvent, CallEventAdmin)
    with override_settings(ROOT_URLCONF=type("urls", (), {"urlpatterns": [path("x/", site.urls)]})):
        text = boss_client.get(reverse("overview_site:mcp_app_callevent_overview")).content.decode()
        listed = reverse("overview_site:mcp_app_callevent_changelist")
    assert f'href="{listed}?tool=list_rooms' in text
    assert "Tokens near their end" not in text


def test_it_works_without_time_zones(boss_client: Client, settings: Any, db: None) -> None:
    settings.USE_TZ = False
    if connection.vendor != "sqlite":
        pytest.skip("the tables were made with time zones")
    CallEvent.objects.create(outcome="ok", tool="t", created_at=datetime.now())
    for period in ("day", "week", "month"):
        assert "Calls 1 Error rate 0 %" in words(page(boss_client, period))
    assert boss_client.get(url("change", CallEvent.objects.get().pk)).status_code == 200
