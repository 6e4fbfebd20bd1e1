"""The instants at which a credential ends, asked of everybody who decides (D-068, D-071, D-073).

Python decides for a request, SQL for lists, open streams and reminders: they must agree.
"""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.core.exceptions import ValidationError
from django.db import connection

from mcp_app import signals
from mcp_app.auth import liveness
from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import RotationRefusal, TokenRotationRefused, issue, revoke, rotate
from mcp_app.auth.upkeep import due
from mcp_app.auth.verification import CredentialsInvalid, Invalid, verify
from mcp_app.dispatch.listening import Credential
from mcp_app.models import Token, TokenSecret, TokenStatus
from mcp_app.testing import MCPClient

Issued = tuple[Token, Secret]
INSTANT = timedelta(microseconds=1)
HOUR = timedelta(hours=1)


def refusal(secret: Secret, at: datetime) -> Invalid | None:
    try:
        verify(secret.reveal(), now=at)
    except CredentialsInvalid as error:
        return error.reason
    return None


def works(secret: Secret, at: datetime) -> bool:
    return refusal(secret, at) is None


# --- ways to end at a deadline -------------------------------------------------------------------

Ends = Callable[[Any, datetime, Any], tuple[Token, Secret]]


def by_expiry(user: Any, end: datetime, settings: Any) -> Issued:
    return issue(user=user, name="x", expires_at=end, now=end - HOUR)


def by_age(user: Any, end: datetime, settings: Any) -> Issued:
    issued = issue(user=user, name="x", now=end - timedelta(days=30))
    settings.MCP_APP = {**settings.MCP_APP, "TOKEN_MAX_DAYS": 30}
    return issued


def by_grace(user: Any, end: datetime, settings: Any) -> Issued:
    issued = issue(user=user, name="x", now=end - HOUR)
    rotate(issued[0], grace=HOUR, now=end - HOUR)
    return issued


def by_expiry_within_a_grace(user: Any, end: datetime, settings: Any) -> Issued:
    issued = issue(user=user, name="x", expires_at=end, now=end - HOUR)
    rotate(issued[0], grace=timedelta(days=3650), now=end - INSTANT)
    return issued


def by_grace_within_another(user: Any, end: datetime, settings: Any) -> Issued:
    issued = issue(user=user, name="x", now=end - HOUR)
    TokenSecret.objects.update(valid_until=end)
    rotate(issued[0], grace=timedelta(days=1), now=end - INSTANT)
    return issued


WAYS = [by_expiry, by_age, by_grace, by_expiry_within_a_grace, by_grace_within_another]


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def ending(request: pytest.FixtureRequest, ana: Any, now: datetime, settings: Any) -> Issued:
    """A token and a secret of it that ends at `now`."""
    ends: Ends = request.param
    return ends(ana, now, settings)


