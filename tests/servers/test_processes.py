"""Four server processes on PostgreSQL and Redis are one server (D-030, D-036, D-048, D-071, D-104).

Each listens on a port of its own, so that a test says which of them it talks to.
"""

import contextlib
import itertools
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests import live
from tests.servers.lines import LiveClient

pytestmark = pytest.mark.live

PROCESSES = 4
ABLE = {"elicitation": {}}
ADA = {"action": "accept", "content": {"name": "Ada"}}
LEGACY, MODERN = "2025-11-25", "2026-07-28"


@dataclass(frozen=True)
class Product:
    """The processes' ports, and how to issue and revoke tokens beside them."""

    ports: list[int]
    environment: dict[str, str]

    def token(self, user: str = "root") -> str:
        """A new token."""
        name = f"t-{secrets.token_hex(4)}"
        arguments = ("mcp_token", "create", user, "--name", name, "--plain")
        return live.manage(self.environment, *arguments).strip()

    def client(self, version: str, token: str) -> LiveClient:
        """A client at the first process, its handshake done."""
        client = LiveClient(token, version=version, capabilities=ABLE).at(self.ports[0])
        if version != MODERN:
            client.initialize()
        return client


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """The running processes."""
    folder = tmp_path_factory.mktemp("processes")
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(live.scratch_database("postgresql"))
        environment = live.environment(
            folder,
            "tests.servers.site.settings",
            DJANGO_SUPERUSER_PASSWORD="unused",
            SECRET_KEY="of this test alone",
            EXAMPLE_DATABASE=database,
            SITE_PREFIX=f"site-{secrets.token_hex(4)}",
        )
        environment.setdefault("REDIS_URL", live.REDIS)
        live.manage(environment, "migrate", "-v", "0")
        for user in ("root", "bea"):
            people = ("createsuperuser", "--no-input", f"--username={user}", "--email=r@e.org")
            live.manage(environment, *people)
        ports = [live.free_port() for _ in range(PROCESSES)]
        for port in ports:
            command = live.command("uvicorn", port, "tests.servers.site")
            log = folder / f"{port}.log"
            stack.enter_context(live.running(command, port, environment, log))
        yield Product(ports, environment)


@pytest.fixture(scope="module")
def token(product: Product) -> str:
    """A token that nobody revokes."""
    return product.token()


def method_is(method: str) -> Any:
    """Whether a message has that method."""
    return lambda message: message.get("method") == method


def lookup_of(client: LiveClient) -> str:
    """The public part of a client's token."""
    return client.token.split("_")[1]


def test_a_session_of_one_process_is_served_by_all(product: Product, token: str) -> None:
    client = product.client(LEGACY, token)
    ports = itertools.cycle(product.ports)
    assert {client.at(next(ports)).call("read").status for _ in range(50)} == {200}


def test_an_answer_posted_to_one_process_reaches_the_call_at_another(
    product: Product, token: str
) -> None:
    client = product.client(LEGACY, token)
    with client.ask("tools/call", {"name": "greet"}, 1) as line:
        asked = line.until(method_is("elicitation/create"))
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": ADA}
        assert client.at(product.ports[1]).post(answer).status == 202
        (told,) = line.messages()
    assert told["result"]["content"][0]["text"] == "Hello Ada"


def test_a_question_of_one_process_is_answered_to_another_once(
    product: Product, token: str
) -> None:
    client = product.client(MODERN, token)
    asked = client.call("greet").result
    again = {"requestState": asked["requestState"], "inputResponses": {"name": ADA}}
    params = {"name": "greet", "arguments": {}, **again}
    assert client.at(product.ports[1]).request("tools/call", params).text == "Hello Ada"
    assert client.at(product.ports[2]).request("tools/call", params).error["code"] == -32602


def test_a_cancellation_at_another_process_stops_its_own_sessions_call_alone(
    product: Product, token: str
) -> None:
    mine, other = (product.client(LEGACY, token) for _ in range(2))
    params = {"name": "wait", "_meta": {"progressToken": "p"}}
    with (
        mine.ask("tools/call", params, 1) as stopped,
        other.ask("tools/call", params, 1) as going,
    ):
        for line in (stopped, going):
            line.until(method_is("notifications/progress"))
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        mine.at(product.ports[2]).post(cancelled | {"params": {"requestId": 1}})
        assert list(stopped.messages()) == []
        other.at(product.ports[3]).post(cancelled | {"params": {"requestId": "1"}})
        assert other.call("read").status == 200
        assert not going.ends_within(0.5)
        other.post(cancelled | {"params": {"requestId": 1}})
        assert list(going.messages()) == []


