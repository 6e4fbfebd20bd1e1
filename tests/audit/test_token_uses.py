"""Who uses a token, by secret, and who still tries one that has ended, as its calls tell."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from mcp_app.audit import token_uses
from mcp_app.audit.token_uses import uses
from mcp_app.auth.tokens import issue, revoke, rotate
from mcp_app.models import CallEvent, Token

HOUR = timedelta(hours=1)


@pytest.fixture
def now() -> datetime:
    """A moment that the test's own moments are counted from."""
    return timezone.now()


@pytest.fixture
def rotated(django_user_model: Any, db: None, now: datetime) -> Token:
    """A token with a secret that ended an hour ago and one that works."""
    ana = django_user_model.objects.create_user("ana")
    token, _ = issue(user=ana, name="laptop", now=now - 48 * HOUR)
    rotate(token, grace=23 * HOUR, now=now - 24 * HOUR)
    return token


def called(token: Token, at: datetime, secret: int = 0, **columns: Any) -> CallEvent:
    """A call with one of the token's secrets, the newest being 0."""
    lookup = token.secrets.order_by("-id")[secret].lookup
    columns = {"outcome": "ok", "client_name": "cli", "address": "192.0.2.1"} | columns
    return CallEvent.objects.create(token=token, token_lookup=lookup, created_at=at, **columns)


def test_callers_are_told_by_secret_the_latest_first(rotated: Token, now: datetime) -> None:
    called(rotated, now - 3 * HOUR, client_version="2")
    called(rotated, now - 2 * HOUR, client_name="agent", address=None)
    called(rotated, now - 1 * HOUR, client_version="2")
    called(rotated, now - 30 * HOUR, secret=1, client_name="old")
    new, old = uses(rotated, now)
    assert [(c.client, c.address, c.calls, c.last_at) for c in new.callers] == [
        ("cli 2", "192.0.2.1", 2, now - HOUR),
        ("agent", "", 1, now - 2 * HOUR),
    ]
    assert old.last is not None
    assert old.last.client == "old"
    assert (new.ended_at, old.ended_at) == (None, now - HOUR)


def test_an_end_cuts_off_those_alone_who_have_not_changed_over(
    rotated: Token, now: datetime
) -> None:
    called(rotated, now - 30 * HOUR, secret=1, client_name="moved")
    called(rotated, now - 2 * HOUR, secret=0, client_name="moved")
    called(rotated, now - 30 * HOUR, secret=1, client_name="moved", address="192.0.2.2")
    called(rotated, now - 5 * HOUR, secret=0, client_name="back")
    called(rotated, now - 4 * HOUR, secret=1, client_name="back")
    new, old = uses(rotated, now)
    assert [(one.client, one.address) for one in old.staying] == [
        ("back", "192.0.2.1"),
        ("moved", "192.0.2.2"),
    ]
    assert (old.moved, len(old.callers)) == (1, 3)
    assert (new.staying, new.moved) == (new.callers, 0)


def test_who_went_back_to_a_middle_secret_is_gone_from_the_oldest(
    rotated: Token, now: datetime
) -> None:
    rotate(rotated, grace=HOUR, now=now - HOUR / 2)
    for hours, secret in ((9, 0), (3, 1), (6, 2)):
        called(rotated, now - hours * HOUR, secret=secret)
    assert [use.moved for use in uses(rotated, now)] == [0, 0, 1]


def test_of_many_clients_the_moved_are_not_taken_from_those_that_are_shown(
    rotated: Token, now: datetime
) -> None:
    shown = token_uses.MOST_CALLERS
    for number in range(2 * shown):
        name = {"client_name": f"cli {number}"}
        called(rotated, now - (40 - number) * HOUR, secret=1, **name)
        if number >= shown:
            called(rotated, now - HOUR, secret=0, **name)
    old = uses(rotated, now)[1]
    assert old.moved == shown
    assert len(old.staying) == shown


def test_refused_calls_since_it_ended_are_attempts_and_no_use(
    rotated: Token, now: datetime
) -> None:
    called(rotated, now - 30 * HOUR, secret=1, outcome="unauthenticated")
    called(rotated, now - HOUR / 2, secret=1, outcome="unauthenticated", client_name="cron")
    called(rotated, now - HOUR / 4, secret=1, outcome="unauthenticated", address="192.0.2.9")
    called(rotated, now - HOUR / 8, secret=0)
    new, old = uses(rotated, now)
    assert new.attempts is None
    assert old.attempts is not None
    assert (old.attempts.count, old.attempts.is_more) == (2, False)
    assert (old.attempts.last.address, old.attempts.last.last_at) == ("192.0.2.9", now - HOUR / 4)
    assert old.callers == []


def test_nobody_tries_a_secret_that_works(rotated: Token, now: datetime) -> None:
    called(rotated, now - HOUR, outcome="unauthenticated")
    assert uses(rotated, now)[0].attempts is None


def test_calls_of_another_token_are_not_its_own(rotated: Token, now: datetime) -> None:
    other, _ = issue(user=rotated.user, name="other")
    called(other, now)
    CallEvent.objects.create(token_lookup=rotated.secrets.order_by("-id")[0].lookup, outcome="ok")
    assert all(use.callers == [] for use in uses(rotated, now))


@pytest.mark.parametrize("how", ["revoked", "expired"])
def test_what_ends_the_token_ends_its_secrets(how: str, rotated: Token, now: datetime) -> None:
    if how == "revoked":
        revoke(rotated, now=now - HOUR / 2)
    else:
        rotated.expires_at = now - HOUR / 2
    assert [use.ended_at for use in uses(rotated, now)] == [now - HOUR / 2, now - HOUR]


def test_many_attempts_are_counted_up_to_a_bound(
    rotated: Token, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_uses, "MOST_ATTEMPTS", 2)
    for minute in range(4):
        at = now - timedelta(minutes=minute)
        called(rotated, at, secret=1, outcome="unauthenticated")
    old = uses(rotated, now)[1]
    assert old.attempts is not None
    assert (old.attempts.count, old.attempts.is_more) == (2, True)


def test_a_page_of_it_costs_few_queries_however_many_secrets(
    rotated: Token, now: datetime, django_assert_max_num_queries: Any
) -> None:
    for _ in range(6):
        rotate(rotated, grace=timedelta(0), now=now)
    with django_assert_max_num_queries(2 + 7):
        assert len(uses(rotated, now)) == 8
