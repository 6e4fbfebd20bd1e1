"""Four server processes on PostgreSQL and Redis are one server (D-030, D-048, D-104).

Each listens on a port of its own, so that a test says which of them it talks to.
"""

import itertools
import secrets
from typing import Any

import pytest

from tests import live
from tests.servers.product import LEGACY, MODERN, Product

pytestmark = pytest.mark.live

ADA: dict[str, Any] = {"action": "accept", "content": {"name": "Ada"}}


def method_is(method: str) -> Any:
    """Whether a message has that method."""
    return lambda message: message.get("method") == method


def test_a_session_of_one_process_is_served_by_all(product: Product, token: str) -> None:
    client = product.client(LEGACY, token)
    ports = itertools.cycle(product.ports)
    assert {client.at(next(ports)).call("read").status for _ in range(50)} == {200}


@pytest.mark.parametrize("more", ["", "\ud800", 2**64], ids=["plain", "surrogate", "long integer"])
def test_an_answer_posted_to_one_process_reaches_the_call_at_another(
    product: Product, token: str, more: Any
) -> None:
    content = {**ADA["content"], "more": more}
    client = product.client(LEGACY, token)
    with client.ask("tools/call", {"name": "greet"}, 1) as line:
        asked = line.until(method_is("elicitation/create"))
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {**ADA, "content": content}}
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
    stranger = product.client(LEGACY, product.token()).at(product.ports[1])
    with stranger.open(None, last_event_id=line.event_id) as refused:
        assert refused.status == 400
    with client.at(product.ports[3]).open(None, last_event_id=line.event_id) as resumed:
        client.at(product.ports[0]).call("go_on", {"name": name})
        reported, last = resumed.messages()
    assert reported["params"]["progress"] == 2
    assert last["result"]["content"][0]["text"] == "parted"


def test_a_subscription_at_one_process_hears_of_what_another_changed(product: Product) -> None:
    client = product.client(MODERN, product.token())
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
