"""Issuing, rotating and revoking, to the instant (ACCEPTANCE D-068, D-070, D-073, D-078)."""

import itertools
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core import serializers
from django.core.exceptions import ValidationError

from mcp_app import signals
from mcp_app.auth.hashing import Secret, new_lookup
from mcp_app.auth.tokens import (
    AlreadyIssued,
    RotationRefusal,
    TokenRotationRefused,
    effective_scopes,
    end_secret,
    issue,
    newest_secret_id,
    revoke,
    rotate,
    save_new,
)
from mcp_app.auth.verification import CredentialsInvalid, Invalid, verify
from mcp_app.models import Token, TokenSecret, TokenStatus

Issued = tuple[Token, Secret]
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def refusal(secret: Secret, at: datetime) -> Invalid | None:
    """Why a secret is refused at a moment, or None where it is good."""
    try:
        verify(secret.reveal(), now=at)
    except CredentialsInvalid as error:
        return error.reason
    return None


def test_an_issued_token_verifies_as_its_user(issued: Issued, ana: Any, now: datetime) -> None:
    token, secret = issued
    verified = verify(secret.reveal(), now=now)
    assert (verified.token, verified.token.user) == (token, ana)
    assert verified.token.token_lookup == secret.reveal()[4:16]


def test_the_database_holds_no_secret(issued: Issued, now: datetime) -> None:
    token, secret = issued
    rotated = rotate(token, grace=MINUTE, now=now)
    dump = serializers.serialize(
        "json", itertools.chain(Token.objects.all(), TokenSecret.objects.all())
    )
    for shown in (secret, rotated):
        assert shown.reveal() not in dump
        assert shown.reveal()[17:50] not in dump
    assert secret.reveal()[4:16] in dump


def test_tokens_print_no_secret_and_no_digest(issued: Issued) -> None:
    token, secret = issued
    row = token.secrets.get()
    printed = f"{token} {token!r} {row} {row!r}"
    assert secret.reveal()[17:] not in printed
    assert row.digest not in printed


def test_one_user_holds_several_tokens_each_revocable_alone(ana: Any, now: datetime) -> None:
    first, first_secret = issue(user=ana, name="ci", now=now)
    _, second_secret = issue(user=ana, name="ci", now=now)
    assert revoke(first, now=now)
    assert refusal(first_secret, now) is Invalid.REVOKED
    assert refusal(second_secret, now) is None


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"scopes": ["rooms:write", "rooms:burn"]}, "scopes"),
        ({"expires_at": datetime.fromisoformat("2029-12-31T00:00Z")}, "expires_at"),
        ({"expires_at": datetime.fromisoformat("2030-01-01T12:00Z")}, "expires_at"),
    ],
)
def test_wrong_facts_are_refused_by_field(
    wrong: dict[str, Any], field: str, ana: Any, now: datetime
) -> None:
    with pytest.raises(ValidationError) as refused:
        issue(**{"user": ana, "name": "laptop", "now": now} | wrong)
    assert field in refused.value.message_dict
    assert not Token.objects.exists()


def test_no_token_is_issued_to_an_inactive_user(ana: Any) -> None:
    ana.is_active = False
    ana.save()
    with pytest.raises(ValidationError, match="not active"):
        issue(user=ana, name="laptop")


@pytest.mark.parametrize("expires_at", [None, timedelta(days=30, seconds=1)])
def test_the_settings_bound_the_life_of_a_token(
    expires_at: timedelta | None, ana: Any, now: datetime, settings: Any
) -> None:
    settings.MCP_APP = settings.MCP_APP | {"TOKEN_MAX_DAYS": 30}
    with pytest.raises(ValidationError, match="30 days"):
        issue(user=ana, name="laptop", expires_at=expires_at and now + expires_at, now=now)
    issue(user=ana, name="laptop", expires_at=now + timedelta(days=30), now=now)


