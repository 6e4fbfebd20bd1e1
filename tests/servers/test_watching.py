"""The admin at one process shows and stops what runs in another, over Redis and PostgreSQL."""

import contextlib
import re
import secrets
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any

import pytest

from tests import live
from tests.servers import sites
from tests.servers.browsing import Browser, Socket, messages_on
from tests.servers.callers import until
from tests.servers.lines import LiveClient

pytestmark = pytest.mark.live

CALLS = "/admin/mcp_app/callevent/"
TAIL = f"{CALLS}tail/"
CONNECTED = "/admin/mcp_app/session/connected/"
LEGACY, MODERN = "2025-11-25", "2026-07-28"


@dataclass(frozen=True)
class Product:
    """Two processes, and a token."""

    ports: tuple[int, ...]
    processes: tuple[subprocess.Popen[bytes], ...]
    environment: dict[str, str]
    token: str

    def client(self) -> LiveClient:
        """A client at the first process."""
        return LiveClient(self.token, version=MODERN).at(self.ports[0])

    def asked(self) -> LiveClient:
        """An older client at the first process, whose user can be asked."""
        able = {"elicitation": {}}
        client = LiveClient(self.token, version=LEGACY, capabilities=able).at(self.ports[0])
        client.initialize()
        return client

    def browser(self) -> Browser:
        """An administrator at the second one."""
        return Browser(self.ports[1], "root", sites.PASSWORD)


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """The running processes."""
    folder = tmp_path_factory.mktemp("watching")
    with live.scratch_database("postgresql") as database:
        prefix = f"watching-{secrets.token_hex(4)}"
        environment = sites.shared(folder, database=database, prefix=prefix)
        token = sites.prepare(environment)
        with sites.serving(environment, folder, ["daphne"] * 2) as served:
            ports, processes = zip(*[(one.port, one.process) for one in served], strict=True)
            yield Product(ports, processes, environment, token)


@pytest.fixture
def browser(product: Product) -> Browser:
    return product.browser()


def row_of(socket: Socket, told: dict[str, Any], **wanted: Any) -> tuple[dict[str, Any], str]:
    """The next row that is so, and the cursor after it."""
    while True:
        for row in told["rows"]:
            if all(row[name] == value for name, value in wanted.items()):
                return row, told["cursor"]
        told = socket.news(told["cursor"])


def test_what_runs_in_one_process_shows_at_another_and_is_stopped_there(
    product: Product, browser: Browser
) -> None:
    with browser.socket(TAIL) as socket:
        told = socket.news()
        params = {"name": "wait", "_meta": {"progressToken": "p"}}
        with product.client().ask("tools/call", params, 1) as line:
            running, cursor = row_of(socket, told, call="wait", open=True)
            asked = browser.get(running["stop_url"])
            assert f":{product.processes[0].pid}" in asked
            page = browser.post(running["stop_url"])
            assert messages_on(page) == ["The call is stopped."]
            answer = line.until(lambda message: "result" in message)
        assert answer["result"]["content"][0]["text"] == "An administrator stopped the tool."
        told = socket.news(cursor, open=str(running["id"]))
        ended, _ = row_of(socket, told, id=running["id"])
        assert (ended["outcome"], ended["open"]) == ("Cancelled", False)
        assert "stopped by root" in browser.get(ended["url"])


def agreeing(name: str) -> dict[str, Any]:
    """What calls the tool that its user is asked about."""
    return {"name": "write_if_agreed", "arguments": {"username": name}}


def test_a_call_whose_user_is_asked_is_stopped_from_another_process(
    product: Product, browser: Browser
) -> None:
    with (
        browser.socket(TAIL) as socket,
        product.asked().ask("tools/call", agreeing("a"), 1) as line,
    ):
        line.until(lambda message: message.get("method") == "elicitation/create")
        waiting, cursor = row_of(socket, socket.news(), call="write_if_agreed", waits=True)
        assert waiting["outcome"] == "Waits for a yes"
        assert f":{product.processes[0].pid}" in browser.get(waiting["stop_url"])
        page = browser.post(waiting["stop_url"])
        assert messages_on(page) == ["The call is stopped."]
        answer = line.until(lambda message: "result" in message)
        assert answer["result"]["content"][0]["text"] == "An administrator stopped the tool."
        key = str(waiting["id"])
        row_of(socket, socket.news(cursor, open=key, waits=key), id=waiting["id"], open=False)
    assert "stopped by root" in browser.get(waiting["url"])


