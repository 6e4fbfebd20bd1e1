"""Looks after all open streams of a process: ends those whose credential or session is over.

As soon as the bus tells of a user of theirs, or one expires; once a keep-alive whatever is told,
with one query for all of them; and all at once when the process is to stop.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Any, Final, Protocol

from django.utils import timezone

from mcp_app.access.switches import any_ended
from mcp_app.auth.liveness import find_standing
from mcp_app.conf import settings
from mcp_app.dispatch.listening import Credential
from mcp_app.seldom import SeldomLog
from mcp_app.transports import shutdown
from mcp_app.transports.about import About
from mcp_app.transports.bus import LOST, Subscription, bus
from mcp_app.work.lanes import READ

logger: Final = logging.getLogger("mcp_app.streams")
_unchecked: Final = SeldomLog(logger, logging.ERROR)

LISTS_TOPIC: Final = "lists"
"""Where it is told that lists may have changed."""
CREDENTIALS_TOPIC: Final = "credentials"
"""Where it is told whose credentials may have ended."""


class OpenStream(Protocol):
    """What is looked after."""

    credential: Credential
    about: About

    def end(self) -> None:
        """End it from the server's side. From any thread."""
        ...


class StreamWatch:
    """All open streams of this process."""

    def __init__(self) -> None:
        self._streams: set[OpenStream] = set()
        self._task: asyncio.Task[None] | None = None
        self._told = asyncio.Event()
        self._looked_at = timezone.now()
        self._subscription: Subscription | None = None
        self._of_user: Counter[Any] = Counter()
        self._ends: dict[Credential, datetime | None] = {}
        """When credentials end by themselves, as the last look has found."""
        self._owners: Counter[str] = Counter()
        """The users of all streams, as the bus names them."""

    @property
    def streams(self) -> tuple[OpenStream, ...]:
        """Those that are open now. From any thread."""
        return tuple(self._streams)

    def is_full_for(self, user_id: Any) -> bool:
        """Whether a user has as many streams open here as one may."""
        return self._of_user[user_id] >= int(settings.STREAM_LIMIT)

    @contextmanager
    def over(self, stream: OpenStream, *, counts: bool = False) -> Iterator[None]:
        """Look after a stream for the length of the block."""
        self.enter(stream, counts=counts)
        try:
            yield
        finally:
            self.leave(stream, counts=counts)

    def enter(self, stream: OpenStream, *, counts: bool = False) -> None:
        """Look after a stream until it leaves; `counts` towards its user's number."""
        self._streams.add(stream)
        self._owners[str(stream.credential.user_id)] += 1
        if counts:
            self._of_user[stream.credential.user_id] += 1
        self._start()
        if self._seconds_to_end(stream.credential) < settings.KEEP_ALIVE:
            self._told.set()

    def leave(self, stream: OpenStream, *, counts: bool = False) -> None:
        """The stream is over."""
        self._streams.discard(stream)
        _take(self._owners, str(stream.credential.user_id))
        if counts:
            _take(self._of_user, stream.credential.user_id)
        self._rest()

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        if self._task is None or self._task.done() or self._task.get_loop() is not loop:
            self._told = asyncio.Event()
            self._task = loop.create_task(self._look_after())
            self._hear(loop, self._told)
            shutdown.hear_anew()

    def _hear(self, loop: asyncio.AbstractEventLoop, told: asyncio.Event) -> None:
        """Look at once when the bus tells of somebody whose streams are open here."""

        def listener(topic: str, message: Mapping[str, Any]) -> None:
            if topic == LOST or message["user"] in self._owners:
                loop.call_soon_threadsafe(told.set)

        self._hear_no_more()
        self._subscription = bus.subscribe(CREDENTIALS_TOPIC, LOST, listener=listener)

    def _hear_no_more(self) -> None:
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    def end_all(self) -> None:
        """End every stream, as at shutdown."""
        for stream in tuple(self._streams):
            _end(stream)

    def _rest(self) -> None:
        """Nothing to look after, nothing to do."""
        if not self._streams and self._task is not None:
            self._task.cancel()
            self._task = None
            self._hear_no_more()

    async def _look_after(self) -> None:
        told = self._told
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience()):
                    await told.wait()
            told.clear()
            try:
                await self._end_what_is_over()
                await self._tell_of_ended_switches()
            except Exception as error:
                _unchecked.note("Open streams could not be checked", error=error)

    def _patience(self) -> float:
        """Seconds until it is worth a look, if nothing is told before."""
        credentials = {stream.credential for stream in self._streams}
        return min(map(self._seconds_to_end, credentials), default=settings.KEEP_ALIVE)

    def _seconds_to_end(self, credential: Credential) -> float:
        """Until it ends by itself; a keep-alive at most, and where that end has passed."""
        ends_at, most = self._ends.get(credential, credential.ends_at), float(settings.KEEP_ALIVE)
        seconds = most if ends_at is None else (ends_at - timezone.now()).total_seconds()
        return seconds if 0 < seconds < most else most

    async def _end_what_is_over(self) -> None:
        asked = {stream.credential for stream in self._streams}
        standing = self._ends = await READ.run(partial(find_standing, asked))
        for stream in tuple(self._streams):
            if stream.credential in asked and stream.credential not in standing:
                _end(stream)

    async def _tell_of_ended_switches(self) -> None:
        """A switch ends by itself, within a keep-alive for the streams that are open here."""
        since, self._looked_at = self._looked_at, timezone.now()
        if await READ.run(partial(any_ended, since, self._looked_at)):
            bus.publish(LISTS_TOPIC, {})


watch: Final = StreamWatch()
"""This process's."""
# Servers wait for open answers when they are asked to stop: these have an end then.
shutdown.before_stop(watch.end_all)


def _end(stream: OpenStream) -> None:
    """End a stream. One that cannot be ended, since its loop is over, keeps no other one open."""
    try:
        stream.end()
    except Exception:
        logger.exception("A stream could not be ended")


def _take(counter: Counter[Any], key: Any) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
