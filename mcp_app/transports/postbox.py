"""What a handshake client tells the server without wanting an answer: answers, cancels, roots.

None of it is ever refused: `2025-11-25 basic/utilities/cancellation` Error Handling.
"""

from collections.abc import Callable, Mapping
from typing import Any

from mcp_app.dispatch.interfaces import SessionState, SessionStore
from mcp_app.dispatch.services import Inbound
from mcp_app.protocol.messages import Message, Notification, Response
from mcp_app.transports import roots
from mcp_app.transports.asking import post_answer
from mcp_app.transports.bus import Subscription, bus


def cancel_topic(session_id: str) -> str:
    """Where a session's cancellations are told."""
    return f"cancel:{session_id}"


def session_topic(session_id: str) -> str:
    """Where it is told that a session has changed or ended."""
    return f"session:{session_id}"


def deliver(message: Message, session: SessionState | None, sessions: SessionStore) -> None:
    """Act on a notification or a response from the client of `session`."""
    if session is None:
        return
    if isinstance(message, Response):
        roots.remember(session, message.id, message.result, sessions)
        post_answer(session.session_id, message.id, message.result, message.error)
    elif isinstance(message, Notification):
        _note(message, session, sessions)


def _note(message: Notification, session: SessionState, sessions: SessionStore) -> None:
    if message.method == "notifications/cancelled":
        asked = (message.params or {}).get("requestId")
        bus.publish(cancel_topic(session.session_id), {"id": asked})
    elif message.method == "notifications/roots/list_changed":
        # What was known of the roots is no longer so.
        sessions.update(session.session_id, roots=None)
        request = roots.request_for(session)
        if request is not None:
            bus.publish(session_topic(session.session_id), {"request": request})


def hear_cancellation(inbound: Inbound, stop: Callable[[], None]) -> Subscription | None:
    """Call `stop` when this very request of this session is cancelled."""
    if inbound.session is None:
        return None
    own = inbound.request.id

    def listener(topic: str, message: Mapping[str, Any]) -> None:
        asked = message.get("id")
        # In JSON 1 and "1" are two requests, and so are 1 and true.
        if type(asked) is type(own) and asked == own:
            stop()

    return bus.subscribe(cancel_topic(inbound.session.session_id), listener=listener)
