"""What one process ends, the very next request and the open streams of another one hear of.

D-035, D-036, D-071, D-073, with process A and process B: the boss acts at A, the caller is at B.
"""

import contextlib
import http.client
import time
from collections.abc import Iterator

import pytest

from mcp_app.testing import Answer
from tests import live
from tests.servers.lines import PATIENCE, Line, LiveClient
from tests.servers.product import LEGACY, MODERN, Product

pytestmark = pytest.mark.live

A, B, C = 0, 1, 2
WAIT = {"name": "wait", "_meta": {"progressToken": "p"}}
NOTICES = {"notifications": {"toolsListChanged": True}}


class KeptClient(LiveClient):
    """A client that stays on one connection."""

    connection: http.client.HTTPConnection

    @classmethod
    @contextlib.contextmanager
    def on(cls, product: Product, token: str) -> Iterator["KeptClient"]:
        """One that has called already, at B."""
        client = cls(token, version=MODERN)
        client.connection = http.client.HTTPConnection(
            live.HOST, product.ports[B], timeout=PATIENCE
        )
        with contextlib.closing(client.connection):
            assert client.call("read").status == 200
            yield client

    def _through_door(self, method: str, body: bytes, headers: dict[str, str]) -> Answer:
        socket = self.connection.sock
        self.connection.request(method, self.path, body, headers)
        assert socket is None or self.connection.sock is socket, "the server hung up before"
        response = self.connection.getresponse()
        received = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, received, response.read())


def told(line: Line, method: str) -> Line:
    """The line, once it has said that."""
    line.until(lambda message: message.get("method") == method)
    return line


@contextlib.contextmanager
def open_lines(modern: LiveClient, legacy: LiveClient) -> Iterator[list[Line]]:
    """A subscription, a session's own stream, and a running call of each era."""
    with (
        modern.ask("subscriptions/listen", NOTICES, "s") as subscription,
        legacy.open(None) as own,
        modern.ask("tools/call", WAIT, 1) as running,
        legacy.ask("tools/call", WAIT, 2) as running_in_session,
    ):
        assert own.status == 200
        told(subscription, "notifications/subscriptions/acknowledged")
        for line in (running, running_in_session):
            told(line, "notifications/progress")
        yield [subscription, own, running, running_in_session]


def refused(answer: Answer) -> bool:
    """Whether it is the one sentence that every bad credential is told."""
    return (
        answer.status == 401
        and 'error="invalid_token"' in answer.headers["www-authenticate"]
        and answer.error["message"] == "Invalid or expired token."
    )


@pytest.mark.parametrize(
    "way",
    [
        *["revoked", "expired", "rotated", "user inactive", "user deleted", "token deleted"],
        *["inactive unheard", "revoked by a command"],
    ],
)
def test_an_off_switch_of_one_process_acts_at_another(product: Product, way: str) -> None:
    name, token = product.hire()
    lookup = token.split("_")[1]
    modern, legacy = (product.client(version, token, at=B) for version in (MODERN, LEGACY))
    with KeptClient.on(product, token) as kept, open_lines(modern, legacy) as lines:
        if way == "rotated":
            product.do("renew", A, username=name, grace=0)
        elif way == "revoked by a command":
            live.manage(product.environment, "mcp_token", "revoke", lookup)
        else:
            product.do("dismiss", A, username=name, way=way)
        assert refused(kept.call("read"))
        assert refused(legacy.call("read"))
        assert refused(modern.at(product.ports[C]).call("read"))
        subscription, *others = lines
        assert [message["id"] for message in subscription.messages()] == ["s"]
        assert [list(line.messages()) for line in others] == [[], [], []]
    known = {"user deleted": "unknown", "token deleted": "unknown"}
    known |= {"inactive unheard": "user inactive", "revoked by a command": "revoked"}
    assert product.do("refusals", A, lookup=lookup) == known.get(way, way)


def test_an_old_secret_lives_to_its_deadline_everywhere_and_not_a_moment_longer(
    product: Product,
) -> None:
    name, token = product.hire()
    old, session = (product.client(version, token, at=B) for version in (MODERN, LEGACY))
    with old.ask("subscriptions/listen", NOTICES, "old") as older:
        told(older, "notifications/subscriptions/acknowledged")
        began = time.monotonic()
        successor = product.do("renew", A, username=name, grace=2)
        new = product.client(MODERN, successor, at=B)
        session.token = successor
        with new.ask("subscriptions/listen", NOTICES, "new") as newer:
            told(newer, "notifications/subscriptions/acknowledged")
            for port in product.ports:
                # The session goes on with the new secret, and no stranger joins it.
                assert session.at(port).call("read").status == 200
                assert old.at(port).call("read").status == 200
            thief = LiveClient(product.token(), version=LEGACY).at(product.ports[C])
            thief.session_id = session.session_id
            assert thief.call("read").status == 404
            list(older.messages())
            assert 2 <= time.monotonic() - began < 8
            assert all(refused(old.at(port).call("read")) for port in product.ports)
            assert new.at(product.ports[C]).call("read").status == 200
            assert not newer.ends_within(0.5)


def test_a_session_that_one_process_ends_is_over_at_another(product: Product) -> None:
    client, other = (product.client(LEGACY, token, at=B) for token in [product.token()] * 2)
    with (
        client.open(None) as own,
        client.ask("tools/call", WAIT, 1) as running,
        other.open(None) as others,
    ):
        told(running, "notifications/progress")
        assert client.at(product.ports[A]).end_session().status == 204
        assert {client.at(port).call("read").status for port in product.ports} == {404}
        assert list(own.messages()) == []
        assert list(running.messages()) == []
        assert not others.ends_within(0.5)
        assert other.at(product.ports[C]).call("read").status == 200
