"""Opens the streams that stay open, for whoever was let in."""

import uuid
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mcp_app.access.checks import CallerAccess
from mcp_app.auth.liveness import Recall, ends_at, recall
from mcp_app.catalog.definition import Declaration
from mcp_app.dispatch.context import Caller
from mcp_app.dispatch.handlers import server_info
from mcp_app.dispatch.interfaces import SessionState
from mcp_app.dispatch.listening import Credential, Interest, Listening, digest_of
from mcp_app.dispatch.services import Inbound, Services, may_use
from mcp_app.models import Token
from mcp_app.protocol import messages, sse
from mcp_app.protocol.envelope import SUBSCRIPTION_KEY
from mcp_app.protocol.versions import ProtocolVersion
from mcp_app.transports import roots
from mcp_app.transports.about import About, StreamKind
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


class SessionWording:
    """That of a handshake session's stream."""

    __slots__ = ("_question",)

    def __init__(self, question: bytes) -> None:
        self._question = question

    def opening(self) -> bytes:
        """A comment, by which proxies see traffic, and what is asked at once."""
        asked, self._question = self._question, b""
        return sse.COMMENT + asked

    def notice(self, method: str, params: Mapping[str, Any]) -> bytes:
        """One event."""
        return sse.event(messages.dumps(messages.notification(method, params)))

    def closing(self) -> bytes:
        """Nothing."""
        return b""


class ListenWording:
    """That of a modern subscription: acknowledged, tagged throughout, a result at its end."""

    __slots__ = ("_acknowledged", "_dialect", "_request_id", "_server_info")

    def __init__(self, listening: Listening, services: Services) -> None:
        self._request_id = listening.inbound.request.id
        self._dialect = listening.inbound.route.dialect
        self._acknowledged = listening.interest
        self._server_info = server_info(services, listening.inbound.access)

    @property
    def _meta(self) -> dict[str, Any]:
        return {SUBSCRIPTION_KEY: self._request_id}

    def opening(self) -> bytes:
        """What of the filter is honoured."""
        method = "notifications/subscriptions/acknowledged"
        return self.notice(method, {"notifications": self._acknowledged.as_filter()})

    def notice(self, method: str, params: Mapping[str, Any]) -> bytes:
        """One event, with the subscription's id."""
        tagged = {**params, "_meta": self._meta}
        return sse.event(messages.dumps(messages.notification(method, tagged)))

    def closing(self) -> bytes:
        """The response to the request that asked for it."""
        ended = self._dialect.complete({"_meta": self._meta}, self._server_info, None)
        return sse.event(messages.dumps(messages.result_response(self._request_id, ended)))


@dataclass(frozen=True, slots=True)
class Look:
    """Another look at a caller's lists, by what takes little to keep."""

    recall: Recall
    http_request: Callable[[], Any]
    version: ProtocolVersion
    kinds: frozenset[str]
    services: Services

    @classmethod
    def of(cls, inbound: Inbound, interest: Interest, services: Services) -> "Look":
        """At the lists that are of interest to the caller of a request."""
        version = inbound.route.version
        return cls(recall(inbound.caller), inbound.http_request, version, interest.kinds, services)

    def __call__(self) -> Mapping[str, str] | None:
        """A digest of each list; None for a caller who is not let in any more."""
        usable, server = self._usable(), self.services.server
        if usable is None:
            return None
        return {kind: digest_of(kind, self.version, usable, server) for kind in self.kinds}

    def readable(self, uris: Iterable[str]) -> list[str]:
        """Those of the resources that the caller may read now."""
        usable = self._usable()
        if usable is None:
            return []
        found = [(uri, self.services.server.find_resource(uri)) for uri in uris]
        return [uri for uri, one in found if one is not None and usable(one[0])]

    def _usable(self) -> Callable[[Declaration], bool] | None:
        """What the caller may use; None for one who is not let in any more."""
        caller = self.recall()
        if caller is None:
            return None
        access = CallerAccess(caller, self.http_request, self.services.server)
        return partial(may_use, access, caller)


def listen_stream(listening: Listening, services: Services) -> LiveStream:
    """A modern subscription."""
    inbound, interest = listening.inbound, listening.interest
    stream = LiveStream(
        credential_of(inbound.caller, None),
        interest,
        Look.of(inbound, interest, services),
        known=listening.fingerprints,
        wording=ListenWording(listening, services),
        about=About.of(StreamKind.LISTEN, inbound),
    )
    if not interest.kinds and not interest.uris:
        stream.end()
    return stream


def get_stream(opened: SessionStream, services: Services) -> AsyncIterable[bytes]:
    """A handshake session's stream."""
    inbound = opened.inbound
    if opened.position is not None:
        return ResumedStream(
            opened.position,
            credential_of(inbound.caller, inbound.session),
            About.of(StreamKind.REPLAY, inbound),
        ).chunks()
    session = inbound.session
    assert session is not None, "a GET without a session is refused"
    interest = Interest(services.server.kinds(), frozenset(session.subscriptions))
    # The same message must not go out on two streams: the newest of a session is the one.
    name = uuid.uuid4().hex
    bus.publish(session_topic(session.session_id), {"listener": name})
    return LiveStream(
        credential_of(inbound.caller, session),
        interest,
        Look.of(inbound, interest, services),
        wording=SessionWording(_question(session)),
        about=About.of(StreamKind.SESSION, inbound),
        known=opened.fingerprints,
        name=name,
    )


def _question(session: SessionState) -> bytes:
    """What a session is asked at the beginning: for its roots, where they are not known."""
    request = roots.request_for(session) if session.roots is None else None
    return b"" if request is None else sse.event(messages.dumps(request))


def credential_of(caller: Caller, session: SessionState | None) -> Credential:
    """What a stream's life hangs on."""
    token = caller.auth if isinstance(caller.auth, Token) else None
    return Credential(
        user_id=caller.user.pk,
        token_id=token.pk if token is not None else None,
        session_id=session.session_id if session is not None else None,
        token_lookup=caller.token_lookup,
        ends_at=ends_at(token) if token is not None else None,
    )