def test_a_call_whose_user_agrees_at_another_process_goes_on(
    product: Product, browser: Browser
) -> None:
    client, name = product.asked(), f"u-{secrets.token_hex(4)}"
    with browser.socket(TAIL) as socket, client.ask("tools/call", agreeing(name), 1) as line:
        asked = line.until(lambda message: message.get("method") == "elicitation/create")
        waiting, cursor = row_of(socket, socket.news(), call="write_if_agreed", waits=True)
        said = {"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {}}}
        assert client.at(product.ports[1]).post(said).status == 202
        answer = line.until(lambda message: "result" in message)
        assert answer["result"]["content"][0]["text"] == name
        key = str(waiting["id"])
        told = socket.news(cursor, open=key, waits=key)
        ended, _ = row_of(socket, told, id=waiting["id"], open=False)
    assert ended["outcome"] == "OK"


def test_a_connection_that_broke_misses_nothing(product: Product, browser: Browser) -> None:
    client = product.client()
    with browser.socket(TAIL) as socket:
        client.call("read")
        row, cursor = row_of(socket, socket.news(), call="read")
    have = {row["id"]}
    for _ in range(30):
        client.call("read")
    told: list[int] = []
    with browser.socket(TAIL) as socket:
        while len(told) < 30:
            found = socket.news(cursor, have=",".join(map(str, sorted(have))))
            cursor = found["cursor"]
            told += [row["id"] for row in found["rows"] if row["call"] == "read"]
            have |= {row["id"] for row in found["rows"]}
    assert len(told) == len(set(told)) == 30


def test_a_demoted_persons_socket_ends(product: Product) -> None:
    live.manage(product.environment, "shell", "--no-imports", "-c", _PERSON)
    eve = Browser(product.ports[1], "eve", sites.PASSWORD)
    with eve.socket(TAIL) as socket:
        socket.send(f"cursor={socket.news()['cursor']}")
        live.manage(product.environment, "shell", "--no-imports", "-c", _DEMOTION)
        assert until(lambda: socket.receive() == (8, 4403))
    with eve.socket(TAIL) as socket:
        assert socket.status == 403


def test_a_question_that_is_too_long_closes_the_socket_in_words(browser: Browser) -> None:
    with browser.socket(TAIL) as socket:
        socket.send("have=" + "1," * 5000)
        assert socket.receive() == (8, 4413)


def test_streams_of_one_process_are_seen_and_closed_at_another(
    product: Product, browser: Browser
) -> None:
    session = LiveClient(product.token, version="2025-11-25").at(product.ports[0])
    session.initialize()
    wanted = {"notifications": {"toolsListChanged": True}}
    with (
        product.client().ask("subscriptions/listen", wanted, 1) as listening,
        session.open(None, accept="text/event-stream") as own,
    ):
        listening.until(lambda message: "method" in message)
        page = browser.get(CONNECTED)
        for process in product.processes:
            assert f":{process.pid}</code>" in page
        closing = re.findall(r'href="([^"]*connected/end[^"]*)"', page)
        assert len(closing) == 2
        for address in closing:
            told = browser.post(unescape(address))
            assert messages_on(told) == ["The stream is ended."]
        assert [message["id"] for message in listening.messages()] == [1]
        assert list(own.messages()) == []
    ending = re.findall(r'href="([^"]*/[0-9]+/end/)"', browser.get(CONNECTED))
    assert messages_on(browser.post(ending[0])) == ["The session is ended."]
    assert session.call("read").status == 404


_PERSON = f"""
from django.contrib.auth.models import Permission, User
eve = User.objects.create_user("eve", password={sites.PASSWORD!r}, is_staff=True)
eve.user_permissions.add(Permission.objects.get(codename="tail_callevent"))
"""
_DEMOTION = """
from django.contrib.auth.models import User
User.objects.get(username="eve").user_permissions.clear()
"""


def test_a_call_whose_process_was_killed_is_said_to_run_nowhere(
    product: Product, browser: Browser
) -> None:
    """Last: the process is gone afterwards."""
    wait = {"name": "wait", "_meta": {"progressToken": "p"}}
    with (
        browser.socket(TAIL) as socket,
        contextlib.suppress(OSError),
        product.client().ask("tools/call", wait, 1),
        product.asked().ask("tools/call", agreeing("killed"), 1) as line,
    ):
        line.until(lambda message: message.get("method") == "elicitation/create")
        running, _ = row_of(socket, socket.news(), call="wait", open=True)
        waiting, _ = row_of(socket, socket.news(), call="write_if_agreed", waits=True)
        product.processes[0].send_signal(signal.SIGKILL)
        product.processes[0].wait()
    for row in (running, waiting):
        page = browser.post(row["stop_url"])
        assert "no process says that it runs this call" in page
        assert messages_on(page) == []
    # Nobody writes in the name of a process that is gone: a row says what it was when it died.
    assert "It has begun, and no end is recorded" in browser.get(running["url"])
    assert "Nothing has run." in browser.get(waiting["url"])
