"""The whole life of a secret, and then a search for it: only its digest is found (D-070, D-074)."""

import logging
from collections.abc import Iterable
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin import site
from django.core.management import call_command
from django.db import connection
from django.test import Client

from mcp_app.auth.hashing import parse
from mcp_app.models import CallEvent, Session, Token, TokenSecret
from mcp_app.signals import tool_called
from mcp_app.testing import DOORS, Door, MCPClient
from mcp_app.transports.callers import identify
from mcp_app.transports.incoming import Incoming
from tests.admin.pages import hidden, secrets_on, traces, url


@pytest.fixture
def everything_said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Every log line at its most talkative."""
    caplog.set_level(logging.DEBUG)
    return caplog


def use(secret: str, doors: Iterable[Door] = DOORS) -> None:
    """Use it well and badly: over each door, in both eras, and where it does not belong."""
    for door in doors:
        for version in ("2026-07-28", "2025-11-25"):
            client = MCPClient(secret, version=version, door=door, client_info={"name": secret})
            client.call("server_health")
            client.call(secret, {"password": secret, secret: secret, "note": f"Bearer {secret}"})
            client.read(f"notes://{secret}")
            client.prompt(secret)
            client.post(f'{{"{secret}"'.encode())
            client.call("server_health", headers={"mcp-session-id": secret, "origin": secret})
            spoilt = MCPClient(f"{secret[:-1]}!", version=version, door=door)
            spoilt.send("POST", b"{}", {})


def table_texts() -> dict[str, str]:
    """Every table of the database as text."""
    texts: dict[str, str] = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608 - the schema's own names
            texts[table] = "\n".join(map(str, cursor.fetchall()))
    return texts


def page_texts(client: Client) -> dict[str, str]:
    """Every page that the admin has of our rows."""
    texts: dict[str, str] = {}
    for model in apps.get_app_config("mcp_app").get_models():
        name = model._meta.model_name or ""
        if model not in site._registry:
            continue
        texts[name] = client.get(url("changelist", model=name)).content.decode()
        for row in model._default_manager.all():
            for page in ("change", "history") if model is Token else ("change",):
                answer = client.get(url(page, row.pk, model=name))
                texts[f"{name} {page} {row.pk}"] = answer.content.decode()
    return texts


@pytest.mark.django_db(transaction=True)
def test_of_a_secret_only_its_digest_is_left(
    boss_client: Client,
    boss: Any,
    everything_said: pytest.LogCaptureFixture,
    settings: Any,
    rf: Any,
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "WORKERS": 0, "FAILED_AUTH_RATE": None}
    told: list[Any] = []
    hear = lambda record, **_: told.append(record)  # noqa: E731
    tool_called.connect(hear, weak=False, dispatch_uid="search")
    form = {
        "user": boss.pk,
        "name": "laptop",
        "scopes": ["rooms:write"],
        "tools_limit": "any",
        "expiry": "30",
        "note": "",
        "lookup": hidden(boss_client.get(url("add")), "lookup"),
    }
    issued = boss_client.post(url("add"), form)
    (first,) = secrets_on(issued)
    left = traces(boss_client, issued)
    use(first)
    token = Token.objects.get()
    rotation = {
        "grace": "3600",
        "seconds": "",
        "expected": hidden(boss_client.get(url("rotate", token.pk)), "expected"),
    }
    rotated = boss_client.post(url("rotate", token.pk), rotation)
    (second,) = secrets_on(rotated)
    left += traces(boss_client, rotated)
    use(first, ["asgi"])
    use(second, ["asgi"])

    headers = {"authorization": f"Bearer {second}"}
    request = rf.post("/mcp", headers=headers)
    incoming = Incoming(
        "POST", headers, remote=None, transport="http", streams=False, again=lambda: request
    )
    event = CallEvent.objects.latest("pk")
    caller = identify(incoming, event)  # type: ignore[arg-type]  # anything that takes attributes
    objects = [caller, token, event, *TokenSecret.objects.all(), *Session.objects.all(), *told]

    exports = StringIO()
    for kind in ("csv", "jsonl"):
        call_command("mcp_export", "--format", kind, stdout=exports)
        download = boss_client.get(f"/admin/mcp_app/callevent/export/{kind}/")
        assert download.status_code == 200
        exports.write(download.getvalue().decode())
    call_command("mcp_token", "list", stdout=exports)
    call_command("mcp_token", "due", "--days", "99", stdout=exports)
    pages = page_texts(boss_client)
    boss_client.post(url("revoke", token.pk))
    use(second, ["asgi"])
    tool_called.disconnect(dispatch_uid="search")

    lines = [f"{record.getMessage()} {record.exc_text}" for record in everything_said.records]
    searched = {
        **table_texts(),
        **pages,
        "traces": left,
        "objects": "".join(f"{one!r}{one}" for one in objects),
        "exports": exports.getvalue(),
        "logs": "\n".join(line for line in lines),
        "log records": "".join(repr(vars(r)) for r in everything_said.records if _is_ours(r)),
    }
    assert CallEvent.objects.count() > 60
    for secret in (first, second):
        random = secret.split("_")[2]
        assert [place for place, text in searched.items() if random in text] == []
        parsed = parse(secret)
        assert parsed is not None
        assert parsed[1] in searched["mcp_app_tokensecret"]


def _is_ours(record: logging.LogRecord) -> bool:
    """What Django logs of a request refers to it, with the headers that it came with."""
    return record.name.startswith("mcp_app")
