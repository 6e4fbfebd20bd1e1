"""Replies back to HTTP, and their events to the recorder. Nothing here waits."""

import time
from concurrent.futures import Future
from typing import Final

from mcp_app.dispatch.dispatcher import Reply
from mcp_app.dispatch.interfaces import CallRecord, Outcome
from mcp_app.dispatch.services import Inbound
from mcp_app.transports.incoming import HttpReply
from mcp_app.transports.recording import recorder

RECORDED: Final = frozenset({"tools/call"})
"""Methods whose every answer is an event; of the others only refusals are."""

ACCEPTED: Final = HttpReply(202)


def conclude(record: CallRecord, method: str) -> Future[bool] | None:
    """Hand the event over if there is one to keep; its answer waits for the future."""
    record.duration = time.time() - record.started_at
    if method not in RECORDED and record.outcome == Outcome.OK:
        return None
    return recorder().submit(record)


def begin(inbound: Inbound, *, writes: bool) -> Future[bool] | None:
    """Commit a `started` event before a tool that writes runs."""
    if not writes:
        return None
    inbound.record.outcome = Outcome.STARTED
    return recorder().submit(inbound.record)


def as_http(reply: Reply) -> HttpReply:
    """A reply as a whole HTTP answer."""
    return HttpReply(reply.status, reply.body, reply.headers)


def combine(replies: list[Reply], *, is_batch: bool) -> HttpReply:
    """The answer to one body: nothing to say is a 202, a batch an array in the order asked."""
    if not replies:
        return ACCEPTED
    if not is_batch:
        return as_http(replies[0])
    headers: dict[str, str] = {}
    for reply in replies:
        headers.update(reply.headers)
    return HttpReply(200, b"[" + b",".join(reply.body for reply in replies) + b"]", headers)
