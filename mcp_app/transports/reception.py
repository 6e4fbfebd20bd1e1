"""One HTTP request as it is received: who asks, in which session, and how to refuse it.

What every kind of request shares; `exchange` takes bodies, `session_requests` the rest.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from django.http import HttpRequest

from mcp_app.access.checks import CallerAccess
from mcp_app.access.in_force import Announced
from mcp_app.auth.liveness import recall
from mcp_app.dispatch.context import Caller, Cancellation, Outlet
from mcp_app.dispatch.dispatcher import (
    Dispatcher,
    Reply,
    internal_error,
    new_record,
    note_refusal,
    refusal_reply,
)
from mcp_app.dispatch.inputs import Inputs, InputUnavailable
from mcp_app.dispatch.interfaces import CallRecord, SessionState
from mcp_app.dispatch.services import Inbound, Standing
from mcp_app.protocol import door, envelope, handshake
from mcp_app.protocol import headers as names
from mcp_app.protocol.errors import InvalidRequest, ProtocolError, SessionNotFound
from mcp_app.protocol.messages import (
    Batch,
    Malformed,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
)
from mcp_app.protocol.methods import RECORDED
from mcp_app.protocol.route import Client, Route
from mcp_app.protocol.versions import Era, ProtocolVersion, of_era
from mcp_app.transports.asking import StreamInputs
from mcp_app.transports.incoming import Incoming


@dataclass(slots=True, eq=False)
class Refused:
    """A message that never reached dispatch: its reply, and the event to store."""

    reply: Reply
    record: CallRecord


class Reception:
    """What the steps for any request have in common.

    Args:
        parsed: what its body held; None for a request that needs none, or while it is not read.
        streams: whether its answer can be kept open.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        incoming: Incoming,
        outlet: Outlet,
        parsed: Message | Batch | None,
        *,
        streams: bool,
    ) -> None:
        self.dispatcher = dispatcher
        self.incoming = incoming
        self.outlet = outlet
        self.parsed = parsed
        self.streams = streams
        self.versions: tuple[ProtocolVersion, ...] = dispatcher.services.config.versions
        self.announced = Announced(dispatcher.services.server.name)

    def session(self, message: Message | None, caller: Caller) -> SessionState | None:
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
        served = [version.name for version in self.versions]
        if session is None or session.version not in served:
            raise SessionNotFound("No such session. Send initialize to begin a new one.")
        return session

    def later_route(
        self, message: Message | None, named: ProtocolVersion | None, session: SessionState | None
    ) -> Route:
        """How a message after the handshake is answered: as its session, or its header, says."""
        request = message if isinstance(message, Request) else None
        if session is None:
            if request is not None and named is None:
                named = handshake.assumed_version(of_era(self.versions, Era.LEGACY))
            return handshake.later_route(request, named, None, Client(), {})
        client = Client(session.client_name, session.client_version)
        return handshake.later_route(
            request,
            named,
            session.version,
            client,
            session.capabilities,
            log_level=session.log_level,
        )

    def inbound(
        self,
        request: Request,
        route: Route,
        caller: Caller,
        session: SessionState | None,
        record: CallRecord,
        *,
        inputs: Inputs | None = None,
    ) -> Inbound:
        """The message with all that is known about it, for dispatch."""
        record.protocol_version = route.version.name
        record.client_name, record.client_version = route.client.name, route.client.version
        record.session_id = session.session_id if session is not None else ""
        access = self._access(caller, route, lambda: self.incoming.request, self.announced)
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
            http_request=self.incoming.again,
            streams=self.streams,
            renew=partial(self._renewed, caller, route),
            cancellation=cancellation,
        )

    def _access(
        self,
        caller: Caller,
        route: Route,
        request: Callable[[], HttpRequest],
        announced: Announced | None = None,
    ) -> CallerAccess:
        return CallerAccess(caller, request, self.dispatcher.services.server, route, announced)

    def _renewed(self, caller: Caller, route: Route) -> Standing | None:
        """Who the caller is by now; runs where the database may be asked."""
        found = recall(caller)()
        if found is None:
            return None
        return found, self._access(found, route, self.incoming.again)

    def _asking(
        self, route: Route, session: SessionState | None, cancellation: Cancellation
    ) -> Inputs:
        """How a call of a session reaches its client: on the stream that answers it."""
        if session is None or not self.streams:
            return InputUnavailable()
        return StreamInputs(
            session.session_id, route.version, route.capabilities, self.outlet, cancellation
        )

    def record(self, message: Message | None) -> CallRecord:
        """The event that a message, or a request without one, begins."""
        record = new_record(transport=self.incoming.transport, correlation_id=secrets.token_hex(16))
        self.describe(record, message)
        return record

    def describe(self, record: CallRecord, message: Message | None) -> None:
        """Note what a request asks for."""
        if isinstance(message, Request):
            record.method, record.request_id = message.method, message.id
            name = (message.params or {}).get("name")
            if message.method in RECORDED and isinstance(name, str):
                record.tool = name

    def refused(
        self, route: Route, record: CallRecord, request_id: RequestId | None, error: ProtocolError
    ) -> Refused:
        """The answer to what a caller did wrong, and its event."""
        note_refusal(record, error)
        record.protocol_version = self.incoming.headers.get(names.PROTOCOL_VERSION, "")
        return Refused(refusal_reply(route, request_id, error), record)

    def broken(self, route: Route, record: CallRecord) -> Refused:
        """The answer to a fault of this code. Called while the exception is handled."""
        error = internal_error(record)
        return Refused(refusal_reply(route, self.request_id(), error), record)

    def provisional_route(self) -> Route:
        """How to word a refusal before the message is routed."""
        message = self.parsed
        era = (
            door.era_of_header(self.incoming.headers)
            if message is None or isinstance(message, Batch)
            else door.era_of(message, self.incoming.headers)
        )
        served = of_era(self.versions, Era.LEGACY)
        if era is Era.MODERN or not served:
            return self.modern_route()
        return handshake.opening_route(served)

    def modern_route(self) -> Route:
        """How to word a refusal to a modern client."""
        served = of_era(self.versions, Era.MODERN) or self.versions
        return Route(version=served[0], dialect=envelope.DIALECT)

    def request_id(self) -> RequestId | None:
        """The id of a lone message that has one."""
        return id_of(self.parsed)


def id_of(message: Message | Batch | None) -> RequestId | None:
    """A message's id, where it has one that can be read."""
    return message.id if isinstance(message, Request | Malformed) else None
