"""The call log attacked: its database away or cut off, arguments that spoil rows (D-080, D-081).

On PostgreSQL, with a database of its own for calls, under ASGI (our door) and WSGI (the view).
"""

import contextlib
import itertools
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_app.testing import Answer
from tests import live
from tests.servers import sites
from tests.servers.lines import LiveClient
from tests.servers.product import LEGACY, MODERN

pytestmark = pytest.mark.live

SERVERS = ["uvicorn", "gunicorn"]
WRITES, READS = ("write", "awrite", "write_in_steps"), ("measure", "ameasure")
CALLERS, CUTS, CALLS_BETWEEN = 4, 8, 12


@dataclass(frozen=True)
class Site:
    """Two servers on one product whose calls have a database of their own."""

    ports: dict[str, int]
    token: str
    calls: Any
    """A connection to the server that is to none of the two databases."""
    main_name: str
    calls_name: str

    def client(self, server: str, version: str = MODERN) -> LiveClient:
        """A client of one of the servers."""
        return LiveClient(self.token, version=version).at(self.ports[server])

    @contextlib.contextmanager
    def calls_are_away(self) -> Iterator[None]:
        """The database of calls takes no connection, and ends those that it has."""
        self._admit(False)
        try:
            self.cut()
            yield
        finally:
            self._admit(True)

    def cut(self) -> None:
        """End all connections to the database of calls."""
        self.calls.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
            [self.calls_name],
        )

    def _admit(self, admits: bool) -> None:
        self.calls.execute(f'ALTER DATABASE "{self.calls_name}" ALLOW_CONNECTIONS {admits}')

    def rows(self) -> dict[str, str]:
        """The outcome of each call by its request id."""
        return dict(self._ask(self.calls_name, "SELECT request_id, outcome FROM mcp_app_callevent"))

    def longest(self) -> int:
        """The most bytes that the arguments of a call take."""
        found = self._ask(
            self.calls_name, "SELECT max(length(arguments::text)) FROM mcp_app_callevent"
        )
        return int(found[0][0])

    def users(self) -> set[str]:
        """Everybody's name."""
        return {name for (name,) in self._ask(self.main_name, "SELECT username FROM auth_user")}

    def _ask(self, database: str, query: str) -> list[Any]:
        import psycopg

        with psycopg.connect(**live.POSTGRESQL, dbname=database) as connection:
            return connection.execute(query.encode()).fetchall()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The running servers."""
    import psycopg

    folder = tmp_path_factory.mktemp("audit")
    with contextlib.ExitStack() as stack:
        main = stack.enter_context(live.scratch_database("postgresql"))
        calls = stack.enter_context(live.scratch_database("postgresql")).rpartition("/")[2]
        required = '{"AUDIT_REQUIRED": true}'
        environment = sites.environment_of(
            folder, database=main, SITE_CALLS=calls, SITE_MCP_APP=required
        )
        token = sites.prepare(environment, "default", "calls")
        served = stack.enter_context(sites.serving(environment, folder, SERVERS))
        ports = {server: one.port for server, one in zip(SERVERS, served, strict=True)}
        connection = psycopg.connect(**live.POSTGRESQL, dbname="postgres", autocommit=True)
        stack.enter_context(connection)
        yield Site(ports, token, connection, main.rpartition("/")[2], calls)


def withheld(answer: Answer) -> bool:
    """Whether the call was not run, since it could not be recorded first."""
    told = answer.error["message"]
    return answer.status == 500 and told.startswith("The call was not run")


@pytest.mark.parametrize("version", [MODERN, LEGACY])
@pytest.mark.parametrize("server", SERVERS)
def test_nothing_is_written_that_cannot_be_recorded_and_what_reads_is_answered(
    site: Site, server: str, version: str
) -> None:
    client, name = site.client(server, version), secrets.token_hex(4)
    with site.calls_are_away():
        for tool in WRITES:
            assert withheld(client.call(tool, {"username": f"{name} {tool}"}))
        for tool in READS:
            assert client.call(tool, {"text": "four"}).text == "4"
        assert not [user for user in site.users() if user.startswith(name)]
    for tool in (*WRITES, *READS):
        arguments = {"username": f"{name} {tool}"} if tool in WRITES else {"text": "four"}
        answer = client.call(tool, arguments, request_id=f"{name} {tool}")
        assert not answer.result.get("isError")
        assert site.rows()[f"{name} {tool}"] == "ok"


@pytest.mark.parametrize("server", SERVERS)
def test_what_was_answered_is_recorded_though_connections_are_cut_all_the_time(
    site: Site, server: str
) -> None:
    prefix, numbers = secrets.token_hex(4), itertools.count()
    answered: dict[str, str] = {}
    refused: list[str] = []
    enough = threading.Semaphore(0)
    over = threading.Event()

    def run() -> None:
        client = site.client(server)
        while not over.is_set():
            tool = (*WRITES, *READS)[(number := next(numbers)) % 5]
            key = f"{prefix} {number} {tool}"
            arguments = {"username": key} if tool in WRITES else {"text": "four"}
            answer = client.call(tool, arguments, request_id=key)
            if "result" in answer.response:
                answered[key] = tool
            else:
                assert withheld(answer)
                refused.append(key)
            enough.release()

    threads = [threading.Thread(target=run) for _ in range(CALLERS)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(CUTS):
            for _ in range(CALLS_BETWEEN):
                assert enough.acquire(timeout=20)
            site.cut()
    finally:
        over.set()
        for thread in threads:
            thread.join()
    rows, users = site.rows(), site.users()
    assert len(answered) > CUTS * CALLS_BETWEEN / 2
    assert {rows.get(key) for key in answered} == {"ok"}
    assert {key for key, tool in answered.items() if tool in WRITES} <= users
    assert not users & set(refused)


HOSTILE = {
    "nul": "a\0b",
    "surrogate": "\ud800",
    "large": "x" * 9_900_000,
    "large beyond ASCII": "🤖" * 800_000,
    "escapes": "\x1b[2J\r\n\u202e",
}


@pytest.mark.parametrize("server", SERVERS)
def test_no_argument_loses_its_row(site: Site, server: str) -> None:
    client, prefix = site.client(server), secrets.token_hex(4)
    sent = set()
    for (kind, text), tool in itertools.product(HOSTILE.items(), (*READS, "write")):
        key = f"{prefix} {kind} {tool}"
        arguments = {"text" if tool in READS else "username": text, "more\0": "b\0"}
        answer = client.call(tool, arguments, request_id=key)
        assert answer.result["isError"]
        if tool in READS:
            del arguments["more\0"]
            answer = client.call(tool, arguments, request_id=f"{key} alone")
            assert kind == "surrogate" or answer.text == str(len(text))
            sent.add(f"{key} alone")
        sent.add(key)
    rows = site.rows()
    assert sent <= set(rows)
    assert {rows[key] for key in sent} <= {"ok", "invalid"}
    assert site.longest() < 100_000
