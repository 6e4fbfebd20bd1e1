"""Streams that idle hold no database connection, and no thread (D-040)."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import live
from tests.servers import sites
from tests.servers.callers import LEGACY, Caller, until

pytestmark = pytest.mark.live

WORKERS = 2
AT_MOST = 3 * WORKERS + 1
"""Connections: of the threads for reading, for writing and for async tools, and the recorder's."""


@dataclass
class Served:
    """A running server and its database."""

    port: int
    token: str
    pid: int
    database: str
    kept: int
    """How many connections an idle process may keep."""

    def connections(self) -> dict[str, int]:
        """How many connections of the server are in which state."""
        import psycopg

        with closing(psycopg.connect(self.database, autocommit=True)) as connection:
            rows = connection.execute(
                "SELECT coalesce(state, ''), count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid() GROUP BY 1"
            ).fetchall()
        return dict(rows)

    def threads(self) -> int:
        """How many threads the server has."""
        return len(os.listdir(f"/proc/{self.pid}/task"))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a product on PostgreSQL, and the token that opens it."""
    folder = tmp_path_factory.mktemp("prepared")
    with live.scratch_database("postgresql") as database:
        limits = json.dumps({"WORKERS": WORKERS, "STREAM_LIMIT": 1000})
        environment = sites.environment_of(folder, database=database, SITE_MCP_APP=limits)
        yield environment | {"TOKEN": sites.prepare(environment)}


@pytest.fixture(
    params=[
        ("uvicorn", "asgi", 0),
        ("uvicorn", "view", 60),
        ("daphne", "asgi", 60),
        ("daphne", "view", 0),
    ],
    ids=lambda chosen: "-".join(map(str, chosen)),
)
def served(request: Any, prepared: dict[str, str], tmp_path: Path) -> Iterator[Served]:
    """Each server, each door and each CONN_MAX_AGE, in pairs."""
    server, door, age = request.param
    environment = prepared | {"SITE_DOOR": door, "SITE_CONN_MAX_AGE": str(age)}
    port = live.free_port()
    command = live.command(server, port, "tests.servers.site")
    with live.running(command, port, environment, tmp_path / "server.log") as process:
        database = prepared["EXAMPLE_DATABASE"]
        # The recorder closes its own when nothing has come for a while.
        kept = AT_MOST - WORKERS if age else 1
        yield Served(port, prepared["TOKEN"], process.pid, database, kept)


def test_idle_streams_hold_no_connection_and_no_thread(served: Served) -> None:
    modern = Caller(served.port, served.token)
    modern.call("read")
    with ExitStack() as stack:
        for _ in range(25):
            stack.callback(modern.listen().close)
        for _ in range(25):
            session = Caller(served.port, served.token, LEGACY).initialize()
            stack.callback(session.get().close)
        assert until(lambda: sum(served.connections().values()) <= served.kept)
        assert served.threads() <= AT_MOST + 3  # the loop's own, daphne's resolver, the bus

        for _ in range(20):
            stream = modern.open("tools/call", {"name": "report", "arguments": {}})
            stack.callback(stream.close)
            assert stream.event()["method"] == "notifications/progress"
        held = served.connections()
        assert sum(held.values()) <= AT_MOST
        assert set(held) <= {"idle", "active"}
        assert served.threads() <= AT_MOST + 3
        assert "result" in modern.call("read")
