"""One HTTP request's way from a body to messages that dispatch takes, and back to one answer.

Nothing here waits: every door runs these steps in its own colour. The order is
`who → what → may it run`, and the first step that fails is the answer.
"""

import uuid
from dataclasses import dataclass, field
from typing import Final

from mcp_app.access.checks import CallerAccess
from mcp_app.dispatch.context import Caller, Cancellation, Outlet
from mcp_app.dispatch.dispatcher import (
    Dispatcher,
    Reply,
    internal_error,
    new_record,
    note_refusal,
    refusal_reply,
)
from mcp_app.dispatch.inputs import Inputs, RetriedInputs
from mcp_app.dispatch.interfaces import CallRecord, SessionState
from mcp_app.dispatch.listening import fingerprint
from mcp_app.dispatch.services import Inbound
from mcp_app.protocol import door, envelope, handshake
from mcp_app.protocol import headers as names
from mcp_app.protocol.errors import (
    InvalidRequest,
    ProtocolError,
    SessionNotFound,
)
from mcp_app.protocol.messages import (
    Batch,
    Malformed,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
    parse,
)
from mcp_app.protocol.methods import RECORDED
from mcp_app.protocol.route import Client, Route
from mcp_app.protocol.versions import Era, ProtocolVersion, of_era
from mcp_app.transports.asking import InputUnavailable, StreamInputs
from mcp_app.transports.bus import bus
from mcp_app.transports.callers import identify
from mcp_app.transports.gates import Accepts
from mcp_app.transports.incoming import HttpReply, Incoming
from mcp_app.transports.listening import SessionStream
from mcp_app.transports.postbox import deliver, session_topic
from mcp_app.transports.replay import NotResumable, find_position

_ONE_AT_A_TIME: Final = "This revision takes one message at a time."


@dataclass(slots=True, eq=False)
class Refused:
    """A message that never reached dispatch: its reply, and the event to store."""

    reply: Reply
    record: CallRecord


Item = Inbound | Refused


@dataclass(slots=True, eq=False)
class Entered:
    """What a body held: messages to answer, or an answer that needs none."""

    items: list[Item] = field(default_factory=list)
    is_batch: bool = False


