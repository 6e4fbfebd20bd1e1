"""The event bus: what one request has to tell another, in this process and in its neighbours.

Messages are small JSON objects under a topic. Within a process they are handed over at once, from
any thread; the channel layer carries them to the other processes, as text: what it writes itself
takes no lone surrogate and no long integer, and a client may answer with either. A message may be
lost when the layer is away, so nothing that must survive goes this way alone.
"""

import asyncio
import atexit
import logging
import os
import threading
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import suppress
from typing import Any, Final

from channels import DEFAULT_CHANNEL_LAYER
from channels.layers import InMemoryChannelLayer, channel_layers, get_channel_layer

from mcp_app.protocol.messages import dumps, loads
from mcp_app.transports.loops import on_event_loop

logger: Final = logging.getLogger("mcp_app.bus")

GROUP: Final = "mcp_app"
LOST: Final = "bus.lost"
"""A topic of the bus's own, told with nothing when the layer went away, and when it is back:
messages may have been missed. Streams end then, so that their clients look anew; those begun
meanwhile go on until then.
"""
_RENEWAL: Final = 30.0
"""Seconds after which the group is joined anew: layers forget members that only listen, and all of
them where a product empties the Redis that its cache has, too (`cache.clear()`)."""
_IDLE_WAIT: Final = 2
"""Seconds that one wait for a message lasts at Redis."""
_SHORTEST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0
"""Seconds between two attempts to reach a layer that is away."""
_PATIENCE: Final = 1.0
"""Seconds, at most, that are waited for messages on their way, or to be reached by any."""
_MOST_UNSENT: Final = 1000
"""Messages that may wait for a layer that hangs; more of them are not passed on."""

Listener = Callable[[str, Mapping[str, Any]], None]


class Subscription:
    """A listener on some topics, until it is closed."""

    __slots__ = ("_hub", "listener", "topics")

    def __init__(self, hub: "EventBus", topics: tuple[str, ...], listener: Listener) -> None:
        self._hub, self.topics, self.listener = hub, topics, listener

    def close(self) -> None:
        """Hear nothing more."""
        self._hub._forget(self)

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class EventBus:
    """One process's end of the bus."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscriptions: dict[str, set[Subscription]] = defaultdict(set)
        self._relay: Relay | None = None
        os.register_at_fork(after_in_child=self._forget_relay)

    def subscribe(self, *topics: str, listener: Listener) -> Subscription:
        """Call `listener(topic, message)`, from any thread, for each message; it must not block."""
        subscription = Subscription(self, topics, listener)
        with self._lock:
            for topic in topics:
                self._subscriptions[topic].add(subscription)
        return subscription

    def publish(self, topic: str, message: Mapping[str, Any]) -> None:
        """Tell every subscriber of the topic, in every process. Never raises.

        It does not wait for the layer, but for the first message of a process that hears nothing
        itself: a command may end before the layer is reached, and could reach it no more then.
        """
        self._deliver(topic, message)
        hears_nothing = self._relay is None
        self.listen()
        if self._relay is not None:
            sending = self._relay.send(topic, message)
            if hears_nothing and not on_event_loop():
                wait(sending, _PATIENCE)

    def listen(self) -> None:
        """Begin to hear the other processes; harmless where that has begun, or there are none."""
        if self._relay is None and is_shared():
            with self._lock:
                if self._relay is None:
                    self._relay = Relay(self._deliver)

    async def hear(self) -> None:
        """Begin to hear the other processes, and wait until they can be heard.

        A request that is cancelled, answered or told of changes by way of another process must not
        begin before. It waits once a process, and no longer than a layer that hangs is worth.
        """
        self.listen()
        relay = self._relay
        if relay is not None and not relay.joined.done():
            await asyncio.wait({asyncio.wrap_future(relay.joined)}, timeout=_PATIENCE)
            relay.let_in()

    def wait_to_hear(self) -> None:
        """`hear` for code that is on no event loop."""
        self.listen()
        relay = self._relay
        if relay is not None and not relay.joined.done():
            wait({relay.joined}, _PATIENCE)
            relay.let_in()

    def _forget_relay(self) -> None:
        """A forked child has none of its parent's threads."""
        self._relay = None
        self._lock = threading.Lock()

    def _forget(self, subscription: Subscription) -> None:
        with self._lock:
            for topic in subscription.topics:
                self._subscriptions[topic].discard(subscription)
                if not self._subscriptions[topic]:
                    del self._subscriptions[topic]

    def _deliver(self, topic: str, message: Mapping[str, Any]) -> None:
        with self._lock:
            subscriptions = tuple(self._subscriptions.get(topic, ()))
        for subscription in subscriptions:
            try:
                subscription.listener(topic, message)
            except Exception:
                logger.exception("A listener on %r failed", topic)


