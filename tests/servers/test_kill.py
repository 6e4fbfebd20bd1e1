"""`kill -9` in the middle of a thousand calls: what was answered is recorded (D-080)."""

import http.client
import itertools
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mcp_app.testing import MCPClient
from tests import live
from tests.servers import sites

pytestmark = pytest.mark.live

CALLS = 1000
ANSWERED_BEFORE = 300
CALLERS = 6
PATIENCE = 60.0
"""Seconds."""


class Traffic:
    """Callers that go on until the server does not answer any more."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._client = MCPClient(token)
        self._numbers = itertools.count()
        self._enough = threading.Event()
        self.answered: dict[str, str] = {}
        """The request ids that were answered in whole, and their tools."""

    def run(self) -> None:
        """One caller's share."""
        connection = http.client.HTTPConnection(live.HOST, self._port, timeout=PATIENCE)
        try:
            while (number := next(self._numbers)) < CALLS:
                self._call_once(connection, f"call-{number}", ("read", "write")[number % 2])
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
            self._enough.set()

    def _call_once(
        self, connection: http.client.HTTPConnection, request_id: str, tool: str
    ) -> None:
        arguments = {"username": request_id} if tool == "write" else {}
        status, body = self.send(connection, request_id, tool, arguments)
        assert status == 200
        assert "result" in json.loads(body)
        self.answered[request_id] = tool
        if len(self.answered) >= ANSWERED_BEFORE:
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


def test_every_answered_call_has_its_row(
    server: tuple[subprocess.Popen[bytes], int, str, Path],
) -> None:
    process, port, token, folder = server
    traffic = Traffic(port, token)
    with ThreadPoolExecutor(CALLERS + 1) as callers:
        held = callers.submit(traffic.hold)
        await_file(folder / "holding")
        runs = [callers.submit(traffic.run) for _ in range(CALLERS)]
        traffic.wait()
        for pid in serving(process):
            os.kill(pid, signal.SIGKILL)
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
