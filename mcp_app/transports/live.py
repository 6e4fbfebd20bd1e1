"""Streams that stay open: `subscriptions/listen`, and a handshake session's own GET stream.

Each is a few notices that wait and what it takes to word them; it holds no task, no thread, no
database connection and nothing of the request that opened it. Whoever sends it is stirred.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, Protocol

from mcp_app.dispatch.listening import KINDS, Credential, Interest
from mcp_app.protocol import messages, sse
from mcp_app.transports.about import About
from mcp_app.transports.bus import LOST, Subscription, bus
from mcp_app.transports.keepalive import keep_alives
from mcp_app.transports.postbox import session_topic
from mcp_app.transports.watch import LISTS_TOPIC, watch
from mcp_app.work.lanes import READ

RESOURCES_TOPIC: Final = "resources"
"""Where it is told which resource has changed."""
_MOST_WAITING: Final = 1000
"""Notices that may wait for a slow reader; a reader slower than that is cut off."""

Notice = tuple[str, Mapping[str, Any]]
"""A topic and what was told there."""


def user_topic(user_id: Any) -> str:
    """Where it is told that what a user may do has changed."""
    return f"user:{user_id}"


class Look(Protocol):
    """What the caller of a stream may do now. Asked in a lane."""

    def __call__(self) -> Mapping[str, str] | None:
        """A digest of each list of interest as they see it; None where they are not let in."""
        ...

    def readable(self, uris: Iterable[str]) -> list[str]:
        """Those of the resources that they may read."""
        ...


class Wording(Protocol):
    """How one stream words what it says."""

    def opening(self) -> bytes:
        """What to send first."""
        ...

    def notice(self, method: str, params: Mapping[str, Any]) -> bytes:
        """One notification."""
        ...

    def closing(self) -> bytes:
        """What to send last, when the server ends the stream."""
        ...


class LiveStream:
    """One open stream. Used on one event loop.

    Args:
        credential: what its life hangs on.
        interest: what it tells of.
        look: how its caller's lists are looked at again.
        known: its lists as its caller knows them.
        wording: how it says what it says.
        about: what an administrator is told of it.
        name: tells a session's own streams apart: a newer one ends the older.
    """

    __slots__ = (
        *("about", "credential", "interest", "_look", "_known", "_wording", "_name"),
        *("_loop", "_waiting", "_stirred", "_subscription", "_begun", "_ended", "__weakref__"),
    )

    def __init__(
        self,
        credential: Credential,
        interest: Interest,
        look: Look,
        *,
        known: Mapping[str, str],
        wording: Wording,
        about: About,
        name: str = "",
    ) -> None:
        self.credential, self.interest, self.about = credential, interest, about
        self._look, self._known = look, known
        self._wording = wording
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._waiting: list[Notice] | None = None
        self._stirred: Callable[[], None] | None = None
        self._subscription: Subscription | None = None
        self._begun = self._ended = False

    # --- for who sends it ---------------------------------------------------------------------

    def open(self, stirred: Callable[[], None]) -> None:
        """Begin: `stirred` is called on the loop whenever there is something to send."""
        self._stirred = stirred
        topics = [LISTS_TOPIC, RESOURCES_TOPIC, LOST, user_topic(self.credential.user_id)]
        if self.credential.session_id is not None:
            topics.append(session_topic(self.credential.session_id))
        self._subscription = bus.subscribe(*topics, listener=self._hear)
        watch.enter(self, counts=True)
        stirred()

    def close(self) -> None:
        """Be over, whoever ended it."""
        self._ended = True
        self._stirred = None
        keep_alives().forget(self)
        watch.leave(self, counts=True)
        if self._subscription is not None:
            self._subscription.close()

    async def said(self) -> bytes:
        """What is to be sent now; a comment where there is nothing but silence to tell."""
        if not self._begun:
            self._begun = True
            return self._wording.opening()
        heard, self._waiting = self._waiting, None
        if heard is None or self._ended:
            return sse.COMMENT
        asked = [message["request"] for _, message in heard if "request" in message]
        told = [sse.event(messages.dumps(request)) for request in asked]
        told += [self._wording.notice(*notice) for notice in await self._concerning(heard)]
        return b"".join(told)

    def rest(self) -> bool:
        """All was sent: wait for more. False where there is more already."""
        if self._waiting is not None or self._ended:
            return False
        keep_alives().expect(self)
        return True

    @property
    def last_words(self) -> bytes | None:
        """What to send last, once the server has ended the stream; None while it has not."""
        return self._wording.closing() if self._ended and self._begun else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """What to send, until either side ends it: for a sender that asks."""
        stirred = asyncio.Event()
        self.open(stirred.set)
        try:
            while (last := self.last_words) is None:
                if said := await self.said():
                    yield said
                if self.rest():
                    await stirred.wait()
                stirred.clear()
            if last:
                yield last
        finally:
            self.close()

    # --- for who has something to tell ----------------------------------------------------------

    def end(self) -> None:
        """End the stream from the server's side. From any thread."""
        self._ended = True
        self._loop.call_soon_threadsafe(self._stir)

    def keep_alive(self) -> None:
        """Show that it lives."""
        self._stir()

    def _stir(self) -> None:
        keep_alives().forget(self)
        if self._stirred is not None:
            self._stirred()

    def _hear(self, topic: str, message: Mapping[str, Any]) -> None:
        self._loop.call_soon_threadsafe(self._put, topic, message)

    def _put(self, topic: str, message: Mapping[str, Any]) -> None:
        if "subscriptions" in message:
            self.interest = replace(self.interest, uris=frozenset(message["subscriptions"]))
        if topic == RESOURCES_TOPIC and message["uri"] not in self.interest.uris:
            return
        waiting = self._waiting = self._waiting or []
        # After the bus was away something may have been missed: the client lists again anyway.
        replaced = message.get("listener", self._name) != self._name
        overrun = len(waiting) >= _MOST_WAITING
        if topic == LOST or replaced or message.get("ended") or overrun:
            self._ended = True
        waiting.append((topic, message))
        self._stir()

    # --- what follows from it -------------------------------------------------------------------

    async def _concerning(self, heard: list[Notice]) -> list[tuple[str, dict[str, Any]]]:
        """The notices that follow from what was heard, each once."""
        updated = {message["uri"]: None for topic, message in heard if topic == RESOURCES_TOPIC}
        # Who subscribed may have lost the right since.
        readable = await READ.run(partial(self._look.readable, updated)) if updated else []
        told: list[tuple[str, dict[str, Any]]] = [
            ("notifications/resources/updated", {"uri": uri}) for uri in readable
        ]
        if any(topic == LISTS_TOPIC or topic.startswith("user:") for topic, _ in heard):
            told += [(f"notifications/{kind}/list_changed", {}) for kind in await self._changed()]
        return told

    async def _changed(self) -> list[str]:
        """Which lists look different to this caller than when they last heard of them."""
        now = await READ.run(self._look)
        if now is None:
            self._ended = True
            return []
        before, self._known = self._known, now
        return [kind for kind in KINDS if now.get(kind) != before.get(kind)]
