"""A server that ends in the middle of a thousand calls: what was answered is recorded (D-080).

By `kill -9`, and by SIGTERM as a deployment ends one. Of a server on SQLite, and of one process
among several on PostgreSQL, which is started again.
"""

import contextlib
import http.client
import itertools
import json
import os
import secrets
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_app.testing import MCPClient
from tests import live
from tests.servers import sites
from tests.servers.callers import until
from tests.servers.lines import LiveClient
from tests.servers.product import LEGACY, MODERN

pytestmark = pytest.mark.live

CALLS = 1000
ANSWERED_BEFORE = 300
CALLERS = 6
PATIENCE = 60.0
"""Seconds."""
GRACE = 3.0
"""Seconds that a process has to end in."""


class Traffic:
    """Callers that go on until the server does not answer any more.

    Attributes:
        broken: how many of them were cut off.
    """

    def __init__(
        self,
        port: int,
        token: str,
        name: str = "call",
        tools: tuple[str, ...] = ("read", "write"),
        enough: int = ANSWERED_BEFORE,
    ) -> None:
        self._port, self._name, self._tools = port, name, tools
        self._client = MCPClient(token)
        self._numbers = itertools.count()
        self._enough, self._over = threading.Event(), threading.Event()
        self._least = enough
        self.broken = 0
        self.answered: dict[str, str] = {}
        """The request ids that were answered in whole, and their tools."""

    def run(self) -> None:
        """One caller's share."""
        connection = http.client.HTTPConnection(live.HOST, self._port, timeout=PATIENCE)
        try:
            while (number := next(self._numbers)) < CALLS and not self._over.is_set():
                tool = self._tools[number % len(self._tools)]
                self._call_once(connection, f"{self._name}-{number}", tool)
        except (OSError, http.client.HTTPException):
            self.broken += 1
        finally:
            connection.close()
            self._enough.set()

    def _call_once(
        self, connection: http.client.HTTPConnection, request_id: str, tool: str
    ) -> None:
        arguments = {} if tool == "read" else {"username": request_id}
        status, body = self.send(connection, request_id, tool, arguments)
        assert status == 200
        assert "result" in json.loads(body)
        self.answered[request_id] = tool
        if len(self.answered) >= self._least:
            self._enough.set()

    def send(
        self,
        connection: http.client.HTTPConnection,
        request_id: str,
        tool: str,
        arguments: dict[str, Any],
    ) -> tuple[int, bytes]:
        """One call, and what came back in whole."""
        params = self._client.params({"name": tool, "arguments": arguments})
        message = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Authorization": f"Bearer {self._client.token}",
            "MCP-Protocol-Version": self._client.version.name,
            **self._client.headers_for("tools/call", params),
        }
        connection.request("POST", "/mcp", json.dumps(message), headers)  # type: ignore[arg-type]
        response = connection.getresponse()
        return response.status, response.read()

    def hold(self) -> None:
        """A call that is running when the server dies."""
        connection = http.client.HTTPConnection(live.HOST, self._port, timeout=PATIENCE)
        with pytest.raises((OSError, http.client.HTTPException)):
            self.send(connection, "held", "hold", {})
        connection.close()

    def wait(self) -> None:
        """Until enough was answered to be in the middle of it."""
        assert self._enough.wait(PATIENCE)

    def end(self) -> None:
        """Begin no more calls."""
        self._over.set()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a database, and the token that opens it."""
    folder = tmp_path_factory.mktemp("prepared")
    return folder, sites.prepare(sites.environment_of(folder))


@pytest.fixture(params=["daphne", "uvicorn", "gunicorn"])
def server(
    request: pytest.FixtureRequest, prepared: tuple[Path, str], tmp_path: Path
) -> Iterator[tuple[subprocess.Popen[bytes], int, str, Path]]:
    """A live server on a database file of its own: its process, port, token and folder."""
    original, token = prepared
    folder = tmp_path / "state"
    shutil.copytree(original, folder)
    with sites.serving(sites.environment_of(folder), tmp_path, [request.param]) as (served,):
        yield served.process, served.port, token, folder


def serving(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes that answer: gunicorn's workers, or the server itself."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(child) for child in children] or [process.pid]


def await_file(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def killed(process: subprocess.Popen[bytes]) -> None:
    """At once, whatever it is doing."""
    for pid in serving(process):
        os.kill(pid, signal.SIGKILL)


def stopped(process: subprocess.Popen[bytes]) -> None:
    """Asked to, and killed where it has not ended by then."""
    workers = serving(process)
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    for pid in {*workers, process.pid} if process.poll() is None else workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("ended", [killed, stopped])
def test_every_answered_call_has_its_row(
    server: tuple[subprocess.Popen[bytes], int, str, Path],
    ended: Callable[[subprocess.Popen[bytes]], None],
) -> None:
    process, port, token, folder = server
    traffic = Traffic(port, token)
    with ThreadPoolExecutor(CALLERS + 1) as callers:
        held = callers.submit(traffic.hold)
        await_file(folder / "holding")
        runs = [callers.submit(traffic.run) for _ in range(CALLERS)]
        traffic.wait()
        ended(process)
        for run in (*runs, held):
            run.result(PATIENCE)

    (database,) = folder.glob("*.sqlite3")
    with sqlite3.connect(database) as connection:
        rows = dict(connection.execute("SELECT request_id, outcome FROM mcp_app_callevent"))
        written = {name for (name,) in connection.execute("SELECT username FROM auth_user")}
    connection.close()

    assert ANSWERED_BEFORE <= len(traffic.answered) < CALLS
    assert {rows.get(request_id) for request_id in traffic.answered} == {"ok"}
    # What was written, answered or not, is in the trail; and what was answered was written.
    assert written - {"root"} <= set(rows)
    writes = {request_id for request_id, tool in traffic.answered.items() if tool == "write"}
    assert writes <= written
    assert rows["held"] == "started"
    assert set(rows.values()) <= {"ok", "started"}


# --- one process among several -------------------------------------------------------------------

PROCESSES = 3
AGREED = {"action": "accept", "content": {}}


@dataclass(frozen=True)
class Crew:
    """The processes of one product, of which the first is to die, and their database."""

    served: list[sites.Served]
    environment: dict[str, str]
    token: str
    database: Any

    def client(self, version: str, at: int) -> LiveClient:
        """A client at one of them, its handshake done."""
        client = LiveClient(self.token, version=version, capabilities={"elicitation": {}})
        client.at(self.served[at].port)
        if version != MODERN:
            client.initialize()
        return client

    def rows(self) -> dict[str, tuple[str, float | None, int | None]]:
        """Of each call of the test's its outcome, duration and size; there is one of each."""
        found = self.database.execute(
            "SELECT request_id, outcome, duration_ms, result_bytes FROM mcp_app_callevent"
            " WHERE request_id ~ '^[a-z]'"
        ).fetchall()
        told = {request_id: tuple(rest) for request_id, *rest in found}
        assert len(told) == len(found)
        return told

    def users(self) -> set[str]:
        """Everybody's name."""
        return {name for (name,) in self.database.execute("SELECT username FROM auth_user")}


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    """Processes on PostgreSQL and Redis, where no tool writes that cannot be recorded."""
    import psycopg

    with live.scratch_database("postgresql") as database:
        environment = sites.shared(
            tmp_path,
            database=database,
            prefix=f"killed-{secrets.token_hex(4)}",
            SITE_MCP_APP=json.dumps({"AUDIT_REQUIRED": True}),
        )
        token = sites.prepare(environment)
        with (
            sites.serving(environment, tmp_path, ["uvicorn"] * PROCESSES) as served,
            psycopg.connect(database, autocommit=True) as connection,
        ):
            yield Crew(served, environment, token, connection)


