"""Tokens as a product has them after a while: used, rotated, leaked, over; with odd names."""

import json
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.utils import timezone

from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import end_secret, issue, revoke, rotate
from mcp_app.auth.verification import verify
from mcp_app.models import CallEvent, Token, TokenSecret

HOSTILE = "<script>alert(1)</script>"


def make() -> None:
    """Make them, and print the keys of one in use, of one each that is over, and more."""
    users = get_user_model().objects
    sam = users.get(username="sam")
    admin = users.get(username="admin")
    ended = _without_secret(admin)
    keys = {
        "used": _used(sam).pk,
        "ended": ended.pk,
        "revoked": _revoked(sam).pk,
        "expired": _expired(users.create_user(f"dora {HOSTILE}")).pk,
        "own": _own(admin).pk,
    }
    keys["client"] = Token.objects.get(name="The example's client").pk
    lookups = {
        "leaked": _secret(keys["used"], 1),
        "last": _secret(keys["client"], 0),
        "old": _secret(keys["own"], 1),
    }
    print(json.dumps(keys | lookups))


def _secret(token: int, age: int) -> str:
    """The lookup of one of a token's secrets, the newest being 0."""
    return TokenSecret.objects.filter(token=token).order_by("-id")[age].lookup


def _used(user: Any) -> Token:
    """With a secret that works, one in its grace, and one that ended and is still tried."""
    now = timezone.now()
    day = timedelta(days=1)
    token, first = issue(
        user=user, name="Claude Code on Sam's laptop", scopes=["rooms:write"], now=now - 20 * day
    )
    _called(token, first, now - 15 * day, "Claude Code")
    second = rotate(token, grace=day, now=now - 10 * day)
    _called(token, first, now - 8 * day, f"cron {HOSTILE}", outcome="unauthenticated")
    _called(token, second, now - day / 8, "Cursor")
    third = rotate(token, grace=3 * day, now=now - day / 24)
    _called(token, third, now - day / 99, "Claude Code")
    return token


def _called(token: Token, secret: Secret, at: Any, client: str, outcome: str = "ok") -> None:
    if outcome == "ok":
        verify(secret.reveal(), now=at, address="203.0.113.7")
    CallEvent.objects.create(
        created_at=at,
        user=token.user,
        username=token.user.get_username(),
        token=token,
        token_name=token.name,
        token_lookup=secret.reveal()[4:16],
        outcome=outcome,
        client_name=client,
        client_version="2.1",
        address="203.0.113.7",
        method="tools/call",
        tool="list_rooms",
    )


def _revoked(user: Any) -> Token:
    token, _ = issue(user=user, name="A lost phone")
    revoke(token)
    return token


def _expired(user: Any) -> Token:
    then = timezone.now() - timedelta(days=40)
    ends = then + timedelta(days=30)
    limits: dict[str, Any] = {"tools": ["list_rooms"], "read_only": True}
    return issue(user=user, name=f"export {HOSTILE}", expires_at=ends, now=then, **limits)[0]


def _without_secret(user: Any) -> Token:
    ends = timezone.now() + timedelta(days=40)
    token, secret = issue(user=user, name="Nightly report", expires_at=ends, created_by=user)
    end_secret(token, secret.reveal()[4:16])
    return token


def _own(user: Any) -> Token:
    """With an old secret in its grace, which is still used."""
    now = timezone.now()
    ends = now + timedelta(days=9)
    token, first = issue(user=user, name="My agent", expires_at=ends, created_by=user)
    rotate(token, grace=timedelta(days=3), now=now)
    verify(first.reveal(), address="203.0.113.7")
    return token
