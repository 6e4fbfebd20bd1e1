"""The last use of a secret: one write an interval, and no call waits or fails for it (D-075)."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import issue
from mcp_app.auth.verification import verify
from mcp_app.models import CallEvent, Token, TokenSecret
from mcp_app.testing import MCPClient
from tests.interaction.tools import server

pytestmark = pytest.mark.django_db(transaction=True)

RUNNERS = 16
PATIENCE = 30

Issued = tuple[Token, Secret]


def together(*works: Callable[[], Any]) -> list[Any]:
    """Run each on a thread with a connection of its own, from one start; what came of each."""
    start, results = threading.Barrier(len(works)), []

    def run(work: Callable[[], Any]) -> None:
        try:
            connection.ensure_connection()
            start.wait(PATIENCE)
            results.append(work())
        except BaseException as error:
            results.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(results) == len(works)
    return results


class Writes:
    """Counts the rows that statements about secrets changed."""

    def __init__(self) -> None:
        self.rows = 0
        self._lock = threading.Lock()

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if sql.startswith("UPDATE"):
            assert "mcp_app_tokensecret" in sql
            with self._lock:
                self.rows += context["cursor"].rowcount
        return result


@pytest.mark.parametrize("used_before", [False, True])
def test_of_many_requests_at_once_one_writes(
    issued: Issued, now: datetime, settings: Any, used_before: bool
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "LAST_USED_INTERVAL": 60}
    token, secret = issued
    if used_before:
        token.secrets.update(last_used_at=now - timedelta(seconds=60))
    text, writes = secret.reveal(), Writes()

    def call(number: int) -> Callable[[], Any]:
        at = now + timedelta(microseconds=number)

        def work() -> Any:
            with connection.execute_wrapper(writes):
                return [verify(text, now=at, address=f"192.0.2.{number}") for _ in range(5)]

        return work

    results = together(*map(call, range(RUNNERS)))
    assert [len(result) for result in results] == [5] * RUNNERS
    assert writes.rows == 1
    row = token.secrets.get()
    number = row.last_used_at.microsecond
    assert row.last_used_ip == f"192.0.2.{number}"


def test_each_secret_has_an_interval_of_its_own(ana: Any, now: datetime) -> None:
    both = [issue(user=ana, name=name, now=now) for name in ("one", "two")]
    writes = Writes()
    with connection.execute_wrapper(writes):
        for _ in range(3):
            for _token, secret in both:
                verify(secret.reveal(), now=now)
    assert writes.rows == 2
    assert list(TokenSecret.objects.values_list("last_used_at", flat=True)) == [now, now]


@contextmanager
def held_row(token: Token) -> Iterator[None]:
    """Another transaction holds the secret's row, as a rotation does, until the block ends."""
    held, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            list(TokenSecret.objects.select_for_update().filter(token=token))
            held.set()
            let_go.wait(PATIENCE)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(PATIENCE)
    try:
        yield
    finally:
        let_go.set()
        thread.join(PATIENCE)


def test_a_row_that_somebody_holds_is_not_waited_for(
    issued: Issued, now: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite locks the whole database")
    token, secret = issued
    with connection.cursor() as cursor:
        # A request that waits fails instead of hanging.
        cursor.execute("SET lock_timeout = '2s'")
    try:
        with held_row(token):
            assert verify(secret.reveal(), now=now).token == token
        assert caplog.records == []
        assert TokenSecret.objects.get().last_used_at is None
        verify(secret.reveal(), now=now)
        assert TokenSecret.objects.get().last_used_at == now
    finally:
        connection.close()


@contextmanager
def locked() -> Iterator[None]:
    """Somebody else writes to the SQLite database all the while, and nobody waits for them."""
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 0")
    try:
        yield
    finally:
        other.rollback()
        other.close()
        connection.close()


@contextmanager
def read_only() -> Iterator[None]:
    """This connection's database refuses whatever writes."""
    refuse = {
        "sqlite": "PRAGMA query_only = ON",
        "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    }
    with connection.cursor() as cursor:
        cursor.execute(refuse[connection.vendor])
    try:
        yield
    finally:
        connection.close()


@pytest.mark.parametrize("trouble", [locked, read_only])
@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a transaction"])
def test_a_write_that_fails_fails_nothing(
    trouble: Any, inside: bool, issued: Issued, now: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    if connection.vendor == "sqlite" and inside:
        pytest.skip("here a transaction is refused at its beginning, before there is a request")
    if connection.vendor == "postgresql" and trouble is locked:
        pytest.skip("it locks rows, and no database")
    token, secret = issued
    with trouble():
        if inside:
            with transaction.atomic():
                assert verify(secret.reveal(), now=now).token == token
                assert Token.objects.filter(pk=token.pk).exists()
        else:
            assert verify(secret.reveal(), now=now).token == token
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert secret.reveal()[17:] not in caplog.text
    # What was not written is written by the next request.
    verify(secret.reveal(), now=now)
    assert TokenSecret.objects.get().last_used_at == now


def test_a_database_that_stays_read_only_is_logged_once_and_not_at_each_call(
    issued: Issued, now: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    _, secret = issued
    with read_only():
        for _ in range(5):
            verify(secret.reveal(), now=now)
    assert [record.getMessage() for record in caplog.records] == [
        f"Secret {TokenSecret.objects.get()}: last use not written."
    ]


def test_a_connection_that_was_closed_is_a_warning_too(
    issued: Issued, now: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    token, secret = issued
    found = TokenSecret.objects.select_related("token__user").get()
    connection.ensure_connection()
    connection.connection.close()  # as a server does that restarts
    try:
        assert verify(secret.reveal(), now=now, known=found).token == token
    finally:
        connection.close()
    assert "last use not written" in caplog.text


def test_calls_of_one_token_from_many_threads_are_all_answered_and_one_is_written_down(
    issued: Issued, settings: Any
) -> None:
    settings.ROOT_URLCONF = "tests.interaction.urls"
    settings.MCP_APP = {**settings.MCP_APP, "LAST_USED_INTERVAL": 3600}
    token, secret = issued
    text, writes = secret.reveal(), Writes()

    def work() -> Any:
        client = MCPClient(text, server=server)
        with connection.execute_wrapper(writes):
            return [client.call("add", {"a": 1}).status for _ in range(16)]

    results = together(*[work] * 2 * RUNNERS)
    assert results == [[200] * 16] * 2 * RUNNERS
    assert writes.rows == 1
    assert TokenSecret.objects.get().last_used_at is not None
    calls = CallEvent.objects.filter(token=token, outcome="ok").count()
    assert calls == 16 * 2 * RUNNERS > 500
