"""Secrets that are due, and tokens that are long dead."""

import json
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from mcp_app import signals
from mcp_app.auth.tokens import issue, revoke, rotate
from mcp_app.auth.upkeep import DueReason, Purged, due, purge
from mcp_app.models import CallEvent, Token, TokenSecret

WEEK, DAY = timedelta(days=7), timedelta(days=1)


def found(now: datetime, within: timedelta = WEEK) -> list[tuple[str, str, datetime | None]]:
    """What is due, without the rows."""
    return [(one.token.name, one.reason.value, one.ends_at) for one in due(within, now)]


def test_tokens_that_expire_soon_are_due_the_soonest_first(ana: Any, now: datetime) -> None:
    for name, days in (("later", 8), ("soon", 7), ("sooner", 1), ("never", None)):
        expires_at = None if days is None else now + timedelta(days=days)
        issue(user=ana, name=name, expires_at=expires_at, now=now)
    assert found(now) == [("sooner", "expires", now + DAY), ("soon", "expires", now + WEEK)]
    assert found(now + DAY) == [
        ("soon", "expires", now + WEEK),
        ("later", "expires", now + 8 * DAY),
    ]


def test_what_is_dead_or_cannot_be_used_is_never_due(ana: Any, now: datetime) -> None:
    token, _ = issue(user=ana, name="revoked", expires_at=now + DAY, now=now)
    issue(user=ana, name="orphaned", expires_at=now + DAY, now=now)
    revoke(token, now=now)
    assert [name for name, *_ in found(now)] == ["orphaned"]
    ana.is_active = False
    ana.save()
    assert found(now) == []


def test_an_old_secret_is_due_where_there_is_a_policy(
    ana: Any, now: datetime, settings: Any
) -> None:
    token, _ = issue(user=ana, name="old", now=now)
    later = now + timedelta(days=90)
    assert found(later) == []
    settings.MCP_APP = {**settings.MCP_APP, "ROTATE_AFTER_DAYS": 90}
    assert found(later - timedelta(seconds=1)) == []
    assert found(later) == [("old", "old", None)]
    rotate(token, grace=timedelta(0), now=later)
    assert found(later) == []


def test_a_token_that_gets_too_old_for_the_settings_is_due_and_purged(
    ana: Any, now: datetime, settings: Any
) -> None:
    issue(user=ana, name="for ever", now=now)
    issue(user=ana, name="later", expires_at=now + 90 * DAY, now=now)
    issue(user=ana, name="sooner", expires_at=now + 29 * DAY, now=now)
    settings.MCP_APP = {**settings.MCP_APP, "TOKEN_MAX_DAYS": 30}
    end = now + 30 * DAY
    assert found(end - WEEK - timedelta(seconds=1)) == [("sooner", "expires", now + 29 * DAY)]
    assert found(end - WEEK) == [
        ("sooner", "expires", now + 29 * DAY),
        ("for ever", "expires", end),
        ("later", "expires", end),
    ]
    assert found(end) == []
    assert purge(end - timedelta(seconds=1), dry_run=True) == Purged(tokens=1, secrets=0)
    assert purge(end, dry_run=True) == Purged(tokens=3, secrets=0)


def test_a_rotated_secret_is_due_where_somebody_still_uses_it(ana: Any, now: datetime) -> None:
    token, _ = issue(user=ana, name="rotated", now=now)
    rotate(token, grace=DAY, now=now + DAY)
    old = token.secrets.earliest("pk")
    assert found(now + DAY) == []
    TokenSecret.objects.filter(pk=old.pk).update(last_used_at=now)
    assert found(now + DAY) == []
    TokenSecret.objects.filter(pk=old.pk).update(last_used_at=now + timedelta(days=1, hours=1))
    assert found(now + DAY) == [("rotated", "grace ends", now + 2 * DAY)]
    assert found(now + 2 * DAY) == []


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("mcp_token", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_lists_and_tells_of_each_and_never_a_secret(ana: Any) -> None:
    token, secret = issue(user=ana, name="soon", expires_at=timezone.now() + DAY)
    told: list[dict[str, Any]] = []

    def hear(**arguments: Any) -> None:
        told.append(arguments)

    signals.token_due.connect(hear)
    try:
        assert told == []
        (row,) = json.loads(run("due", "--days", "2", "--json", "--notify"))
    finally:
        signals.token_due.disconnect(hear)
    assert (row["name"], row["user"], row["reason"]) == ("soon", "ana", "expires")
    assert row["prefix"] == f"mcp_{token.secrets.get().lookup}"
    assert (told[0]["token"], told[0]["reason"]) == (token, DueReason.EXPIRES)
    assert secret.reveal() not in f"{row}{told}{run('due')}"
    assert run("due", "--days", "0") == ""


@pytest.fixture
def cemetery(ana: Any, now: datetime) -> Token:
    """A live token with a dead secret, a dead one of each kind, and one that died lately."""
    live, _ = issue(user=ana, name="live", now=now)
    rotate(live, grace=timedelta(0), now=now)
    issue(user=ana, name="expired", expires_at=now + timedelta(seconds=1), now=now)
    revoke(issue(user=ana, name="revoked", now=now)[0], now=now)
    revoke(issue(user=ana, name="lately", now=now)[0], now=now + WEEK)
    return live


def test_a_purge_deletes_what_is_long_dead_and_keeps_events(cemetery: Token, now: datetime) -> None:
    revoked = Token.objects.get(name="revoked")
    CallEvent.objects.create(token=revoked, token_name="revoked", tool="add", outcome="ok")
    assert purge(now + DAY, dry_run=True) == Purged(tokens=2, secrets=1)
    assert Token.objects.count() == 4
    assert purge(now + DAY) == Purged(tokens=2, secrets=1)
    assert set(Token.objects.values_list("name", flat=True)) == {"live", "lately"}
    assert cemetery.secrets.count() == 1
    event = CallEvent.objects.get()
    assert (event.token, event.token_name) == (None, "revoked")


def test_the_purge_says_what_it_does(cemetery: Token) -> None:
    dry = run("purge", "--older-than", "0", "--dry-run")
    assert dry == "Would delete 0 tokens, and 0 secrets of other tokens.\n"
    with pytest.raises(CommandError):
        run("purge", "--older-than", "-1")