def test_of_several_processes_the_others_go_on(crew: Crew, tmp_path: Path) -> None:
    dying, *living = [
        Traffic(one.port, crew.token, f"at-{number}", ("read", "write", "write_both"), enough=100)
        for number, one in enumerate(crew.served)
    ]
    asked = [crew.client(LEGACY, at) for at in (0, 1)]
    agreeing = [
        client.ask("tools/call", {"name": "write_if_agreed", "arguments": {"username": name}}, name)
        for client, name in zip(asked, ("lost", "kept"), strict=True)
    ]
    questions = [line.until(lambda told: "method" in told) for line in agreeing]
    with ThreadPoolExecutor(PROCESSES * 2 + 1) as callers:
        held = callers.submit(dying.hold)
        await_file(tmp_path / "holding")
        runs = [callers.submit(one.run) for one in (dying, *living) for _ in range(2)]
        dying.wait()
        os.kill(crew.served[0].process.pid, signal.SIGKILL)
        held.result(PATIENCE)
        before = [len(one.answered) for one in living]
        assert until(
            lambda: all(
                len(one.answered) > count + 20 for one, count in zip(living, before, strict=True)
            ),
            PATIENCE,
        )
        for one in living:
            one.end()
        for run in runs:
            run.result(PATIENCE)
    assert [one.broken for one in (dying, *living)] == [2, *[0] * len(living)]

    # Both sessions go on at a process that lives, and each call where it began.
    for client, question in zip(asked, questions, strict=True):
        client.at(crew.served[1].port)
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": AGREED}
        assert client.post(answer).status == 202
        assert client.call("read").status == 200
    with agreeing[0], agreeing[1] as line:
        assert line.until(lambda told: "result" in told)["result"]["content"][0]["text"] == "kept"

    check_rows(
        crew, {**dying.answered, **{k: v for one in living for k, v in one.answered.items()}}
    )
    rows, boss = crew.rows(), crew.client(MODERN, 1)
    assert (rows["held"], rows["lost"]) == (("started", None, None), ("waiting", None, None))
    assert rows["kept"][0] == "ok"
    assert "kept" in crew.users()
    assert "lost" not in crew.users()
    # Nobody claims to run what has died, so an administrator reads that it is lost.
    for name in ("held", "lost"):
        assert boss.call("whereabouts", {"request_id": name}).text == ""

    port, log = crew.served[0].port, tmp_path / "again.log"
    command = live.command("uvicorn", port, sites.MODULE)
    with live.running(command, port, crew.environment, log):
        asked[0].at(port)
        assert asked[0].call("write", {"username": "back"}).text == "back"
    assert "back" in crew.users()


def check_rows(crew: Crew, answered: dict[str, str]) -> None:
    """What was answered is recorded as it was, what was written is recorded, and nothing half."""
    rows, users = crew.rows(), crew.users()
    assert {rows[request_id][0] for request_id in answered} == {"ok"}
    for outcome, duration, size in rows.values():
        assert (duration is None) == (outcome in ("started", "waiting"))
        assert (size is None) == (outcome != "ok")
    halves = {name.rpartition("-")[0] for name in users if name.endswith(("-a", "-b"))}
    assert {f"{name}-{half}" for name in halves for half in "ab"} <= users
    written = {name for name in users if name.startswith("at-") and not name.endswith(("-a", "-b"))}
    assert written | halves <= set(rows)
    for request_id, tool in answered.items():
        assert tool == "read" or request_id in (halves if tool == "write_both" else written)
