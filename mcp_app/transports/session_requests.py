"""Requests about a handshake session itself: its own stream (GET), and its end (DELETE)."""

from mcp_app.dispatch.context import Caller, Silence
from mcp_app.dispatch.dispatcher import Dispatcher
from mcp_app.dispatch.inputs import InputUnavailable
from mcp_app.dispatch.interfaces import CallRecord, SessionState
from mcp_app.dispatch.listening import fingerprint
from mcp_app.protocol import handshake
from mcp_app.protocol import headers as names
from mcp_app.protocol.errors import InvalidRequest, ProtocolError, SessionNotFound
from mcp_app.protocol.messages import Request
from mcp_app.protocol.route import Route
from mcp_app.protocol.versions import Era, of_era
from mcp_app.transports.bus import bus
from mcp_app.transports.callers import identify
from mcp_app.transports.incoming import HttpReply, Incoming
from mcp_app.transports.listening import SessionStream
from mcp_app.transports.postbox import session_topic
from mcp_app.transports.reception import Reception, Refused
from mcp_app.transports.replay import NotResumable, find_position


class SessionRequest(Reception):
    """The steps for a request without a body. Each runs where the database may be asked."""

    def __init__(self, dispatcher: Dispatcher, incoming: Incoming) -> None:
        super().__init__(dispatcher, incoming, Silence(), None, streams=incoming.streams)

    def end_session(self) -> HttpReply | Refused:
        """DELETE (`2025-11-25 basic/transports` Session Management)."""
        record, route = self.record(None), self.provisional_route()
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
            return self.refused(route, record, None, error)
        except BaseException:
            return self.broken(route, record)
        return HttpReply(204)

    def open_stream(self) -> Refused | SessionStream:
        """GET: whose stream, and from where (`2025-11-25 basic/transports` Listening)."""
        record, route = self.record(None), self.provisional_route()
        record.method = self.incoming.method
        try:
            caller = identify(self.incoming, record)
            served = of_era(self.versions, Era.LEGACY)
            named = handshake.check_version_header(self.incoming.headers, served)
            session = self.session(None, caller)
            route = self.later_route(None, named, session)
            return self._stream(route, caller, session, record)
        except ProtocolError as error:
            return self.refused(route, record, None, error)
        except BaseException:
            return self.broken(route, record)

    def _stream(
        self, route: Route, caller: Caller, session: SessionState | None, record: CallRecord
    ) -> SessionStream:
        assert session is not None, "the gate lets no GET in without a session"
        request = Request(0, "GET")
        inbound = self.inbound(request, route, caller, session, record, inputs=InputUnavailable())
        last_event_id = self.incoming.headers.get(names.LAST_EVENT_ID)
        if last_event_id is not None:
            try:
                return SessionStream(inbound, find_position(session.session_id, last_event_id))
            except NotResumable:
                raise InvalidRequest("No stream of this session can be resumed there.") from None
        services = self.dispatcher.services
        known = {kind: fingerprint(kind, inbound, services) for kind in services.server.kinds()}
        return SessionStream(inbound, fingerprints=known)