@pytest.mark.parametrize("late", [-INSTANT, timedelta(0), INSTANT, timedelta(days=3650)])
def test_a_secret_is_good_until_strictly_before_its_end(
    ending: Issued, now: datetime, late: timedelta, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    _, secret = ending
    at, good = now + late, late < timedelta(0)
    row = TokenSecret.objects.select_related("token__user").get(lookup=secret.reveal()[4:16])
    assert works(secret, at) is good
    assert TokenSecret.objects.live(at).filter(pk=row.pk).exists() is good
    assert any(one.secret == row for one in due(timedelta(days=1), at)) <= good
    # What an open stream of it is told.
    monkeypatch.setattr("django.utils.timezone.now", lambda: at)
    row.token.secret_used = row
    assert (liveness._live_token(row.token_id, row.lookup) is not None) is good
    credential = Credential(
        token_id=row.token_id, token_lookup=row.lookup, user_id=None, session_id=None
    )
    assert (credential in liveness.find_standing([credential])) is good
    ends_at = liveness.ends_at(row.token)
    assert ends_at is not None
    assert (at < ends_at) is good
    # And a request, with the clock of the whole process.
    settings.MCP_APP = {**settings.MCP_APP, "WORKERS": 0}
    answer = MCPClient(secret.reveal()).request("tools/list")
    assert answer.status == (200 if good else 401)
    if not good:
        assert answer.error["message"] == "Invalid or expired token."


@pytest.mark.parametrize("late", [-INSTANT, timedelta(0), INSTANT])
@pytest.mark.parametrize("way", [by_expiry, by_age])
def test_what_ends_a_token_ends_its_status_and_its_rotation(
    way: Ends, late: timedelta, ana: Any, now: datetime, settings: Any
) -> None:
    token, _ = way(ana, now, settings)
    at, good = now + late, late < timedelta(0)
    assert (token.status(at) is TokenStatus.EXPIRED) is not good
    assert Token.objects.live(at).exists() is good
    assert Token.objects.with_status("expired", at).exists() is not good
    if good:
        rotate(token, grace=HOUR, now=at)
    else:
        with pytest.raises(TokenRotationRefused):
            rotate(token, grace=HOUR, now=at)
        assert token.secrets.count() == 1


# --- rotations after rotations -------------------------------------------------------------------


def test_a_grace_of_zero_ends_the_predecessors_of_a_longer_one(
    issued: Issued, now: datetime
) -> None:
    token, first = issued
    second = rotate(token, grace=timedelta(days=30), now=now)
    third = rotate(token, grace=timedelta(0), now=now + INSTANT)
    at = now + INSTANT
    assert [works(secret, at) for secret in (first, second, third)] == [False, False, True]


def test_of_a_long_line_of_rotations_the_last_two_live(issued: Issued, now: datetime) -> None:
    token, first = issued
    secrets = [first]
    for step in range(1, 7):
        secrets.append(rotate(token, grace=timedelta(days=3650), now=now + step * INSTANT))
        alive = [works(secret, now + step * INSTANT) for secret in secrets]
        assert alive == [False] * (step - 1) + [True, True]


def test_what_is_announced_is_the_end_that_the_old_secret_has(
    ana: Any, now: datetime, django_capture_on_commit_callbacks: Any
) -> None:
    told: list[datetime] = []

    def hear(valid_until: datetime, **_: Any) -> None:
        told.append(valid_until)

    token, _ = issue(user=ana, name="short", expires_at=now + HOUR, now=now)
    signals.token_rotated.connect(hear)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            rotate(token, grace=timedelta(days=1), now=now)
            token.secrets.filter(valid_until=None).update(valid_until=now + timedelta(minutes=1))
            rotate(token, grace=timedelta(minutes=30), now=now + INSTANT)
            rotate(token, grace=timedelta(minutes=30), now=now + INSTANT)
    finally:
        signals.token_rotated.disconnect(hear)
    assert told == [
        now + HOUR,
        now + timedelta(minutes=1),
        now + INSTANT + timedelta(minutes=30),
    ]


def race(*works: Callable[[], Any]) -> list[Any]:
    """Each on a thread of its own, from one start; what came of them."""
    start, results = threading.Barrier(len(works)), []

    def run(work: Callable[[], Any]) -> None:
        start.wait()
        try:
            results.append(work())
        except TokenRotationRefused as refused:
            results.append(refused)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == len(works)
    return results


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("grace", [timedelta(0), HOUR])
def test_of_rotations_at_once_one_secret_is_new_and_one_at_most_is_left(
    issued: Issued, grace: timedelta, now: datetime
) -> None:
    token, old = issued
    seen = token.secrets.get().pk
    rotating = [
        lambda: rotate(token, grace=grace, now=now, expected_secret_id=seen) for _ in range(6)
    ]
    results = race(*rotating)
    winners = [result for result in results if isinstance(result, Secret)]
    assert len(winners) == 1
    assert works(winners[0], now)
    assert works(old, now) is bool(grace)
    assert token.secrets.count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_revocation_that_races_with_rotations_leaves_nothing_alive(
    issued: Issued, now: datetime
) -> None:
    token, old = issued
    rotating = [lambda: rotate(token, grace=HOUR, now=now) for _ in range(3)]
    results = race(*rotating, lambda: revoke(token, now=now))
    made = [result for result in results if isinstance(result, Secret)]
    assert [refusal(secret, now) for secret in (old, *made)] == [Invalid.REVOKED] * (1 + len(made))
    assert not TokenSecret.objects.live(now).exists()


def test_a_token_that_was_deleted_meanwhile_is_not_rotated(issued: Issued, now: datetime) -> None:
    token, _ = issued
    Token.objects.filter(pk=token.pk).delete()
    with pytest.raises(TokenRotationRefused) as refused:
        rotate(token, grace=HOUR, now=now)
    assert refused.value.reason is RotationRefusal.GONE
    assert "deleted meanwhile" in str(refused.value)
    assert not revoke(token, now=now)
    assert not TokenSecret.objects.exists()


# --- whose token it is ---------------------------------------------------------------------------


def test_a_user_who_is_back_has_their_token_back(issued: Issued, now: datetime) -> None:
    token, secret = issued
    for active in (False, True):
        token.user.is_active = active
        token.user.save()
        assert refusal(secret, now) is (None if active else Invalid.INACTIVE)
        assert TokenSecret.objects.live(now).exists() is active
        assert Token.objects.live(now).exists() is active


def test_a_token_of_nobody_is_nothing(issued: Issued, now: datetime) -> None:
    token, secret = issued
    token.user.delete()
    assert refusal(secret, now) is Invalid.UNKNOWN
    assert not TokenSecret.objects.exists()


def test_service_accounts_have_tokens_and_no_password(
    django_user_model: Any, db: None, now: datetime
) -> None:
    service = django_user_model.objects.create_user("nightly")
    assert not service.has_usable_password()
    assert authenticate(username="nightly", password="") is None
    tokens = {name: issue(user=service, name=name, now=now) for name in ("sync", "report")}
    assert revoke(tokens["sync"][0], now=now)
    assert refusal(tokens["sync"][1], now) is Invalid.REVOKED
    assert verify(tokens["report"][1].reveal(), now=now).token.user == service


def test_nobody_is_let_in_for_a_token_that_is_not_sent(issued: Issued, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "WORKERS": 0}
    for text in ("", " "):
        assert MCPClient(text).request("tools/list").status == 401


# --- bad moments ---------------------------------------------------------------------------------


def test_a_moment_without_its_time_zone_is_refused_in_words(ana: Any, now: datetime) -> None:
    naive = (now + HOUR).replace(tzinfo=None)
    with pytest.raises(ValidationError, match="time zone") as refused:
        issue(user=ana, name="x", expires_at=naive, now=now)
    assert set(refused.value.message_dict) == {"expires_at"}
    assert not Token.objects.exists()
