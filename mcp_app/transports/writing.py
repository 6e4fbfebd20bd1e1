"""How a call's messages become stream events: as they are, or kept so that a client can resume."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from mcp_app.conf import settings
from mcp_app.dispatch.listening import Credential
from mcp_app.protocol import sse
from mcp_app.transports.about import About
from mcp_app.transports.bus import LOST, bus
from mcp_app.transports.incoming import HttpReply
from mcp_app.transports.outlets import Notifications
from mcp_app.transports.replay import Position, StoredStream, events_after, stored_topic
from mcp_app.transports.watch import watch
from mcp_app.work.lanes import READ

RETRY_MS = 1000


class StreamWriter:
    """Writes events without ids (2026-07-28, and whatever has no session)."""

    async def opening(self) -> bytes:
        """What a stream begins with."""
        return sse.COMMENT

    async def written(self, messages: list[bytes], *, is_last: bool = False) -> list[bytes]:
        """The events of some messages."""
        return [sse.event(message) for message in messages]


class StoringWriter(StreamWriter):
    """Writes events that are in the database before they are on the wire."""

    def __init__(self, stream: StoredStream, *, primes: bool) -> None:
        self._stream, self._primes = stream, primes

    @property
    def can_resume(self) -> bool:
        """Whether the client has been given an id to come back with."""
        return self._primes or self._stream.has_events

    async def opening(self) -> bytes:
        """An event that only has an id, where the revision knows of it."""
        return sse.priming(self._stream.priming_id, RETRY_MS) if self._primes else sse.COMMENT

    async def written(self, messages: list[bytes], *, is_last: bool = False) -> list[bytes]:
        """The events of some messages, once they are kept."""
        if not messages:
            return []
        ids = await READ.run(partial(self._stream.store, messages, is_last=is_last))
        return [
            sse.event(message, event_id=event_id)
            for event_id, message in zip(ids, messages, strict=True)
        ]


async def write_on(
    work: "asyncio.Task[Any]", notifications: Notifications, writer: StoringWriter
) -> None:
    """Keep the rest of a stream that nobody reads, up to its response."""
    while not work.done() or not notifications.is_empty:
        await writer.written(notifications.take())
        if not work.done():
            await notifications.stirred()
    result = work.result()
    if isinstance(result, HttpReply) and result.body:
        await writer.written([result.body], is_last=True)


class ResumedStream:
    """The rest of a stream that broke off, from the database and then as it comes."""

    def __init__(self, position: Position, credential: Credential, about: About) -> None:
        self.credential, self.about = credential, about
        self._position = position
        self._loop = asyncio.get_running_loop()
        self._stirred = asyncio.Event()
        self._ended = False

    def end(self) -> None:
        """End it from the server's side. From any thread."""
        self._ended = True
        self._hear("", {})

    def _hear(self, topic: str, message: Mapping[str, Any]) -> None:
        self._loop.call_soon_threadsafe(self._stirred.set)

    async def chunks(self) -> AsyncIterator[bytes]:
        """What it had to say after the position, and what it still has, to its end."""
        topic = stored_topic(self._position.stream)
        with bus.subscribe(topic, LOST, listener=self._hear), watch.over(self, counts=True):
            yield sse.COMMENT
            while not self._ended:
                self._stirred.clear()
                for number, data, is_last in await READ.run(partial(events_after, self._position)):
                    self._position = replace(self._position, number=number)
                    event_id = f"{self._position.stream}.{number}"
                    yield sse.event(data, event_id=event_id)
                    if is_last:
                        return
                if not await _stirs(self._stirred):
                    yield sse.COMMENT


async def _stirs(event: asyncio.Event) -> bool:
    """Wait for `event`; False after a keep-alive without it."""
    try:
        async with asyncio.timeout(settings.KEEP_ALIVE):
            await event.wait()
    except TimeoutError:
        return False
    return True