class Relay:
    """Carries messages to and from the channel layer, on a thread and an event loop of its own.

    So a process has one connection for it, whatever servers and loops it runs, and Django's sync
    code never waits for the layer.
    """

    def __init__(self, deliver: Listener) -> None:
        self._origin = uuid.uuid4().hex
        self._deliver = deliver
        self._sending: set[Future[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(_note_failure)
        # Not the layer that the product shares: some keep locks that belong to one event loop.
        self._layer: Any = channel_layers.make_backend(DEFAULT_CHANNEL_LAYER)
        if hasattr(self._layer, "brpop_timeout"):
            # Redis must answer an idle wait before its client gives the connection up: redis-py 8
            # does after five seconds, as long as channels_redis asks to wait.
            self._layer.brpop_timeout = _IDLE_WAIT
        self._is_away = self._is_failing = False
        self._joined_at: float | None = None
        self.joined: Future[None] = Future()
        """Done once the other processes can be heard, or the layer was found to be away."""
        self._hearing = self._loop.create_task(self._hear())
        self._thread = threading.Thread(target=self._run, name="mcp_app-bus", daemon=True)
        self._thread.start()
        atexit.register(self._stop)

    def send(self, topic: str, message: Mapping[str, Any]) -> "Collection[Future[None]]":
        """Pass a message on; from any thread. What is on its way is returned."""
        if len(self._sending) < _MOST_UNSENT and not self._loop.is_closed():
            sending = asyncio.run_coroutine_threadsafe(self._send(topic, message), self._loop)
            self._sending.add(sending)
            sending.add_done_callback(self._sending.discard)
        return tuple(self._sending)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._hearing)
        self._loop.close()

    def _stop(self) -> None:
        """The interpreter is about to end, and the layer's libraries with it."""
        wait(tuple(self._sending), _PATIENCE)
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._hearing.cancel)
        self._thread.join(_PATIENCE)

    async def _send(self, topic: str, message: Mapping[str, Any]) -> None:
        try:
            text = dumps(message).decode()
            envelope = {"type": "mcp.event", "origin": self._origin, "topic": topic, "text": text}
            await self._layer.group_send(GROUP, envelope)
            self._is_failing = False
        except Exception as error:
            # Calls that need no bus must not fail with it.
            if not (self._is_failing or self._is_away):
                logger.warning("An event was not passed on: %s", type(error).__name__)
            self._is_failing = True

    async def _hear(self) -> None:
        pause = _SHORTEST_PAUSE
        while True:
            try:
                await self._hear_for_a_while()
            except Exception as error:
                if not threading.main_thread().is_alive():
                    return  # the interpreter is ending: nothing can be reached any more
                self._went_away(error)
                if self._heard_for() > _LONGEST_PAUSE:
                    pause = _SHORTEST_PAUSE
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _heard_for(self) -> float:
        """Seconds that hearing has gone well before it failed."""
        joined, self._joined_at = self._joined_at, None
        return self._loop.time() - joined if joined is not None else 0.0

    def _went_away(self, error: Exception) -> None:
        """Said once an outage."""
        self.let_in()
        if not self._is_away:
            self._is_away = True
            logger.warning("The channel layer is away: %s", type(error).__name__)
            self._deliver(LOST, {})

    def _came_back(self) -> None:
        if self._is_away:
            self._is_away = False
            logger.warning("The channel layer is back.")
            self._deliver(LOST, {})

    def let_in(self) -> None:
        """Let nobody wait for the layer any longer. From any thread."""
        with suppress(InvalidStateError):
            self.joined.set_result(None)

    async def _hear_for_a_while(self) -> None:
        layer = self._layer
        channel = await layer.new_channel(f"{GROUP}.")
        await layer.group_add(GROUP, channel)
        self._joined_at = self._loop.time()
        self.let_in()
        self._came_back()
        renewing = asyncio.create_task(self._renew(channel))
        try:
            while True:
                self._hear_one(await layer.receive(channel))
        finally:
            renewing.cancel()

    async def _renew(self, channel: str) -> None:
        """Who hears is told of a layer that is away by the layer itself; this only goes on."""
        while True:
            await asyncio.sleep(_RENEWAL)
            with suppress(Exception):
                await self._layer.group_add(GROUP, channel)

    def _hear_one(self, envelope: Mapping[str, Any]) -> None:
        if envelope.get("origin") != self._origin:
            self._deliver(envelope["topic"], loads(envelope["text"].encode()))


def _note_failure(_: asyncio.AbstractEventLoop, told: dict[str, Any]) -> None:
    """A task that the layer itself began has failed, as they do when what it reaches is away.

    What is ours has said so already, once.
    """
    logger.debug("The channel layer says: %s", told["message"], exc_info=told.get("exception"))


def is_shared() -> bool:
    """Whether there is a channel layer that reaches further than this process."""
    named = channel_layers.configs
    if DEFAULT_CHANNEL_LAYER not in named and DEFAULT_CHANNEL_LAYER not in channel_layers.backends:
        return False
    layer = get_channel_layer()
    return layer is not None and not isinstance(layer, InMemoryChannelLayer)


bus: Final = EventBus()
"""This process's end."""
