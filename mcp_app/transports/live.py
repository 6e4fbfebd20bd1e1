"""Streams that stay open: `subscriptions/listen`, and a handshake session's own GET stream.

Each is a queue of notices and a generator of bytes; it holds no thread and no database
connection.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mcp_app.conf import settings
from mcp_app.dispatch.listening import KINDS, Credential, Interest
from mcp_app.protocol import messages, sse
from mcp_app.transports.bus import LOST, bus
from mcp_app.transports.outlets import stirs
from mcp_app.transports.postbox import session_topic
from mcp_app.transports.watch import watch
from mcp_app.work.lanes import READ

LISTS_TOPIC: Final = "lists"
"""Where it is told that declarations or switches changed, for everybody."""
_MOST_WAITING: Final = 1000
"""Notices that may wait for a slow reader; a reader slower than that is cut off."""


def user_topic(user_id: Any) -> str:
    """Where it is told that what a user may do has changed."""
    return f"user:{user_id}"


RESOURCES_TOPIC: Final = "resources"
"""Where it is told which resource has changed."""


@dataclass(eq=False)
class LiveStream:
    """One open stream.

    Attributes:
        fingerprints: in a lane, a digest of each list of interest as the caller sees it now; None
            where the caller is not let in any more.
        tag: the `_meta` of each notification.
        opening: bytes to send first.
        closing: bytes to send last, when the server ends the stream.
    """

    credential: Credential
    interest: Interest
    fingerprints: Callable[[], Mapping[str, str] | None]
    tag: Mapping[str, Any] = field(default_factory=dict)
    opening: bytes = sse.COMMENT
    closing: bytes = b""
    known: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    """Tells a session's own streams apart: a newer one ends the older."""
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _waiting: deque[tuple[str, Mapping[str, Any]]] = field(default_factory=deque)
    _stirred: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: bool = False

    async def chunks(self) -> AsyncIterator[bytes]:
        """What to send, until either side ends it."""
        topics = [LISTS_TOPIC, RESOURCES_TOPIC, user_topic(self.credential.user_id)]
        if self.credential.session_id is not None:
            topics.append(session_topic(self.credential.session_id))
        with bus.subscribe(*topics, listener=self._hear), watch.over(self, counts=True):
            yield self.opening
            async for chunk in self._notices():
                yield chunk
            if self.closing:
                yield self.closing

    def end(self) -> None:
        """End the stream from the server's side. From any thread."""
        self._ended = True
        self._loop.call_soon_threadsafe(self._stirred.set)

    def _is_overrun(self) -> bool:
        return len(self._waiting) >= _MOST_WAITING

    def _is_over(self) -> bool:
        return self._ended

    def _hear(self, topic: str, message: Mapping[str, Any]) -> None:
        self._loop.call_soon_threadsafe(self._put, topic, message)

    def _put(self, topic: str, message: Mapping[str, Any]) -> None:
        if "subscriptions" in message:
            self.interest = replace(self.interest, uris=frozenset(message["subscriptions"]))
        if topic == RESOURCES_TOPIC and message["uri"] not in self.interest.uris:
            return
        # After the bus was away something may have been missed: the client lists again anyway.
        replaced = message.get("listener", self.name) != self.name
        if topic == LOST or replaced or message.get("ended") or self._is_overrun():
            self._ended = True
        self._waiting.append((topic, message))
        self._stirred.set()

    async def _notices(self) -> AsyncIterator[bytes]:
        while not self._is_over():
            if not await stirs(self._stirred, settings.KEEP_ALIVE):
                yield sse.COMMENT
            self._stirred.clear()
            heard, self._waiting = self._waiting, deque()
            if self._is_over():
                return
            for request in (message["request"] for _, message in heard if "request" in message):
                yield sse.event(messages.dumps(request))
            for method, params in await self._concerning(heard):
                tagged = {**params, "_meta": dict(self.tag)} if self.tag else params
                yield sse.event(messages.dumps(messages.notification(method, tagged)))

    async def _concerning(
        self, heard: deque[tuple[str, Mapping[str, Any]]]
    ) -> list[tuple[str, dict[str, Any]]]:
        """The notices that follow from what was heard, each once."""
        updated = {message["uri"]: None for topic, message in heard if topic == RESOURCES_TOPIC}
        told: list[tuple[str, dict[str, Any]]] = [
            ("notifications/resources/updated", {"uri": uri}) for uri in updated
        ]
        if any(topic == LISTS_TOPIC or topic.startswith("user:") for topic, _ in heard):
            told += [(f"notifications/{kind}/list_changed", {}) for kind in await self._changed()]
        return told

    async def _changed(self) -> list[str]:
        """Which lists look different to this caller than when they last heard of them."""
        now = await READ.run(self.fingerprints)
        if now is None:
            self._ended = True
            return []
        before, self.known = self.known, now
        return [kind for kind in KINDS if now.get(kind) != before.get(kind)]
