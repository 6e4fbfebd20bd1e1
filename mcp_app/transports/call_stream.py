"""The stream that answers one POST: what the call tells before its end, the response, the end."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Any, Final

from mcp_app.dispatch.listening import Credential
from mcp_app.dispatch.services import Inbound
from mcp_app.protocol import sse
from mcp_app.transports.about import About, StreamKind
from mcp_app.transports.incoming import HttpReply
from mcp_app.transports.keepalive import keep_alives
from mcp_app.transports.listening import credential_of
from mcp_app.transports.outlets import Notifications
from mcp_app.transports.replay import StoredStream
from mcp_app.transports.watch import watch
from mcp_app.transports.writing import StoringWriter, StreamWriter, write_on

Opening = HttpReply | AsyncIterable[bytes]
"""A whole answer, or the bytes of a stream that stays open."""

_running: Final[set[asyncio.Future[Any]]] = set()
"""Calls whose client may be gone already: a legacy call goes on without one."""


def keep(work: asyncio.Future[Any]) -> None:
    """Hold on to a task until it is done, whoever else does."""
    _running.add(work)
    work.add_done_callback(_running.discard)


class CallStream:
    """Sends what a running call tells.

    Args:
        work: the call, up to its answer.
        notifications: what it tells before.
        inbound: the message, where it is known already.
        hang_up: to be called when the client is gone.
        stop: to be called when the client's credential is no longer good.
    """

    def __init__(
        self,
        work: asyncio.Task[Opening],
        notifications: Notifications,
        inbound: Inbound | None,
        *,
        hang_up: Callable[[], None],
        stop: Callable[[], None],
    ) -> None:
        self.credential = _credential(inbound)
        self.about = About.of(StreamKind.CALL, inbound)
        self._work, self._notifications = work, notifications
        self._writer = _writer(inbound)
        self._hang_up, self._stop = hang_up, stop
        self._can_part = isinstance(self._writer, StoringWriter)
        self._ended = False

    def end(self) -> None:
        """End it from the server's side. From any thread."""
        self._ended = True
        self._stop()
        self._work.get_loop().call_soon_threadsafe(self._notifications.wake)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Events as they come, comments in between, the one response, the end."""
        try:
            with watch.over(self):
                yield await self._writer.opening()
                async for chunk in self._told():
                    yield chunk
            if not self._parted and not self._ended:
                async for chunk in self._last(self._work.result()):
                    yield chunk
        finally:
            if self._parted or not self._work.done():
                self._leave()

    @property
    def _parted(self) -> bool:
        """Whether the call let its client go, who can come back for the rest."""
        return self._can_part and self._notifications.retry_ms is not None

    async def _told(self) -> AsyncIterator[bytes]:
        silence, notifications = keep_alives(), self._notifications
        try:
            while not self._ended and not (self._work.done() and notifications.is_empty):
                if told := notifications.take():
                    yield b"".join(await self._writer.written(told))
                if self._parted:
                    yield sse.retry(notifications.retry_ms or 0)
                    return
                if self._work.done():
                    continue
                silence.expect(notifications)
                await notifications.stirred()
                if notifications.was_silent:
                    yield sse.COMMENT
        finally:
            silence.forget(notifications)

    async def _last(self, result: Opening) -> AsyncIterator[bytes]:
        if not isinstance(result, HttpReply):
            async for chunk in result:
                yield chunk
        elif result.body:
            yield (await self._writer.written([result.body], is_last=True))[0]

    def _leave(self) -> None:
        """Nobody reads any more. What a client can come back for is written on."""
        if not self._parted:
            self._hang_up()
        if isinstance(self._writer, StoringWriter) and self._writer.can_resume:
            keep(asyncio.ensure_future(self._write_on(self._writer)))
        else:
            self._notifications.close()

    async def _write_on(self, writer: StoringWriter) -> None:
        """The call goes on without its client, as long as their credential is good."""
        with watch.over(self):
            await write_on(self._work, self._notifications, writer)


def _credential(inbound: Inbound | None) -> Credential:
    if inbound is None:
        return Credential(None, None, None)
    return credential_of(inbound.caller, inbound.session)


def _writer(inbound: Inbound | None) -> StreamWriter:
    if inbound is None or inbound.session is None:
        return StreamWriter()
    stored = StoredStream(inbound.session.session_id)
    return StoringWriter(stored, primes=inbound.route.version.priming_events)
