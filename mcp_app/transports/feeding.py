"""Sends what a stream that mostly waits has to say: with no task of its own while it is silent.

The server's own task waits for the client to leave; another lives as long as there is something
to send, so that a client who reads slowly holds up its own stream alone.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from mcp_app.transports.live import LiveStream

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def feed(stream: LiveStream, receive: Receive, send: Send) -> None:
    """Keep a stream going, whose head was sent, until either side ends it."""
    feeder = _Feeder(stream, send)
    try:
        async with asyncio.timeout(None) as waiting:
            feeder.over = waiting
            stream.open(feeder.stir)
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        if not waiting.expired():
            raise
    finally:
        feeder.over = None
        stream.close()
        await feeder.finish()


class _Feeder:
    """One stream's way to the wire."""

    __slots__ = ("_send", "_stream", "_task", "over")

    def __init__(self, stream: LiveStream, send: Send) -> None:
        self._stream, self._send = stream, send
        self._task: asyncio.Task[None] | None = None
        self.over: asyncio.Timeout | None = None

    def stir(self) -> None:
        """There is something to send; what is being sent now sees to it too."""
        if self._task is None:
            self._task = asyncio.create_task(self._feed())

    async def finish(self) -> None:
        """Send nothing more; hear of what went wrong, if it did."""
        task = self._task
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait({task})
        if task is not None and not task.cancelled():
            task.result()

    async def _feed(self) -> None:
        try:
            while (last := self._stream.last_words) is None:
                if said := await self._stream.said():
                    await self._put(said, more=True)
                if self._stream.rest():
                    self._task = None
                    return
            await self._put(last, more=False)
        except BaseException:
            self._end()
            raise
        self._end()

    def _end(self) -> None:
        """Have the server's task wait no longer."""
        if self.over is not None and not self.over.expired():
            self.over.reschedule(asyncio.get_running_loop().time())

    async def _put(self, body: bytes, *, more: bool) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": more})
