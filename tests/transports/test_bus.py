"""The bus: at once within a process, through the channel layer between processes."""

import os
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from mcp_app.transports.bus import EventBus


class Heard:
    """A listener that a test can wait on."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, Mapping[str, Any]]] = []
        self._happened = threading.Condition()

    def __call__(self, topic: str, message: Mapping[str, Any]) -> None:
        with self._happened:
            self.messages.append((topic, message))
            self._happened.notify_all()

    def waits_for(self, count: int, seconds: float) -> bool:
        """Whether so many messages arrive in time."""
        with self._happened:
            return self._happened.wait_for(lambda: len(self.messages) >= count, seconds)


def test_a_message_reaches_its_topic_alone_and_until_it_is_closed() -> None:
    bus, heard, other = EventBus(), Heard(), Heard()
    with bus.subscribe("a", "b", listener=heard), bus.subscribe("c", listener=other):
        bus.publish("a", {"n": 1})
        bus.publish("b", {"n": 2})
    bus.publish("a", {"n": 3})
    assert heard.messages == [("a", {"n": 1}), ("b", {"n": 2})]
    assert other.messages == []


def test_a_listener_that_fails_keeps_nobody_else_from_hearing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus, heard = EventBus(), Heard()

    def fail(topic: str, message: Mapping[str, Any]) -> None:
        raise RuntimeError("deaf")

    with bus.subscribe("a", listener=fail), bus.subscribe("a", listener=heard):
        bus.publish("a", {})
    assert heard.messages == [("a", {})]
    assert "A listener on 'a' failed" in caplog.text


@pytest.mark.skipif("REDIS_URL" not in os.environ, reason="needs a shared channel layer")
def test_processes_hear_each_other_and_nobody_hears_twice() -> None:
    here, there = EventBus(), EventBus()
    near, far = Heard(), Heard()
    here.listen()
    there.listen()
    with here.subscribe("a", listener=near), there.subscribe("a", listener=far):
        # A member joins when its thread gets to it: the first messages may come before.
        for _ in range(100):
            here.publish("a", {"n": 1})
            if far.waits_for(1, 0.1):
                break
        assert far.messages[0] == ("a", {"n": 1})
        published = len(near.messages)
        assert all(message == ("a", {"n": 1}) for message in near.messages)
        there.publish("a", {"n": 2})
        assert near.waits_for(published + 1, 5)
        assert near.messages.count(("a", {"n": 2})) == 1


@pytest.mark.skipif("REDIS_URL" not in os.environ, reason="needs a shared channel layer")
def test_an_idle_wait_ends_before_the_client_library_gives_up() -> None:
    bus = EventBus()
    bus.listen()
    assert bus._relay is not None
    assert bus._relay._layer.brpop_timeout < 5  # redis-py's own patience with a quiet server
