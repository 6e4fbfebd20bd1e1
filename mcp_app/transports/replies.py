"""Replies back to HTTP, and their events to the recorder. Nothing here waits."""

import time
from dataclasses import replace
from typing import Final

from mcp_app.conf import settings
from mcp_app.dispatch.calls import Call
from mcp_app.dispatch.dispatcher import Reply
from mcp_app.dispatch.interfaces import CallRecord, Outcome
from mcp_app.dispatch.receipts import Receipt
from mcp_app.protocol import sse
from mcp_app.protocol.methods import RECORDED
from mcp_app.transports.gates import Accepts
from mcp_app.transports.incoming import EVENT_STREAM, HttpReply
from mcp_app.transports.recording import recorder
from mcp_app.transports.strangers import strangers

ACCEPTED: Final = HttpReply(202)


def conclude(record: CallRecord, method: str) -> Receipt | None:
    """Hand the event over if there is one to keep; its answer waits for the receipt."""
    record.duration = time.time() - record.started_at
    if method not in RECORDED and record.outcome == Outcome.OK:
        return None
    if not strangers.may_leave_row(record):
        return None
    return recorder().submit(record)


def may_go_on(call: Call, recorded: bool) -> bool:
    """Whether a call may wait or run, given whether its event says so already."""
    return recorded or not call.writes or not settings.AUDIT_REQUIRED


def note_waiting(call: Call) -> Receipt:
    """Commit a `waiting` event before a person is asked, which may take minutes."""
    record = call.inbound.record
    record.outcome = Outcome.WAITING
    try:
        return recorder().submit(record)
    finally:
        record.outcome = Outcome.STARTED


def begin(call: Call) -> Receipt | None:
    """Commit a `started` event before a tool that writes, or has waited, runs."""
    has_waited = call.inbound.record.pk is not None
    if not call.writes and not (call.runs and has_waited):
        return None
    return recorder().submit(call.inbound.record)


def as_http(reply: Reply) -> HttpReply:
    """A reply as a whole HTTP answer."""
    return HttpReply(reply.status, reply.body, reply.headers)


def worded(reply: HttpReply, accepts: Accepts) -> HttpReply:
    """`reply` as a stream of one event where the client would rather have that than JSON.

    A refusal is JSON whatever is accepted: nobody could read why otherwise.
    """
    if not accepts.prefers_events or reply.status != 200 or not reply.body:
        return reply
    return replace(reply, body=sse.event(reply.body), content_type=EVENT_STREAM)


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