def test_a_token_is_never_older_than_the_settings_allow(
    ana: Any, now: datetime, settings: Any, django_assert_num_queries: Any
) -> None:
    """Issued before there was a bound, or given a later expiry past the forms (D-071, D-073)."""
    token, old = issue(user=ana, name="for ever", now=now)
    later, _ = issue(user=ana, name="later", expires_at=now + timedelta(days=90), now=now)
    sooner, _ = issue(user=ana, name="sooner", expires_at=now + timedelta(days=10), now=now)
    settings.MCP_APP = settings.MCP_APP | {"TOKEN_MAX_DAYS": 30}
    end = now + timedelta(days=30)
    new = rotate(token, grace=timedelta(days=3650), now=end - SECOND)
    assert (refusal(old, end - SECOND), refusal(new, end - SECOND)) == (None, None)
    with django_assert_num_queries(2):
        assert (refusal(old, end), refusal(new, end)) == (Invalid.EXPIRED, Invalid.EXPIRED)
    with pytest.raises(TokenRotationRefused) as refused:
        rotate(token, grace=MINUTE, now=end)
    assert refused.value.reason is RotationRefusal.EXPIRED
    assert [one.ends_at for one in (token, later, sooner)] == [end, end, now + timedelta(days=10)]
    for at, status in {
        now: TokenStatus.ACTIVE,
        end - timedelta(days=7): TokenStatus.EXPIRING,
        end: TokenStatus.EXPIRED,
    }.items():
        assert token.status(at) is status
        assert [s for s in TokenStatus if token in Token.objects.with_status(s, at)] == [status]


@pytest.mark.parametrize("days", [10**6, 10**12])
def test_a_bound_beyond_all_dates_bounds_nothing(
    days: int, issued: Issued, now: datetime, settings: Any
) -> None:
    settings.MCP_APP = settings.MCP_APP | {"TOKEN_MAX_DAYS": days}
    assert refusal(issued[1], now + timedelta(days=365)) is None
    assert Token.objects.with_status("active", now).get() == issued[0]


def test_a_token_carries_its_scopes_and_none_without_any(ana: Any, settings: Any) -> None:
    token, _ = issue(user=ana, name="one", scopes=["rooms:write", "rooms:write"])
    assert effective_scopes(token) == {"rooms:write"}
    assert effective_scopes(issue(user=ana, name="none")[0]) == frozenset()
    settings.MCP_APP = settings.MCP_APP | {"SCOPES": {}}
    assert effective_scopes(token) == frozenset()


def test_a_superusers_token_carries_no_more_than_it_says(django_user_model: Any, db: None) -> None:
    root = django_user_model.objects.create_superuser("root", password="root")
    assert effective_scopes(issue(user=root, name="none")[0]) == frozenset()


def test_a_prefix_is_taken_once(ana: Any) -> None:
    lookup = new_lookup()
    save_new(Token(user=ana, name="first"), lookup=lookup)
    with pytest.raises(AlreadyIssued):
        save_new(Token(user=ana, name="second"), lookup=lookup)
    assert [token.name for token in Token.objects.all()] == ["first"]


def test_both_secrets_work_until_strictly_before_the_deadline(
    issued: Issued, now: datetime
) -> None:
    token, old = issued
    new = rotate(token, grace=MINUTE, now=now)
    for at in (now, now + 59.9 * SECOND):
        assert (refusal(old, at), refusal(new, at)) == (None, None)
    assert refusal(old, now + MINUTE) is Invalid.ROTATED
    assert refusal(new, now + MINUTE) is None


def test_a_grace_of_zero_ends_the_old_secret_at_once(issued: Issued, now: datetime) -> None:
    token, old = issued
    new = rotate(token, grace=timedelta(0), now=now)
    assert refusal(old, now) is Invalid.ROTATED
    assert refusal(new, now) is None


def test_rotating_again_leaves_at_most_one_predecessor(issued: Issued, now: datetime) -> None:
    token, first = issued
    second = rotate(token, grace=MINUTE, now=now)
    third = rotate(token, grace=MINUTE, now=now + SECOND)
    at = now + SECOND
    assert refusal(first, at) is Invalid.ROTATED
    assert (refusal(second, at), refusal(third, at)) == (None, None)


