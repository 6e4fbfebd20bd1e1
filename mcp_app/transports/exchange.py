"""One HTTP request's way from a body to messages that dispatch takes, and back to one answer.

Nothing here waits: every door runs these steps in its own colour. The order is
`who → what → may it run`, and the first step that fails is the answer.
"""

import time
from dataclasses import dataclass, field
from typing import Final

from mcp_app.auth.presented import FRESH
from mcp_app.dispatch.context import Caller, Outlet
from mcp_app.dispatch.dispatcher import Dispatcher
from mcp_app.dispatch.inputs import InputUnavailable, RetriedInputs
from mcp_app.dispatch.interfaces import CallRecord, SessionState
from mcp_app.dispatch.services import Inbound
from mcp_app.protocol import door, envelope, handshake
from mcp_app.protocol.errors import InvalidRequest, ProtocolError
from mcp_app.protocol.messages import Batch, Malformed, Message, Notification, Request, parse
from mcp_app.protocol.route import Route
from mcp_app.protocol.versions import Era, of_era
from mcp_app.transports.callers import identify
from mcp_app.transports.gates import Accepts
from mcp_app.transports.incoming import Incoming
from mcp_app.transports.postbox import deliver
from mcp_app.transports.reception import Reception, Refused, id_of

_ONE_AT_A_TIME: Final = "This revision takes one message at a time."

_AT_ONCE: Final = 16 * 1024
"""Bytes of a body that is parsed before its sender is known: a refusal has the message's id."""

Item = Inbound | Refused


@dataclass(slots=True, eq=False)
class Entered:
    """What a body held: messages to answer, or an answer that needs none."""

    items: list[Item] = field(default_factory=list)
    is_batch: bool = False


class Exchange(Reception):
    """The steps for one body through one door."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        incoming: Incoming,
        accepts: Accepts,
        body: bytes,
        outlet: Outlet,
    ) -> None:
        incoming.hold(body)
        self._body = body
        self._known_until = time.monotonic() + FRESH
        streams = incoming.streams and accepts.events
        super().__init__(dispatcher, incoming, outlet, None, streams=streams)
        if len(body) <= _AT_ONCE:
            self._read()

    def enter(self) -> Entered:
        """Recognise the caller and route each message. Runs where the database may be asked."""
        record = self.record(self._lone())
        try:
            caller = identify(self.incoming, record)
            message = self.parsed
            if message is None:
                message = self._read()
                self.describe(record, self._lone())
            if isinstance(message, Batch):
                return self._enter_batch(message, caller, record)
            item = self._enter_one(message, caller, record)
            return Entered([item] if item is not None else [])
        except ProtocolError as error:
            route = self.provisional_route()
            return Entered([self.refused(route, record, self.request_id(), error)])
        except BaseException:
            # An authentication class may raise anything, and must end neither thread nor loop.
            return Entered([self.broken(self.provisional_route(), record)])

    def _read(self) -> Message | Batch:
        config = self.dispatcher.services.config
        message = parse(self._body, most=config.BATCH_LIMIT, values=config.MAX_BODY_VALUES)
        self.parsed = message
        return message

    def _lone(self) -> Message | None:
        """The message, where one was read that stands alone."""
        return None if isinstance(self.parsed, Batch) else self.parsed

    def _enter_one(self, message: Message, caller: Caller, record: CallRecord) -> Item | None:
        if door.era_of(message, self.incoming.headers) is Era.MODERN:
            return self._enter_modern(message, caller, record)
        return self._enter_legacy(message, caller, record)

    def _enter_modern(self, message: Message, caller: Caller, record: CallRecord) -> Item | None:
        if isinstance(message, Notification):
            return None
        if not isinstance(message, Request):
            return self.refused(self.modern_route(), record, id_of(message), _objection(message))
        route = envelope.open_envelope(message, self.incoming.headers, self.versions)
        if isinstance(route, ProtocolError):
            return self.refused(self.modern_route(), record, message.id, route)
        params = message.params or {}
        try:
            states = self.dispatcher.services.states
            inputs = RetriedInputs.of(states, route.version, route.capabilities, params)
        except ProtocolError as error:
            return self.refused(route, record, message.id, error)
        return self.inbound(message, route, caller, None, record, inputs=inputs)

    def _enter_legacy(self, message: Message, caller: Caller, record: CallRecord) -> Item | None:
        served = of_era(self.versions, Era.LEGACY)
        if isinstance(message, Malformed):
            return self.refused(self.provisional_route(), record, message.id, message.error)
        if not served:
            error = envelope.decline_handshake(message, self.incoming.headers, self.versions)
            return self.refused(self.modern_route(), record, id_of(message), error)
        if isinstance(message, Request) and message.method == "initialize":
            route = handshake.opening_route(served)
            return self.inbound(message, route, caller, None, record, inputs=InputUnavailable())
        named = handshake.check_version_header(self.incoming.headers, served)
        session = self.session(message, caller)
        return self._later(
            message, caller, record, self.later_route(message, named, session), session
        )

    def _later(
        self,
        message: Message,
        caller: Caller,
        record: CallRecord,
        route: Route,
        session: SessionState | None,
    ) -> Item | None:
        if isinstance(message, Request):
            return self.inbound(message, route, caller, session, record)
        if isinstance(message, Malformed):
            return self.refused(route, record, message.id, message.error)
        deliver(message, session, self.dispatcher.services.sessions)
        return None

    def _enter_batch(self, batch: Batch, caller: Caller, record: CallRecord) -> Entered:
        """2025-03-26 alone takes batches; every item is then let in by itself."""
        served = of_era(self.versions, Era.LEGACY)
        if not served or door.era_of_header(self.incoming.headers) is Era.MODERN:
            raise InvalidRequest(_ONE_AT_A_TIME)
        named = handshake.check_version_header(self.incoming.headers, served)
        session = self.session(None, caller)
        self._check_batch(batch, self.later_route(None, named, session))
        entered = Entered(is_batch=True)
        for message in batch.messages:
            own = self.record(message)
            own.user, own.token, own.source = record.user, record.token, record.source
            own.token_lookup, own.address = record.token_lookup, record.address
            route = self.later_route(message, named, session)
            item = self._later(message, caller, own, route, session)
            if isinstance(item, Inbound):
                item.known_until = self._known_until
            if item is not None:
                entered.items.append(item)
        return entered

    def _check_batch(self, batch: Batch, route: Route) -> None:
        if not route.version.batches:
            raise InvalidRequest(_ONE_AT_A_TIME)
        if any(isinstance(m, Request) and m.method == "initialize" for m in batch.messages):
            raise InvalidRequest("initialize must not be part of a batch.")


def _objection(message: Message) -> ProtocolError:
    if isinstance(message, Malformed):
        return message.error
    return InvalidRequest("A client of this revision sends no responses.")
