"""Two callers who change one row at once: what each has set is there afterwards."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from rest_framework.permissions import AllowAny

from mcp_app import MCPServer
from mcp_app.integrations import ModelTools
from mcp_app.testing import Answer, MCPClient
from project.quiz.models import Player
from tests.integrations.players import client_of, player

PATIENCE = 10.0
FIELDS = ["id", "nickname", "country", "is_host"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("players_mounted"),
    # SQLite has one writer at a time, and refuses the second one of two that have read.
    pytest.mark.skipif(connection.vendor != "postgresql", reason="locks rows on PostgreSQL"),
]


class Held(ModelTools):
    """Keeps the first who changes or deletes a row from going on."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()
        super().__init__(*args, **options)

    def _wait(self) -> None:
        if not self.reached.is_set():
            self.reached.set()
            assert self.go_on.wait(PATIENCE)

    def save(self, ctx: Any, row: Any) -> None:
        self._wait()
        super().save(ctx, row)

    def delete(self, ctx: Any, row: Any) -> None:
        self._wait()
        super().delete(ctx, row)


@pytest.fixture
def race() -> Iterator[Callable[..., list[Answer]]]:
    """Make two calls, the second while the first has its row and has not written it."""
    server, bob = MCPServer("of one test"), player("Bob", country="JP")
    tools = Held(
        Player,
        tools=["update", "delete"],
        fields=FIELDS,
        writable=FIELDS[1:],
        permission_classes=[AllowAny],
        server=server,
    )
    assert not server.problems, server.problems
    token = client_of().token

    def call(name: str, arguments: dict[str, Any]) -> Answer:
        try:
            client = MCPClient(token, version="2026-07-28", door="asgi", server=server)
            return client.call(name, {"id": bob.pk} | arguments)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:

        def run(
            first: tuple[str, dict[str, Any]], second: tuple[str, dict[str, Any]]
        ) -> list[Answer]:
            one = threads.submit(call, *first)
            assert tools.reached.wait(PATIENCE)
            other = threads.submit(call, *second)
            try:
                until_it_waits(other)
            finally:
                tools.go_on.set()
            return [one.result(PATIENCE), other.result(PATIENCE)]

        yield run


def until_it_waits(call: "Future[Answer]") -> None:
    """Return once a session of this database waits for a lock, or the call does not wait at all."""
    asked = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with connection.cursor() as cursor:
        while not call.done():
            cursor.execute(asked)
            if cursor.fetchone()[0]:
                return


def test_each_of_two_changes_stays(race: Any) -> None:
    answers = race(
        ("player_update", {"nickname": "Ada"}),
        ("player_update", {"country": "NO"}),
    )
    assert not any(answer.is_error for answer in answers)
    row = Player.objects.get()
    assert (row.nickname, row.country) == ("Ada", "NO")
    # Who came second has seen what the first has written.
    assert answers[1].structured["nickname"] == "Ada"


def test_of_one_column_the_later_change_stays(race: Any) -> None:
    answers = race(
        ("player_update", {"nickname": "Ada"}),
        ("player_update", {"nickname": "Eve"}),
    )
    assert [answer.structured["nickname"] for answer in answers] == ["Ada", "Eve"]
    assert Player.objects.get().nickname == "Eve"


def test_a_row_that_is_deleted_meanwhile_is_not_made_again(race: Any) -> None:
    deleted, changed = race(("player_delete", {}), ("player_update", {"nickname": "Ada"}))
    assert deleted.text == "Deleted."
    assert changed.is_error
    assert "no player" in changed.text.lower() or "not found" in changed.text.lower()
    assert not Player.objects.exists()


def test_a_row_that_changes_meanwhile_is_deleted_all_the_same(race: Any) -> None:
    changed, deleted = race(("player_update", {"nickname": "Ada"}), ("player_delete", {}))
    assert not changed.is_error
    assert deleted.text == "Deleted."
    assert not Player.objects.exists()
