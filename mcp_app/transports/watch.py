"""Looks after all open streams of a process: ends those whose credential or session is over.

Once a keep-alive, with one query for all of them; and all at once when the process is to stop.
"""

import asyncio
import logging
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, Protocol

from mcp_app.auth.liveness import find_ended
from mcp_app.conf import settings
from mcp_app.dispatch.listening import Credential
from mcp_app.work.lanes import READ

logger: Final = logging.getLogger("mcp_app.streams")


class OpenStream(Protocol):
    """What is looked after."""

    credential: Credential

    def end(self) -> None:
        """End it from the server's side. From any thread."""
        ...


class StreamWatch:
    """All open streams of this process."""

    def __init__(self) -> None:
        self._streams: set[OpenStream] = set()
        self._task: asyncio.Task[None] | None = None
        self._of_user: Counter[Any] = Counter()

    def is_full_for(self, user_id: Any) -> bool:
        """Whether a user has as many streams open here as one may."""
        return self._of_user[user_id] >= int(settings.STREAM_LIMIT)

    @contextmanager
    def over(self, stream: OpenStream) -> Iterator[None]:
        """Look after a stream for the length of the block."""
        self.enter(stream)
        try:
            yield
        finally:
            self.leave(stream)

    def enter(self, stream: OpenStream, *, counts: bool = False) -> None:
        """Look after a stream until it leaves; `counts` towards its user's number."""
        self._streams.add(stream)
        if counts:
            self._of_user[stream.credential.user_id] += 1
        self._start()

    def leave(self, stream: OpenStream, *, counts: bool = False) -> None:
        """The stream is over."""
        self._streams.discard(stream)
        if counts:
            self._leave_user(stream.credential.user_id)
        self._rest()

    def _leave_user(self, user_id: Any) -> None:
        self._of_user[user_id] -= 1
        if not self._of_user[user_id]:
            del self._of_user[user_id]

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        if self._task is None or self._task.done() or self._task.get_loop() is not loop:
            self._task = loop.create_task(self._look_after())
            _end_streams_on_shutdown()

    def end_all(self) -> None:
        """End every stream, as at shutdown."""
        for stream in tuple(self._streams):
            stream.end()

    def _rest(self) -> None:
        """Nothing to look after, nothing to do."""
        if not self._streams and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _look_after(self) -> None:
        while True:
            await asyncio.sleep(settings.KEEP_ALIVE)
            try:
                await self._end_what_is_over()
            except Exception:
                logger.exception("Open streams could not be checked")

    async def _end_what_is_over(self) -> None:
        credentials = list({stream.credential for stream in self._streams})
        ended = await READ.run(partial(find_ended, credentials))
        for stream in tuple(self._streams):
            if stream.credential in ended:
                stream.end()


watch: Final = StreamWatch()
"""This process's."""


def _end_streams_on_shutdown() -> None:
    """Servers wait for open answers when they are asked to stop: give them an end.

    There is no lifespan to rely on, so the signal is heard beside the server's own handler.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        own = signal.getsignal(number)
        if callable(own) and not getattr(own, "ends_streams", False):
            with suppress(ValueError):  # not the main thread: then another one heard it
                signal.signal(number, _beside(own))


def _beside(own: Callable[[int, Any], Any]) -> Callable[[int, Any], Any]:
    def handler(number: int, frame: Any) -> Any:
        watch.end_all()
        return own(number, frame)

    handler.ends_streams = True  # type: ignore[attr-defined]
    return handler
