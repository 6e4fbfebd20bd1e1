"""A bare ASGI application: the least that one stream of progress events can cost.

It reads the request as far as it must to answer it, and formats each event by itself. As the tools
that are measured beside it do, it leaves the event loop to others after each event, which thereby
goes out by itself.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]

_EVENT = (
    b'event: message\r\ndata: {"jsonrpc":"2.0","method":"notifications/progress",'
    b'"params":{"progressToken":1,"progress":%d,"total":%d}}\r\n\r\n'
)
_LAST = (
    b'event: message\r\ndata: {"jsonrpc":"2.0","id":%d,'
    b'"result":{"content":[{"type":"text","text":"999999999"}]}}\r\n\r\n'
)


async def app(
    scope: Message,
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    """Answer a call of `progress`."""
    if scope["type"] != "http":
        raise ValueError("HTTP only")
    call = json.loads(await _body(receive))
    count = call["params"]["arguments"]["n"]
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for done in range(count):
        event = _EVENT % (done, count)
        await send({"type": "http.response.body", "body": event, "more_body": True})
        await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": _LAST % call["id"]})


async def _body(receive: Callable[[], Awaitable[Message]]) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body
