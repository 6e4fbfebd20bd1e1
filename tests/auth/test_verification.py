"""A presented secret: refused on the very next request, found by one query (D-071, D-075)."""

import logging
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from mcp_app.auth.hashing import Secret, generate
from mcp_app.auth.tokens import revoke
from mcp_app.auth.verification import CredentialsInvalid, Invalid, verify
from mcp_app.models import Token, TokenSecret

Issued = tuple[Token, Secret]


def expire(token: Token, now: datetime) -> None:
    Token.objects.filter(pk=token.pk).update(expires_at=now)


def deactivate(token: Token, now: datetime) -> None:
    token.user.is_active = False
    token.user.save()


def delete_user(token: Token, now: datetime) -> None:
    token.user.delete()


def revoke_it(token: Token, now: datetime) -> None:
    revoke(token, now=now)


@pytest.mark.parametrize(
    ("switch", "reason"),
    [
        (revoke_it, Invalid.REVOKED),
        (expire, Invalid.EXPIRED),
        (deactivate, Invalid.INACTIVE),
        (delete_user, Invalid.UNKNOWN),
    ],
)
def test_each_off_switch_acts_on_the_next_request(
    switch: Callable[[Token, datetime], None], reason: Invalid, issued: Issued, now: datetime
) -> None:
    token, secret = issued
    verify(secret.reveal(), now=now)
    switch(token, now)
    with pytest.raises(CredentialsInvalid) as refused:
        verify(secret.reveal(), now=now)
    assert refused.value.reason is reason


def test_a_genuine_but_ended_secret_names_its_row_for_the_audit(
    issued: Issued, now: datetime
) -> None:
    token, secret = issued
    revoke(token, now=now)
    with pytest.raises(CredentialsInvalid) as refused:
        verify(secret.reveal(), now=now)
    assert refused.value.secret is not None
    assert refused.value.secret.token == token


def test_a_forged_secret_under_a_known_prefix_is_nobodys(issued: Issued, now: datetime) -> None:
    lookup = issued[1].reveal()[4:16]
    with pytest.raises(CredentialsInvalid) as refused:
        verify(generate(lookup).secret.reveal(), now=now)
    error = refused.value
    assert (error.reason, error.lookup, error.secret) == (Invalid.MISMATCH, lookup, None)


def test_a_good_secret_costs_one_query_once_its_use_is_noted(
    issued: Issued, now: datetime, django_assert_num_queries: Any
) -> None:
    text = issued[1].reveal()
    verify(text, now=now)
    with django_assert_num_queries(1):
        verified = verify(text, now=now)
        assert verified.token.user.get_username() == "ana"


def test_a_text_of_the_wrong_form_costs_no_query(db: None, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0), pytest.raises(CredentialsInvalid):
        verify("mcp_not_a_secret")


def test_a_secret_among_many_is_found_by_the_index_of_its_prefix(
    issued: Issued, now: datetime, django_assert_num_queries: Any
) -> None:
    token, secret = issued
    others = (generate() for _ in range(5000))
    TokenSecret.objects.bulk_create(
        TokenSecret(token=token, lookup=new.lookup, digest=new.digest) for new in others
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE mcp_app_tokensecret")
    plan = TokenSecret.objects.filter(lookup=secret.reveal()[4:16]).order_by().explain().lower()
    assert "index" in plan
    assert "lookup" in plan
    assert "seq scan" not in plan
    verify(secret.reveal(), now=now)
    with django_assert_num_queries(1):
        assert verify(secret.reveal(), now=now).token == token


def test_a_secret_costs_one_hash_and_no_slow_one(issued: Issued, now: datetime) -> None:
    text = issued[1].reveal()
    verify(text, now=now)
    hashed: list[str] = []

    def note(frame: Any, event: str, function: Any) -> None:
        name = getattr(function, "__name__", "")
        if event == "c_call" and name.startswith(("openssl_", "pbkdf2", "scrypt", "new")):
            hashed.append(name)

    sys.setprofile(note)
    try:
        verify(text, now=now)
    finally:
        sys.setprofile(None)
    assert hashed == ["openssl_sha256"]


def test_the_last_use_is_written_once_an_interval(
    issued: Issued, now: datetime, settings: Any
) -> None:
    settings.MCP_APP = settings.MCP_APP | {"LAST_USED_INTERVAL": 60}
    text = issued[1].reveal()
    with CaptureQueriesContext(connection) as queries:
        for second in range(120):
            verify(text, now=now + timedelta(seconds=second), address="192.0.2.7")
    updates = [query for query in queries if query["sql"].startswith("UPDATE")]
    assert len(updates) == 2
    row = TokenSecret.objects.get()
    assert (row.last_used_at, row.last_used_ip) == (now + timedelta(seconds=60), "192.0.2.7")


def test_a_refused_secret_is_not_marked_as_used(issued: Issued, now: datetime) -> None:
    token, secret = issued
    revoke(token, now=now)
    with pytest.raises(CredentialsInvalid):
        verify(secret.reveal(), now=now)
    assert TokenSecret.objects.get().last_used_at is None


def test_an_address_that_is_none_is_left_out(issued: Issued, now: datetime) -> None:
    verify(issued[1].reveal(), now=now, address="unix:")
    row = TokenSecret.objects.get()
    assert (row.last_used_at, row.last_used_ip) == (now, None)


def refuse_updates(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    """Stand for a database that is read-only: its own error, for writes."""
    if sql.startswith("UPDATE"):
        sql = "UPDATE no_such_table SET nothing = 1"
        params = ()
    return execute(sql, params, many, context)


def test_a_failing_write_of_the_last_use_fails_neither_call_nor_transaction(
    issued: Issued, now: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    token, secret = issued
    with transaction.atomic():
        with connection.execute_wrapper(refuse_updates):
            assert verify(secret.reveal(), now=now).token == token
        assert Token.objects.filter(pk=token.pk).exists()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert secret.reveal()[17:] not in caplog.text
