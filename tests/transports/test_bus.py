"""The bus: at once within a process, through the channel layer between processes."""

import asyncio
import os
import secrets
import threading
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgpack
import pytest
from channels.layers import BaseChannelLayer, channel_layers

from mcp_app.transports.bus import LOST, EventBus

SLOW = 0.3
"""Seconds that a layer of these tests takes to be joined."""


class SlowLayer(BaseChannelLayer):  # type: ignore[misc]
    """A layer that all buses of this process share, and that takes a while to join."""

    members: ClassVar[dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Queue[Any]]]] = {}
    delay = SLOW

    async def new_channel(self, prefix: str) -> str:
        return f"{prefix}{secrets.token_hex(4)}"

    async def group_add(self, group: str, channel: str) -> None:
        await asyncio.sleep(self.delay)
        self.members[channel] = asyncio.get_running_loop(), asyncio.Queue()

    async def group_discard(self, group: str, channel: str) -> None:
        del self.members[channel]

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        for loop, queue in self.members.values():
            loop.call_soon_threadsafe(queue.put_nowait, message)

    async def receive(self, channel: str) -> dict[str, Any]:
        return await self.members[channel][1].get()


class PackingLayer(SlowLayer):
    """A layer that writes messages as the one for Redis does."""

    delay = 0.0

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        await super().group_send(group, msgpack.unpackb(msgpack.packb(message)))


class ForgetfulLayer(SlowLayer):
    """A layer whose members may be forgotten, as by who empties the Redis that they are in."""

    delay = 0.0
    queues: ClassVar[dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Queue[Any]]]] = {}
    joined: ClassVar[threading.Event] = threading.Event()

    async def group_add(self, group: str, channel: str) -> None:
        queue = asyncio.get_running_loop(), asyncio.Queue[Any]()
        self.members[channel] = self.queues.setdefault(channel, queue)
        self.joined.set()

    async def receive(self, channel: str) -> dict[str, Any]:
        return await self.queues[channel][1].get()


class LostLayer(SlowLayer):
    """A layer that cannot be joined."""

    async def group_add(self, group: str, channel: str) -> None:
        raise ConnectionError


class HungLayer(SlowLayer):
    """A layer that never says anything."""

    delay = 3600.0


@pytest.fixture
def layer(settings: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    """The test's own kind of layer."""
    kind = f"{__name__}.{request.param.__name__}"
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": kind}}
    channel_layers.backends.clear()
    yield
    channel_layers.backends.clear()
    SlowLayer.members.clear()


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


@pytest.mark.parametrize("layer", [SlowLayer], indirect=True, ids=["slow"])
async def test_who_waits_to_hear_misses_nothing_told_after(layer: None) -> None:
    here, there, heard = EventBus(), EventBus(), Heard()
    with here.subscribe("a", listener=heard):
        await here.hear()
        there.publish("a", {"n": 1})
        assert await asyncio.to_thread(heard.waits_for, 1, 5)
    assert heard.messages == [("a", {"n": 1})]


@pytest.mark.parametrize("layer", [ForgetfulLayer], indirect=True, ids=["forgetful"])
async def test_who_was_forgotten_by_the_layer_hears_again_before_long(
    layer: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_app.transports.bus._RENEWAL", 0.01)
    here, there, heard = EventBus(), EventBus(), Heard()
    with here.subscribe("a", listener=heard):
        await here.hear()
        ForgetfulLayer.joined.clear()
        ForgetfulLayer.members.clear()
        assert await asyncio.to_thread(ForgetfulLayer.joined.wait, 5)
        there.publish("a", {"n": 1})
        assert await asyncio.to_thread(heard.waits_for, 1, 5)
    assert heard.messages == [("a", {"n": 1})]


@pytest.mark.parametrize("layer", [LostLayer], indirect=True, ids=["lost"])
def test_the_loss_of_the_layer_is_told_to_those_who_listen_for_it(layer: None) -> None:
    bus, heard, other = EventBus(), Heard(), Heard()
    with bus.subscribe("a", LOST, listener=heard), bus.subscribe("a", listener=other):
        bus.listen()
        assert heard.waits_for(1, 5)
    assert heard.messages == [(LOST, {})]
    assert other.messages == []


@pytest.mark.parametrize("layer", [LostLayer, HungLayer], indirect=True, ids=["lost", "hung"])
async def test_nobody_waits_long_or_twice_for_a_layer_that_is_away(layer: None) -> None:
    bus = EventBus()
    async with asyncio.timeout(5):
        await bus.hear()
    async with asyncio.timeout(0.5):
        await bus.hear()


ODD = {
    "a lone surrogate": "\ud800",
    "a key of one": {"\udfff": 1},
    "a long integer": 2**64,
    "a very long one": -(10**400),
    "a text with a zero": "\0",
    "any text": "ä\u2028😀",
    "a number": 1e300,
    "nothing": None,
}


async def _told_elsewhere(told: dict[str, Any], here: EventBus, there: EventBus) -> None:
    heard, topic = Heard(), secrets.token_hex(4)
    with there.subscribe(topic, listener=heard):
        await there.hear()
        here.publish(topic, told)
        assert await asyncio.to_thread(heard.waits_for, 1, 5)
    assert heard.messages == [(topic, told)]


def _deep() -> list[Any]:
    nested: list[Any] = []
    for _ in range(200):
        nested = [nested]
    return nested


@pytest.mark.parametrize("layer", [SlowLayer, PackingLayer], indirect=True, ids=["", "packing"])
@pytest.mark.parametrize("value", [*ODD.values(), _deep()], ids=[*ODD, "a deep one"])
async def test_whatever_json_holds_reaches_the_other_processes(layer: None, value: Any) -> None:
    await _told_elsewhere({"id": "x", "result": {"content": [value]}}, EventBus(), EventBus())


@pytest.mark.skipif("REDIS_URL" not in os.environ, reason="needs a shared channel layer")
@pytest.mark.parametrize("value", [*ODD.values(), _deep()], ids=[*ODD, "a deep one"])
async def test_it_does_by_way_of_redis_too(value: Any) -> None:
    await _told_elsewhere({"id": "x", "result": {"content": [value]}}, EventBus(), EventBus())


@pytest.mark.parametrize("value", [*ODD.values(), _deep()], ids=[*ODD, "a deep one"])
async def test_within_a_process_it_is_told_as_it_is(value: Any) -> None:
    bus = EventBus()
    await _told_elsewhere({"id": "x", "result": {"content": [value]}}, bus, bus)


@pytest.mark.skipif("REDIS_URL" not in os.environ, reason="needs a shared channel layer")
async def test_processes_hear_each_other_and_nobody_hears_twice() -> None:
    here, there = EventBus(), EventBus()
    near, far = Heard(), Heard()
    await here.hear()
    await there.hear()
    with here.subscribe("a", listener=near), there.subscribe("a", listener=far):
        here.publish("a", {"n": 1})
        assert await asyncio.to_thread(far.waits_for, 1, 5)
        there.publish("a", {"n": 2})
        assert await asyncio.to_thread(near.waits_for, 2, 5)
    assert near.messages == far.messages == [("a", {"n": 1}), ("a", {"n": 2})]


@pytest.mark.skipif("REDIS_URL" not in os.environ, reason="needs a shared channel layer")
def test_an_idle_wait_ends_before_the_client_library_gives_up() -> None:
    bus = EventBus()
    bus.listen()
    assert bus._relay is not None
    assert bus._relay._layer.brpop_timeout < 5  # redis-py's own patience with a quiet server