class Exchange:
    """The steps for one request through one door."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        incoming: Incoming,
        accepts: Accepts,
        body: bytes,
        outlet: Outlet,
    ) -> None:
        self.dispatcher = dispatcher
        self.incoming = incoming
        # Where Django and DRF look for a body that was read: the host's classes may ask for it.
        incoming.request._body = body
        incoming.request.META["CONTENT_LENGTH"] = str(len(body))
        self.accepts = accepts
        self.outlet = outlet
        self.streams = incoming.streams and accepts.events
        self.parsed = parse(body, most=dispatcher.services.config.BATCH_LIMIT)
        self._versions: tuple[ProtocolVersion, ...] = dispatcher.services.config.versions

    # --- who and what ------------------------------------------------------------------------

    def enter(self) -> Entered:
        """Recognise the caller and route each message. Runs where the database may be asked."""
        record = self._record(self.parsed if not isinstance(self.parsed, Batch) else None)
        route = self._provisional_route()
        try:
            caller = identify(self.incoming, record)
            if isinstance(self.parsed, Batch):
                return self._enter_batch(self.parsed, caller, record)
            item = self._enter_one(self.parsed, caller, record)
            return Entered([item] if item is not None else [])
        except ProtocolError as error:
            return Entered([self._refused(route, record, self._request_id(), error)])
        except Exception:
            return Entered([self._broken(route, record)])

    def _enter_one(self, message: Message, caller: Caller, record: CallRecord) -> Item | None:
        if door.era_of(message, self.incoming.headers) is Era.MODERN:
            return self._enter_modern(message, caller, record)
        return self._enter_legacy(message, caller, record)

    def _enter_modern(self, message: Message, caller: Caller, record: CallRecord) -> Item | None:
        if isinstance(message, Notification):
            return None
        if not isinstance(message, Request):
            return self._refused(self._modern_route(), record, _id_of(message), _objection(message))
        route = envelope.open_envelope(message, self.incoming.headers, self._versions)
        if isinstance(route, ProtocolError):
            return self._refused(self._modern_route(), record, message.id, route)
        params = message.params or {}
        try:
            states = self.dispatcher.services.states
            inputs = RetriedInputs.of(states, route.version, route.capabilities, params)
        except ProtocolError as error:
            return self._refused(route, record, message.id, error)
        return self._inbound(message, route, caller, None, record, inputs=inputs)

    def _enter_legacy(self, message: Message, caller: Caller, record: CallRecord) -> Item | None:
        served = of_era(self._versions, Era.LEGACY)
        if isinstance(message, Malformed):
            return self._refused(self._provisional_route(), record, message.id, message.error)
        if not served:
            error = envelope.decline_handshake(message, self.incoming.headers, self._versions)
            return self._refused(self._modern_route(), record, _id_of(message), error)
        if isinstance(message, Request) and message.method == "initialize":
            route = handshake.opening_route(served)
            return self._inbound(message, route, caller, None, record, inputs=InputUnavailable())
        named = handshake.check_version_header(self.incoming.headers, served)
        session = self._session(message, caller)
        return self._later(message, caller, record, self._later_route(message, named, session))

    def _later(
        self,
        message: Message,
        caller: Caller,
        record: CallRecord,
        routed: tuple[Route, SessionState | None],
    ) -> Item | None:
        route, session = routed
        if isinstance(message, Request):
            return self._inbound(message, route, caller, session, record)
        if isinstance(message, Malformed):
            return self._refused(route, record, message.id, message.error)
        deliver(message, session, self.dispatcher.services.sessions)
        return None

    def _enter_batch(self, batch: Batch, caller: Caller, record: CallRecord) -> Entered:
        """2025-03-26 alone takes batches; every item is then let in by itself."""
        served = of_era(self._versions, Era.LEGACY)
        if not served or door.era_of_header(self.incoming.headers) is Era.MODERN:
            raise InvalidRequest(_ONE_AT_A_TIME)
        named = handshake.check_version_header(self.incoming.headers, served)
        session = self._session(None, caller)
        route, _ = self._later_route(None, named, session)
        self._check_batch(batch, route)
        entered = Entered(is_batch=True)
        for message in batch.messages:
            own = self._record(message)
            own.user, own.token, own.source = record.user, record.token, record.source
            own.token_lookup, own.address = record.token_lookup, record.address
            item = self._later(message, caller, own, self._later_route(message, named, session))
            if item is not None:
                entered.items.append(item)
        return entered

    def _check_batch(self, batch: Batch, route: Route) -> None:
        if not route.version.batches:
            raise InvalidRequest(_ONE_AT_A_TIME)
        if any(isinstance(m, Request) and m.method == "initialize" for m in batch.messages):
            raise InvalidRequest("initialize must not be part of a batch.")

    def _session(self, message: Message | None, caller: Caller) -> SessionState | None:
        """The session that the request names.

        Raises:
            SessionNotFound: it is unknown, over, another caller's, or of a revision that is not
                served any more.
            InvalidRequest: a request that wants an answer names none.
        """
        services = self.dispatcher.services
        if not services.config.LEGACY_SESSIONS:
            return None
        session_id = self.incoming.headers.get(names.SESSION_ID)
        if session_id is None:
            if isinstance(message, Notification | Response):
                return None
            raise InvalidRequest(
                "Send initialize first, then its Mcp-Session-Id with each request."
            )
        session = services.sessions.find(session_id, caller)
        served = [version.name for version in self._versions]
        if session is None or session.version not in served:
            raise SessionNotFound("No such session. Send initialize to begin a new one.")
        return session

    def _later_route(
        self, message: Message | None, named: ProtocolVersion | None, session: SessionState | None
    ) -> tuple[Route, SessionState | None]:
        request = message if isinstance(message, Request) else None
        if session is None:
            if request is not None and named is None:
                named = handshake.assumed_version(of_era(self._versions, Era.LEGACY))
            return handshake.later_route(request, named, None, Client(), {}), None
        client = Client(session.client_name, session.client_version)
        route = handshake.later_route(
            request,
            named,
            session.version,
            client,
            session.capabilities,
            log_level=session.log_level,
        )
        return route, session

    # --- ending a session --------------------------------------------------------------------

    def end_session(self) -> HttpReply | Refused:
        """DELETE (`2025-11-25 basic/transports` Session Management)."""
        record, route = self._record(None), self._provisional_route()
        record.method = self.incoming.method
        try:
            caller = identify(self.incoming, record)
            session_id = self.incoming.headers.get(names.SESSION_ID)
            if session_id is None:
                raise InvalidRequest("Name the session to end in Mcp-Session-Id.")
            if not self.dispatcher.services.sessions.end(session_id, caller):
                raise SessionNotFound("No such session.")
            bus.publish(session_topic(session_id), {"ended": True})
        except ProtocolError as error:
            return self._refused(route, record, None, error)
        except Exception:
            return self._broken(route, record)
        return HttpReply(204)

    # --- a session's own stream --------------------------------------------------------------

    def open_stream(self) -> Refused | SessionStream:
        """GET: whose stream, and from where (`2025-11-25 basic/transports` Listening)."""
        record, route = self._record(None), self._provisional_route()
        record.method = self.incoming.method
        try:
            caller = identify(self.incoming, record)
            served = of_era(self._versions, Era.LEGACY)
            named = handshake.check_version_header(self.incoming.headers, served)
            session = self._session(None, caller)
            routed, _ = self._later_route(None, named, session)
            return self._stream(routed, caller, session, record)
        except ProtocolError as error:
            return self._refused(route, record, None, error)
        except Exception:
            return self._broken(route, record)

    def _stream(
        self, route: Route, caller: Caller, session: SessionState | None, record: CallRecord
    ) -> SessionStream:
        assert session is not None, "the gate lets no GET in without a session"
        request = Request(0, "GET")
        inbound = self._inbound(request, route, caller, session, record, inputs=InputUnavailable())
        last_event_id = self.incoming.headers.get(names.LAST_EVENT_ID)
        if last_event_id is not None:
            try:
                return SessionStream(inbound, find_position(session.session_id, last_event_id))
            except NotResumable:
                raise InvalidRequest("No stream of this session can be resumed there.") from None
        services = self.dispatcher.services
        known = {kind: fingerprint(kind, inbound, services) for kind in services.server.kinds()}
        return SessionStream(inbound, fingerprints=known)

    # --- building blocks ---------------------------------------------------------------------

    def _inbound(
        self,
        request: Request,
        route: Route,
        caller: Caller,
        session: SessionState | None,
        record: CallRecord,
        *,
        inputs: Inputs | None = None,
    ) -> Inbound:
        record.protocol_version = route.version.name
        record.client_name, record.client_version = route.client.name, route.client.version
        record.session_id = session.session_id if session is not None else ""
        access = CallerAccess(caller, lambda: self.incoming.request)
        cancellation = Cancellation()
        return Inbound(
            request=request,
            route=route,
            headers=self.incoming.headers,
            caller=caller,
            access=access,
            session=session,
            record=record,
            outlet=self.outlet,
            inputs=inputs or self._asking(route, session, cancellation),
            http_request=lambda: self.incoming.request,
            streams=self.streams,
            cancellation=cancellation,
        )

    def _asking(
        self, route: Route, session: SessionState | None, cancellation: Cancellation
    ) -> Inputs:
        """How a call of a session reaches its client: on the stream that answers it."""
        if session is None or not self.streams:
            return InputUnavailable()
        return StreamInputs(
            session.session_id, route.version, route.capabilities, self.outlet, cancellation
        )

    def _record(self, message: Message | None) -> CallRecord:
        record = new_record(transport=self.incoming.transport, correlation_id=uuid.uuid4().hex)
        if isinstance(message, Request):
            record.method, record.request_id = message.method, message.id
            name = (message.params or {}).get("name")
            if message.method in RECORDED and isinstance(name, str):
                record.tool = name
        return record

    def _refused(
        self, route: Route, record: CallRecord, request_id: RequestId | None, error: ProtocolError
    ) -> Refused:
        note_refusal(record, error)
        record.protocol_version = self.incoming.headers.get(names.PROTOCOL_VERSION, "")
        return Refused(refusal_reply(route, request_id, error), record)

    def _broken(self, route: Route, record: CallRecord) -> Refused:
        error = internal_error(record)
        return Refused(refusal_reply(route, self._request_id(), error), record)

    def _provisional_route(self) -> Route:
        """How to word a refusal before the message is routed."""
        message = self.parsed
        era = (
            door.era_of_header(self.incoming.headers)
            if isinstance(message, Batch)
            else door.era_of(message, self.incoming.headers)
        )
        served = of_era(self._versions, Era.LEGACY)
        if era is Era.MODERN or not served:
            return self._modern_route()
        return handshake.opening_route(served)

    def _modern_route(self) -> Route:
        served = of_era(self._versions, Era.MODERN) or self._versions
        return Route(version=served[0], dialect=envelope.DIALECT)

    def _request_id(self) -> RequestId | None:
        return None if isinstance(self.parsed, Batch) else _id_of(self.parsed)


def _id_of(message: Message) -> RequestId | None:
    return message.id if isinstance(message, Request | Malformed) else None


def _objection(message: Message) -> ProtocolError:
    if isinstance(message, Malformed):
        return message.error
    return InvalidRequest("A client of this revision sends no responses.")
