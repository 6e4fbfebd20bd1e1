"""One server's endpoint: its collaborators, and the two colours of answering a request."""

import hashlib
import hmac
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from asgiref.sync import async_to_sync
from django.conf import settings as django_settings

from mcp_app.auth.sessions import DatabaseSessions
from mcp_app.auth.states import SignedStates
from mcp_app.catalog.registry import MCPServer, default_server
from mcp_app.conf import settings
from mcp_app.dispatch.calls import Call
from mcp_app.dispatch.context import Silence
from mcp_app.dispatch.dispatcher import Dispatcher, Reply
from mcp_app.dispatch.receipts import Receipt
from mcp_app.dispatch.services import Inbound, Services
from mcp_app.integrations.values import explain
from mcp_app.protocol import envelope, handshake
from mcp_app.protocol.door import era_of_header
from mcp_app.protocol.errors import InvalidRequest, ProtocolError
from mcp_app.protocol.messages import dumps
from mcp_app.protocol.versions import Era, of_era
from mcp_app.transports import cors, gates, refusals, shutdown
from mcp_app.transports.bus import bus
from mcp_app.transports.callers import scope_challenge
from mcp_app.transports.conversation import Conversation
from mcp_app.transports.exchange import Exchange
from mcp_app.transports.incoming import HttpReply, Incoming
from mcp_app.transports.postbox import session_topic
from mcp_app.transports.reception import Refused
from mcp_app.transports.replies import as_http, begin, combine, conclude, may_go_on, worded
from mcp_app.transports.session_requests import SessionRequest
from mcp_app.transports.stopping import stoppable
from mcp_app.work import promises, transactions

NOT_FOUND: Final = HttpReply(404)


class Endpoint:
    """Answers requests for one `MCPServer`; the doors own the bytes, this owns the order."""

    def __init__(self, server: MCPServer) -> None:
        self.server = server
        self.dispatcher = Dispatcher(
            Services(
                server=server,
                sessions=DatabaseSessions(),
                config=settings,
                transaction=transactions.around,
                promise=promises.kept,
                explain=explain,
                cursor_key=_cursor_key,
                challenge=scope_challenge,
                states=SignedStates(),
                session_changed=lambda key, changes: bus.publish(session_topic(key), changes),
            )
        )

    def gate(self, incoming: Incoming) -> HttpReply | None:
        """Everything that is decided before the body is read; None lets the request in."""
        if not settings.enabled:
            return NOT_FOUND
        if incoming.streams:
            shutdown.hear()
        try:
            return self._pass(incoming)
        except ProtocolError as error:
            return turn_away(incoming, error)

    def _pass(self, incoming: Incoming) -> HttpReply | None:
        is_preflight = cors.is_preflight(incoming)
        if not is_preflight:
            gates.check_method(incoming)
        gates.check_host(incoming)
        gates.check_origin(incoming)
        if is_preflight:
            return cors.preflight(self.server, incoming)
        gates.check_query(incoming)
        if incoming.method == "POST":
            gates.check_declared_size(incoming)
            gates.check_media_type(incoming)
        gates.negotiate(incoming)
        return None

    def answer(self, incoming: Incoming, body: bytes) -> HttpReply:
        """Answer in this thread: nothing streams, and an async tool gets a loop of its own."""
        accepts = gates.negotiate(incoming)
        if incoming.method == "DELETE":
            return self._ended(SessionRequest(self.dispatcher, incoming).end_session())
        exchange = Exchange(self.dispatcher, incoming, accepts, body, Silence())
        entered = exchange.enter()
        replies = [self.reply(item) for item in entered.items]
        return worded(combine(replies, is_batch=entered.is_batch), accepts)

    def converse(self, incoming: Incoming, body: bytes) -> Conversation:
        """Answer on the running event loop; the conversation may stream and may be hung up on."""
        return Conversation(self.dispatcher, incoming, gates.negotiate(incoming), body)

    def _ended(self, item: HttpReply | Refused) -> HttpReply:
        return as_http(self.reply(item)) if isinstance(item, Refused) else item

    def reply(self, item: Inbound | Refused) -> Reply:
        """Answer one message in this thread; its event is committed when this returns."""
        if isinstance(item, Refused):
            _wait(conclude(item.record, ""))
            return item.reply
        prepared = self.dispatcher.prepare(item)
        reply = self._run(prepared) if isinstance(prepared, Call) else prepared
        assert isinstance(reply, Reply), "nothing listens where nothing streams"
        _wait(conclude(item.record, item.request.method))
        return reply

    def _run(self, call: Call) -> Reply:
        ended = self.dispatcher.agree(call)
        if ended is not None:
            return self.dispatcher.finish(call, ended)
        if not may_go_on(call, _wait(begin(call))):
            return self.dispatcher.withhold(call.inbound)
        with stoppable(call.inbound, in_log=call.writes):
            if call.target.is_async:
                ran = async_to_sync(self.dispatcher.arun)(call)
            else:
                ran = self.dispatcher.run(call)
        return self.dispatcher.finish(call, ran)


def turn_away(incoming: Incoming, error: ProtocolError) -> HttpReply:
    """A gate's refusal, of which the log hears once a kind."""
    refusals.note(error, incoming)
    return refused(incoming.headers, error)


def unreadable(headers: Mapping[str, str]) -> HttpReply:
    """The answer to what Django cannot make a request of, which no gate can look at."""
    if not settings.enabled:
        return NOT_FOUND
    error = InvalidRequest("The query string or the Content-Type cannot be read.")
    refusals.note_unreadable(error, headers)
    return refused(headers, error)


def refused(headers: Mapping[str, str], error: ProtocolError) -> HttpReply:
    """A gate's refusal: the message was not read, so it has no id."""
    is_modern = era_of_header(headers) is Era.MODERN or not of_era(settings.versions, Era.LEGACY)
    dialect = envelope.DIALECT if is_modern else handshake.DIALECT
    body = dumps(dialect.failure(None, error))
    return HttpReply(dialect.status(error), body, error.headers)


def _wait(receipt: Receipt | None) -> bool:
    """Whether the event is stored, or there is none to store."""
    return receipt is None or receipt.result()


def _cursor_key() -> bytes:
    """Of the project's own secret, so that every process reads every cursor."""
    return _derived(django_settings.SECRET_KEY)


@lru_cache(maxsize=4)
def _derived(secret: str) -> bytes:
    return hmac.new(secret.encode(), b"mcp_app list cursor", hashlib.sha256).digest()


@lru_cache(maxsize=64)
def endpoint_for(server: MCPServer = default_server) -> Endpoint:
    """The endpoint of a server, the same one for every door."""
    return Endpoint(server)
