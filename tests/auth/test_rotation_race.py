"""Two rotations at once: one wins, the other is told, on any database (D-073)."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import RotationRefusal, TokenRotationRefused, issue, rotate
from mcp_app.auth.verification import verify
from mcp_app.models import Token, TokenSecret


def race(token: Token, runners: int) -> list[Secret | TokenRotationRefused]:
    """Rotate from several threads that start together; what each got."""
    start = threading.Barrier(runners)
    seen = token.secrets.get().pk
    results: list[Secret | TokenRotationRefused] = []

    def run() -> None:
        start.wait()
        try:
            secret = rotate(token, grace=timedelta(minutes=1), expected_secret_id=seen)
            results.append(secret)
        except TokenRotationRefused as refused:
            results.append(refused)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(runners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.django_db(transaction=True)
def test_of_rotations_at_once_one_wins_and_the_others_are_told(django_user_model: Any) -> None:
    token, old = issue(user=django_user_model.objects.create_user("ana"), name="laptop")
    results = race(token, runners=4)
    winners = [result for result in results if isinstance(result, Secret)]
    losers = [result for result in results if isinstance(result, TokenRotationRefused)]
    assert len(winners) == 1
    assert [loser.reason for loser in losers] == [RotationRefusal.STALE] * 3
    assert TokenSecret.objects.count() == 2
    assert verify(winners[0].reveal()).token == token
    assert verify(old.reveal()).token == token
