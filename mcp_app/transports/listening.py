"""Opens the streams that stay open, for whoever was let in."""

import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace

from mcp_app.access.checks import CallerAccess
from mcp_app.auth.liveness import refreshed
from mcp_app.dispatch.context import Caller
from mcp_app.dispatch.handlers import server_info
from mcp_app.dispatch.interfaces import SessionState
from mcp_app.dispatch.listening import Credential, Interest, Listening, fingerprint
from mcp_app.dispatch.services import Inbound, Services
from mcp_app.models import Token
from mcp_app.protocol import messages, sse
from mcp_app.protocol.envelope import SUBSCRIPTION_KEY
from mcp_app.transports import roots
from mcp_app.transports.bus import bus
from mcp_app.transports.live import LiveStream
from mcp_app.transports.postbox import session_topic
from mcp_app.transports.replay import Position
from mcp_app.transports.writing import ResumedStream


@dataclass(frozen=True, slots=True)
class SessionStream:
    """A GET that was let in: the session's own stream, or the rest of another from a position."""

    inbound: Inbound
    position: Position | None = None
    fingerprints: Mapping[str, str] = field(default_factory=dict)


def listen_stream(listening: Listening, services: Services) -> AsyncIterator[bytes]:
    """A modern subscription: acknowledged first, tagged throughout, a result at its end."""
    inbound, interest = listening.inbound, listening.interest
    tag = {SUBSCRIPTION_KEY: inbound.request.id}
    acknowledged = messages.notification(
        "notifications/subscriptions/acknowledged",
        {"notifications": interest.as_filter(), "_meta": tag},
    )
    ended = inbound.route.dialect.complete({"_meta": tag}, server_info(services), None)
    closing = sse.event(messages.dumps(messages.result_response(inbound.request.id, ended)))
    stream = LiveStream(
        credential=credential_of(inbound.caller, None),
        interest=interest,
        fingerprints=lambda: fingerprints(inbound, interest, services),
        tag=tag,
        opening=sse.event(messages.dumps(acknowledged)),
        closing=closing,
        known=listening.fingerprints,
    )
    if not interest.kinds and not interest.uris:
        stream.end()
    return stream.chunks()


def get_stream(opened: SessionStream, services: Services) -> AsyncIterator[bytes]:
    """A handshake session's stream."""
    inbound = opened.inbound
    if opened.position is not None:
        return ResumedStream(
            opened.position, credential_of(inbound.caller, inbound.session)
        ).chunks()
    session = inbound.session
    assert session is not None, "a GET without a session is refused"
    interest = Interest(services.server.kinds(), frozenset(session.subscriptions))
    # The same message must not go out on two streams: the newest of a session is the one.
    name = uuid.uuid4().hex
    bus.publish(session_topic(session.session_id), {"listener": name})
    stream = LiveStream(
        opening=_session_opening(session),
        credential=credential_of(inbound.caller, session),
        interest=interest,
        fingerprints=lambda: fingerprints(inbound, interest, services),
        known=opened.fingerprints,
        name=name,
    )
    return stream.chunks()


def _session_opening(session: SessionState) -> bytes:
    """A comment, and the question for its roots where they are not known."""
    request = roots.request_for(session) if session.roots is None else None
    asked = b"" if request is None else sse.event(messages.dumps(request))
    return sse.COMMENT + asked


def credential_of(caller: Caller, session: SessionState | None) -> Credential:
    """What a stream's life hangs on."""
    token = caller.auth if isinstance(caller.auth, Token) else None
    return Credential(
        user_id=caller.user.pk,
        token_id=token.pk if token is not None else None,
        session_id=session.session_id if session is not None else None,
    )


def fingerprints(
    inbound: Inbound, interest: Interest, services: Services
) -> Mapping[str, str] | None:
    """The caller's lists as they are now; None for a caller who is not let in any more."""
    caller = refreshed(inbound.caller)
    if caller is None:
        return None
    request = inbound.http_request
    fresh = replace(inbound, caller=caller, access=CallerAccess(caller, request))
    return {kind: fingerprint(kind, fresh, services) for kind in interest.kinds}