def test_a_grace_never_puts_an_earlier_end_off(issued: Issued, now: datetime) -> None:
    token, old = issued
    token.secrets.update(valid_until=now + SECOND)
    rotate(token, grace=MINUTE, now=now)
    assert refusal(old, now + SECOND) is Invalid.ROTATED


def test_the_tokens_own_expiry_ends_old_and_new(ana: Any, now: datetime) -> None:
    token, old = issue(user=ana, name="short", expires_at=now + 30 * SECOND, now=now)
    new = rotate(token, grace=MINUTE, now=now)
    assert (refusal(old, now + 29 * SECOND), refusal(new, now + 29 * SECOND)) == (None, None)
    assert refusal(old, now + 30 * SECOND) is Invalid.EXPIRED
    assert refusal(new, now + 30 * SECOND) is Invalid.EXPIRED


def test_a_rotation_changes_nothing_but_the_secrets(issued: Issued, now: datetime) -> None:
    token, _ = issued
    before = Token.objects.filter(pk=token.pk).values().get()
    rotate(token, grace=MINUTE, now=now)
    assert Token.objects.filter(pk=token.pk).values().get() == before


@pytest.mark.parametrize("grace", [timedelta(seconds=-1), timedelta(seconds=10**9)])
def test_a_grace_out_of_bounds_is_refused(grace: timedelta, issued: Issued, now: datetime) -> None:
    token, old = issued
    with pytest.raises(ValidationError, match="grace"):
        rotate(token, grace=grace, now=now)
    assert token.secrets.count() == 1
    assert refusal(old, now) is None


def end_by_revoking(token: Token, now: datetime) -> None:
    revoke(token, now=now)


def end_by_expiry(token: Token, now: datetime) -> None:
    Token.objects.filter(pk=token.pk).update(expires_at=now)


@pytest.mark.parametrize(
    ("end", "reason"),
    [(end_by_revoking, RotationRefusal.REVOKED), (end_by_expiry, RotationRefusal.EXPIRED)],
)
def test_an_ended_token_is_not_rotated(
    end: Callable[[Token, datetime], None],
    reason: RotationRefusal,
    issued: Issued,
    now: datetime,
) -> None:
    token, _ = issued
    end(token, now)
    with pytest.raises(TokenRotationRefused) as refused:
        rotate(token, grace=MINUTE, now=now)
    assert refused.value.reason is reason
    assert token.secrets.count() == 1


def test_who_looked_before_another_rotation_is_refused(issued: Issued, now: datetime) -> None:
    token, _ = issued
    seen = newest_secret_id(token)
    winner = rotate(token, grace=timedelta(0), expected_secret_id=seen, now=now)
    with pytest.raises(TokenRotationRefused) as refused:
        rotate(token, grace=timedelta(0), expected_secret_id=seen, now=now)
    assert refused.value.reason is RotationRefusal.STALE
    assert refusal(winner, now) is None
    assert token.secrets.count() == 2


def test_revoking_ends_every_secret_at_once(issued: Issued, now: datetime) -> None:
    token, old = issued
    new = rotate(token, grace=MINUTE, now=now)
    assert revoke(token, now=now)
    assert (refusal(old, now), refusal(new, now)) == (Invalid.REVOKED, Invalid.REVOKED)


def test_revoking_twice_keeps_the_first_moment(issued: Issued, now: datetime) -> None:
    token, _ = issued
    assert revoke(token, now=now)
    assert not revoke(token, now=now + MINUTE)
    token.refresh_from_db()
    assert token.revoked_at == now


def test_an_undeclared_scope_does_not_keep_a_token_from_being_revoked(
    issued: Issued, now: datetime, settings: Any
) -> None:
    settings.MCP_APP = settings.MCP_APP | {"SCOPES": {}}
    assert revoke(issued[0], now=now)