def test_a_stream_goes_on_at_another_process_and_for_its_own_session_only(
    product: Product, token: str
) -> None:
    client = product.client(LEGACY, token)
    name = secrets.token_hex(4)
    params = {"name": "part", "arguments": {"name": name}, "_meta": {"progressToken": "p"}}
    with client.ask("tools/call", params, 1) as line:
        assert [message["params"]["progress"] for message in line.messages()] == [1]
    stranger = product.client(LEGACY, product.token("bea")).at(product.ports[1])
    with stranger.open(None, last_event_id=line.event_id) as refused:
        assert refused.status == 400
    with client.at(product.ports[3]).open(None, last_event_id=line.event_id) as resumed:
        client.at(product.ports[0]).call("go_on", {"name": name})
        reported, last = resumed.messages()
    assert reported["params"]["progress"] == 2
    assert last["result"]["content"][0]["text"] == "parted"


def test_a_subscription_at_one_process_hears_of_what_another_changed(product: Product) -> None:
    client = product.client(MODERN, product.token("bea"))
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["notes://a", "notes://c"]}
    with client.ask("subscriptions/listen", {"notifications": wanted}, "s") as line:
        line.until(method_is("notifications/subscriptions/acknowledged"))
        client.at(product.ports[1]).call("touch", {"name": "b"})
        client.call("touch", {"name": "a"})
        updated = line.until(lambda message: "method" in message)
        assert updated["method"] == "notifications/resources/updated"
        assert updated["params"]["uri"] == "notes://a"
        client.at(product.ports[2]).call("promote", {"staff": False})
        line.until(method_is("notifications/tools/list_changed"))
        # A command that ends at once is heard, too.
        told = "from mcp_app.notify import resource_updated; resource_updated('notes://c')"
        live.manage(product.environment, "shell", "-c", told)
        assert line.until(lambda message: "method" in message)["params"]["uri"] == "notes://c"


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_a_revoked_token_is_refused_everywhere_at_once_and_its_streams_end(
    product: Product, version: str
) -> None:
    client = product.client(version, product.token())
    wanted = {"notifications": {"toolsListChanged": True}}
    is_modern = version == MODERN
    opened = client.ask("subscriptions/listen", wanted, 1) if is_modern else client.open(None)
    with opened as line:
        assert line.status == 200
        live.manage(product.environment, "mcp_token", "revoke", lookup_of(client))
        statuses = {client.at(port).request("tools/list").status for port in product.ports}
        assert statuses == {401}
        list(line.messages())


def test_a_rotation_keeps_the_session_everywhere(product: Product) -> None:
    client = product.client(LEGACY, product.token())
    rotation = ("mcp_token", "rotate", lookup_of(client), "--plain")
    client.token = live.manage(product.environment, *rotation).strip()
    assert {client.at(port).call("read").status for port in product.ports} == {200}
    thief = LiveClient(product.token("bea"), version=LEGACY).at(product.ports[0])
    thief.session_id = client.session_id
    assert thief.call("read").status == 404


def test_a_switch_is_obeyed_by_the_next_request_everywhere_and_streams_hear_of_it(
    product: Product, token: str
) -> None:
    client = product.client(MODERN, token)
    of_it = ("read", "--server", "killed")
    wanted = {"notifications": {"toolsListChanged": True}}
    with client.ask("subscriptions/listen", wanted, "s") as line:
        line.until(method_is("notifications/subscriptions/acknowledged"))
        live.manage(product.environment, "mcp_switch", "off", *of_it, "--reason", "Broken.")
        told = {client.at(port).call("read").error["message"] for port in product.ports}
        assert told == {"This tool is switched off: Broken."}
        line.until(method_is("notifications/tools/list_changed"))
        for port in product.ports:
            assert "read" not in [tool["name"] for tool in client.at(port).tools()]
        live.manage(product.environment, "mcp_switch", "on", *of_it)
        assert not any(client.at(port).call("read").is_error for port in product.ports)
        line.until(method_is("notifications/tools/list_changed"))
