"""Calls of a month for the log, as a product's people and agents leave them; seen, not measured."""

import json
import random
import uuid
from datetime import timedelta
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.utils import timezone

from mcp_app.auth.tokens import issue
from mcp_app.catalog.registry import default_server
from mcp_app.models import CallEvent, Token

OUTCOMES: Final = ["ok"] * 30 + ["error", "failed", "timeout", "denied", "invalid", "throttled"]
CLIENTS: Final = [
    ("Claude Code", "2.1"),
    ("Cursor", "1.7"),
    ("shop-agent", "0.3"),
    ("VS Code", "1"),
]


def make() -> None:
    """Make them, and print the keys of those that are looked at, by what came of them."""
    chance = random.Random(7)
    tokens = [_token(name, days) for name, days in (("ana", 3), ("ben", 90), ("zoë", 6))]
    CallEvent.objects.bulk_create(_call(chance, tokens) for _ in range(900))
    stories = {"ok": _ok(tokens[0]), "denied": _denied(tokens[1]), "failed": _failed()}
    print(json.dumps({**stories, "declined": _declined(tokens[0]), "ended": _ended(tokens[2])}))


def _token(name: str, days: int) -> Token:
    user = get_user_model().objects.create_user(name)
    ends = timezone.now() + timedelta(days=days)
    return issue(user=user, name=f"Claude Code on {name}'s laptop", expires_at=ends)[0]


def _who(token: Token) -> dict[str, Any]:
    secret = token.secrets.get()
    return {
        "user": token.user,
        "username": token.user.get_username(),
        "token": token,
        "token_name": token.name,
        "token_lookup": secret.lookup,
        "source": "token",
        "transport": "asgi",
        "protocol_version": "2026-07-28",
        "address": "203.0.113.7",
        "method": "tools/call",
        "correlation_id": uuid.uuid4().hex,
    }


def _call(chance: random.Random, tokens: list[Token]) -> CallEvent:
    outcome = chance.choice(OUTCOMES)
    client, version = chance.choice(CLIENTS)
    back = timedelta(days=min(chance.expovariate(1 / 5), 29.5))
    return CallEvent(
        **_who(chance.choice(tokens)),
        created_at=timezone.now() - back,
        tool=chance.choice(sorted(default_server.tools)),
        outcome=outcome,
        decision="deny" if outcome in ("denied", "throttled") else "allow",
        error_class={"denied": "InsufficientScope", "throttled": "Throttled"}.get(outcome, ""),
        duration_ms=chance.lognormvariate(3, 1),
        client_name=client,
        client_version=version,
        arguments={"limit": 20},
    )


def _ok(token: Token) -> int:
    columns = _who(token) | {"session_id": "b3f1c2", "outcome": "ok", "decision": "allow"}
    made = [
        CallEvent.objects.create(
            **columns,
            tool=tool,
            duration_ms=12.3,
            result_bytes=4321,
            client_name="Claude Code",
            client_version="2.1",
            arguments={"status": "playing", "limit": 20, "password": "[redacted]"},
            request_id="7",
        )
        for tool in ("list_rooms", "get_room", "list_players")
    ]
    return int(made[1].pk)


def begun() -> None:
    """Make one that began and whose process has ended since; print its key."""
    event = CallEvent.objects.create(
        tool="announce", method="tools/call", outcome="started", correlation_id=uuid.uuid4().hex
    )
    print(event.pk)


def _denied(token: Token) -> int:
    return _turned_away(
        token,
        decision="deny",
        error_class="InsufficientScope",
        error_text="token lacks the scopes rooms:write",
        duration_ms=1.2,
    )


def _declined(token: Token) -> int:
    return _turned_away(
        token,
        decision="confirm",
        error_class="Declined",
        error_text="This call needs a person's confirmation: the user declined.",
        duration_ms=8123.4,
    )


def _turned_away(token: Token, **columns: Any) -> int:
    """A call that a gate did not let through."""
    event = CallEvent.objects.create(
        **_who(token),
        **columns,
        tool="close_room",
        outcome="denied",
        arguments={"invite_code": "KX4P"},
    )
    return int(event.pk)


def _ended(token: Token) -> int:
    """With a secret that has ended."""
    columns = _who(token) | {"source": ""}
    event = CallEvent.objects.create(
        **columns,
        tool="list_rooms",
        outcome="unauthenticated",
        error_class="Unauthenticated",
        error_text="rotated",
        duration_ms=0.7,
    )
    return int(event.pk)


def _failed() -> int:
    """By somebody who has been deleted, with names that are no names."""
    hostile = "<script>alert(1)</script>"
    event = CallEvent.objects.create(
        created_at=timezone.now() - timedelta(days=1),
        username=f"dave {hostile}",
        token_name="a token of long ago",
        tool=f"export_{hostile}{'long' * 20}",
        method="tools/call",
        outcome="failed",
        decision="allow",
        error_class="OperationalError",
        error_text="could not connect to server: Connection refused\n" * 3 + "x" * 300,
        correlation_id=uuid.uuid4().hex,
        client_name=hostile,
        arguments={"query": hostile, "rows": list(range(12))},
        duration_ms=30012.5,
        address="2001:db8::7",
    )
    return int(event.pk)