def test_status_follows_the_clock(ana: Any, now: datetime) -> None:
    token, _ = issue(user=ana, name="month", expires_at=now + timedelta(days=30), now=now)
    moments = {
        now: TokenStatus.ACTIVE,
        now + timedelta(days=23): TokenStatus.EXPIRING,
        now + timedelta(days=30): TokenStatus.EXPIRED,
    }
    for at, status in moments.items():
        assert token.status(at) is status
        for other in TokenStatus:
            found = Token.objects.with_status(other, at).exists()
            assert found == (other is status)
    revoke(token, now=now)
    assert token.status(now) is TokenStatus.REVOKED
    assert Token.objects.with_status("revoked", now).get() == token


def test_a_token_is_worth_nothing_once_its_last_secret_has_ended(ana: Any, now: datetime) -> None:
    token, secret = issue(user=ana, name="month", expires_at=now + timedelta(days=30), now=now)
    rotate(token, grace=HOUR, now=now)
    end_secret(token, token.secrets.order_by("-id")[0].lookup, now=now)
    moments = {
        now: TokenStatus.ACTIVE,
        now + HOUR - SECOND: TokenStatus.ACTIVE,
        now + HOUR: TokenStatus.NO_SECRET,
        now + timedelta(days=23): TokenStatus.NO_SECRET,
        now + timedelta(days=30): TokenStatus.EXPIRED,
    }
    for at, status in moments.items():
        assert token.status(at) is status
        assert [s for s in TokenStatus if token in Token.objects.with_status(s, at)] == [status]
        assert (refusal(secret, at) is None) is (status is TokenStatus.ACTIVE)
    rotate(token, grace=timedelta(0), now=now + HOUR)
    assert token.status(now + HOUR) is TokenStatus.ACTIVE


def test_each_act_is_announced_after_the_commit_without_a_secret(
    ana: Any, now: datetime, django_capture_on_commit_callbacks: Any
) -> None:
    heard: list[tuple[str, dict[str, Any]]] = []

    def listen(name: str) -> Callable[..., None]:
        def receiver(signal: Any, **arguments: Any) -> None:
            heard.append((name, arguments))
            raise RuntimeError("a receiver breaks nothing")

        return receiver

    names = ["token_issued", "token_rotated", "token_secret_ended", "token_revoked"]
    receivers = {name: listen(name) for name in names}
    for name, receiver in receivers.items():
        getattr(signals, name).connect(receiver)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            token, _ = issue(user=ana, name="laptop", created_by=ana, now=now)
            rotate(token, grace=MINUTE, by=ana, now=now)
            old = token.secrets.order_by("id")[0].lookup
            assert end_secret(token, old, by=ana, now=now)
            assert not end_secret(token, old, by=ana, now=now)
            revoke(token, by=ana, now=now)
            revoke(token, by=ana, now=now)
            assert not heard
    finally:
        for name, receiver in receivers.items():
            getattr(signals, name).disconnect(receiver)
    assert [name for name, _ in heard] == names
    for _, arguments in heard:
        assert (arguments["sender"], arguments["token"], arguments["by"]) == (Token, token, ana)
        assert set(arguments) <= {"sender", "token", "by", "valid_until", "lookup"}
    assert heard[1][1]["valid_until"] == now + MINUTE
    assert heard[2][1]["lookup"] == old


def test_a_scope_implies_those_beneath_it(settings: Any, ana: Any) -> None:
    scopes = {"orders": "", "orders:read": "", "orders:write": "", "orderstatus": "", "x:y": ""}
    settings.MCP_APP = {**settings.MCP_APP, "SCOPES": scopes}
    beneath = {"orders", "orders:read", "orders:write"}
    assert effective_scopes(Token(user=ana, scopes=["orders"])) == beneath
    assert effective_scopes(Token(user=ana, scopes=["orders:read"])) == {"orders:read"}
    assert effective_scopes(Token(user=ana, scopes=[])) == frozenset()
    # One that is no longer declared implies nothing any more.
    assert effective_scopes(Token(user=ana, scopes=["x"])) == frozenset()
