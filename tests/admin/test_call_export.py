"""The call log's download: what the filters show, streamed, for those who may (D-085)."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import AsyncClient, Client
from django.urls import reverse

from mcp_app.audit import export
from mcp_app.audit.seals import seal
from mcp_app.models import CallEvent
from tests.admin.pages import url as page_url


def url(form: str) -> str:
    return reverse("admin:mcp_app_callevent_export", args=[form])


@pytest.fixture
def calls(db: None) -> None:
    make = CallEvent.objects.create
    make(tool="list_rooms", outcome="ok", username="ana", arguments={"n": 1}, error_text="long")
    make(tool="=cmd()", outcome="denied", username="ben")


def body(response: Any) -> str:
    return b"".join(response.streaming_content).decode()


def tools(client: Client, **query: str) -> list[str]:
    response = client.get(url("jsonl"), query)
    return [json.loads(line)["tool"] for line in body(response).splitlines()]


def test_it_holds_what_the_filters_show(boss_client: Client, calls: None) -> None:
    assert tools(boss_client) == ["list_rooms", "=cmd()"]
    assert tools(boss_client, user="ben") == ["=cmd()"]
    assert tools(boss_client, outcome__exact="ok") == ["list_rooms"]
    assert tools(boss_client, q="list_rooms", user="ben") == []
    assert boss_client.get(url("jsonl"), {"no_such": "filter"}).status_code == 302


def test_it_is_a_file_whose_cells_are_no_formulas(boss_client: Client, calls: None) -> None:
    response = boss_client.get(url("csv"))
    assert response.streaming
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert "no-store" in response["Cache-Control"]
    assert response["Content-Disposition"].startswith('attachment; filename="calls-')
    rows = list(csv.DictReader(io.StringIO(body(response))))
    assert [row["tool"] for row in rows] == ["list_rooms", "'=cmd()"]
    assert (rows[0]["arguments"], rows[0]["error_text"]) == ('{"n": 1}', "long")


@pytest.mark.django_db(transaction=True)
async def test_under_asgi_it_is_sent_piece_by_piece(
    boss: Any, calls: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "CHUNK", 1)
    client = AsyncClient()
    await client.aforce_login(boss)
    response = await client.get(url("jsonl"))
    assert response.is_async
    pieces = [piece async for piece in response.streaming_content]
    assert [json.loads(piece)["tool"] for piece in pieces] == ["list_rooms", "=cmd()"]


def test_it_takes_a_permission_of_its_own(staff_client: Callable[..., Client], calls: None) -> None:
    for held in (["view_callevent"], ["export_callevent"], ["view_token"]):
        client = staff_client(*held)
        assert client.get(url("csv")).status_code == 403
    listed = staff_client("view_callevent").get(page_url("changelist", model="callevent"))
    assert url("csv") not in listed.content.decode()
    allowed = staff_client("view_callevent", "export_callevent")
    assert body(allowed.get(url("csv")))
    page = allowed.get(page_url("changelist", model="callevent"), {"user": "ben"})
    assert f'href="{url("csv")}?user=ben"' in page.content.decode()
    assert allowed.get(url("xml")).status_code == 404
    assert Client().get(url("csv")).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_what_is_sealed_is_deleted_by_nobody(boss_client: Client, calls: None) -> None:
    assert len(list(seal("default"))) == 1
    later = CallEvent.objects.create(outcome="ok", tool="later")
    sealed = CallEvent.objects.get(tool="list_rooms")
    page = page_url("changelist", model="callevent")

    shown = boss_client.get(page_url("change", sealed.pk, model="callevent")).content.decode()
    assert "yes: a change of this row would be found" in shown
    deletion = page_url("delete", sealed.pk, model="callevent")
    assert boss_client.post(deletion, {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "post": "yes"}
    both = chosen | {"_selected_action": [sealed.pk, later.pk]}
    assert boss_client.post(page, both).status_code == 403
    assert CallEvent.objects.count() == 3
    assert boss_client.post(page, chosen | {"_selected_action": [later.pk]}).status_code == 302
    assert CallEvent.objects.count() == 2
