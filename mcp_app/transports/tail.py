"""The socket of the page that shows calls as they happen: an application for Channels' router.

It pushes what the page's own JSON view answers, and knows nothing of what is in it. The page asks,
and is answered once there is something to tell; then it asks again, from where it is now. So what
is lost with a connection is asked for on the next, a slow page holds up itself alone, and nothing
is kept here but one question.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.conf import settings as django_settings
from django.core.exceptions import DisallowedHost

from mcp_app.conf import settings
from mcp_app.transports.beacon import RENEWAL, STORED_TOPIC, say_watched
from mcp_app.transports.bus import LOST, bus
from mcp_app.transports.inner import answer, as_get
from mcp_app.transports.live import user_topic
from mcp_app.transports.watch import CREDENTIALS_TOPIC, LISTS_TOPIC
from mcp_app.work.lanes import READ

logger: Final = logging.getLogger("mcp_app.tail")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

ROWS: Final = "rows/"
"""Where, under its own address, the page's JSON view is."""

PAUSE: Final = "pause"
"""In the place of a question: the page takes the last one back."""
NEWS_HEADER: Final = "X-MCP-News"
"""In that view's answers: "yes" where there is something to tell, else "no"."""

NOT_ALLOWED: Final = 4403
"""Closed, since the person may not watch, or not any more."""
TOO_MANY: Final = 4429
"""Closed, since they watch on as many pages as one may."""
TOO_LONG: Final = 4413
"""Closed, since a question was longer than any of the page's. (Not 1009: daphne lets no application
close with a code below 3000.)
"""

_LONGEST_QUESTION: Final = 8192
_SWEEP: Final = 3.0
"""Seconds between two looks, whatever is told: not every process tells."""
_GATHERING: Final = 0.25
"""Seconds, at least, between two looks."""
_SILENCE: Final = 15.0
"""Seconds after which an answer is sent although there is nothing to tell."""

_watching: Final[Counter[Any]] = Counter()


class TailApplication:
    """One socket, for whoever may open the page at its address."""

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve it until either side ends it."""
        if (await receive())["type"] != "websocket.connect":
            return
        await bus.hear()
        seen = await READ.run(partial(_look, scope, "")) if _is_own_page(scope) else None
        if seen is None:
            await send({"type": "websocket.close", "code": NOT_ALLOWED})
            return
        user_id = seen.user_id
        await send({"type": "websocket.accept"})
        if _watching[user_id] >= settings.STREAM_LIMIT:
            await send({"type": "websocket.close", "code": TOO_MANY})
            return
        _watching[user_id] += 1
        try:
            await _Tail(scope, send, user_id).serve(receive)
        finally:
            _watching[user_id] -= 1
            if not _watching[user_id]:
                del _watching[user_id]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one look found."""

    body: str
    is_news: bool
    user_id: Any


class _Tail:
    def __init__(self, scope: Mapping[str, Any], send: Send, user_id: Any) -> None:
        self._scope, self._send = scope, send
        self._user_id = user_id
        self._asked: str | None = None
        """The question that waits; None while the page has not asked again, or pauses."""
        self._stirred = asyncio.Event()
        self._sent_at = 0.0

    async def serve(self, receive: Receive) -> None:
        loop = asyncio.get_running_loop()

        def listener(topic: str, message: Mapping[str, Any]) -> None:
            if self._concerns(topic, message):
                loop.call_soon_threadsafe(self._stirred.set)

        own = (user_topic(self._user_id), CREDENTIALS_TOPIC, LISTS_TOPIC, LOST)
        with bus.subscribe(STORED_TOPIC, *own, listener=listener):
            tasks = [
                asyncio.ensure_future(work)
                for work in (self._hear(receive), self._push(), _keep_lit())
            ]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                ended = await asyncio.gather(*tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                raise error

    def _concerns(self, topic: str, message: Mapping[str, Any]) -> bool:
        if topic == STORED_TOPIC:
            return self._asked is not None
        return topic != CREDENTIALS_TOPIC or message["user"] == str(self._user_id)

    async def _hear(self, receive: Receive) -> None:
        while (message := await receive())["type"] != "websocket.disconnect":
            asked = message.get("text") or ""
            if len(asked) > _LONGEST_QUESTION:
                await self._send({"type": "websocket.close", "code": TOO_LONG})
                return
            self._asked = None if asked == PAUSE else asked
            self._stirred.set()

    async def _push(self) -> None:
        while True:
            patience = _SWEEP if self._asked is not None else settings.KEEP_ALIVE
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._stirred.wait()
            self._stirred.clear()
            asked = self._asked
            seen = await READ.run(partial(_look, self._scope, asked or ""))
            if seen is None or seen.user_id != self._user_id:
                await self._send({"type": "websocket.close", "code": NOT_ALLOWED})
                return
            if asked is not None and asked == self._asked and self._is_due(seen):
                self._asked, self._sent_at = None, time.monotonic()
                await self._send({"type": "websocket.send", "text": seen.body})
            await asyncio.sleep(_GATHERING)

    def _is_due(self, seen: _Seen) -> bool:
        return seen.is_news or time.monotonic() - self._sent_at > _SILENCE


async def _keep_lit() -> None:
    while True:
        say_watched()
        await asyncio.sleep(RENEWAL)


def _look(scope: Mapping[str, Any], question: str) -> _Seen | None:
    """What the page's view answers now; None where it turns the person away."""
    request = as_get(scope, ROWS, question)
    response = answer(request)
    if response.status_code != 200 or NEWS_HEADER not in response:
        return None
    is_news = response[NEWS_HEADER] == "yes"
    return _Seen(response.content.decode(), is_news, request.user.pk)  # type: ignore[attr-defined]


def _is_own_page(scope: Mapping[str, Any]) -> bool:
    """Whether a page of this very site opens the socket: cookies come along from any other, too.

    As Django says it of forms: of the same scheme, host and port, or in CSRF_TRUSTED_ORIGINS.
    """
    try:
        request = as_get(scope)
        own = f"{request.scheme}://{request.get_host()}"
    except (ValueError, DisallowedHost):
        return False
    origin = request.headers.get("Origin")
    return origin is not None and origin in {own, *django_settings.CSRF_TRUSTED_ORIGINS}
