"""A tool run for somebody within the process, through the endpoint: what came of it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables

from mcp_app.access.checks import CallerAccess
from mcp_app.catalog.registry import MCPServer
from mcp_app.dispatch.context import Caller
from mcp_app.protocol.errors import ProtocolError
from mcp_app.protocol.messages import dumps, loads
from mcp_app.transports.endpoint import endpoint_for
from mcp_app.transports.inside import CALL, message


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a call.

    Attributes:
        refusal: what the caller was told instead of a result; empty where there is one.
        result: as a client would read it, without the envelope.
        outcome: how it ended, as the call log has it; empty where it was refused before it was a
            call.
        size: bytes of the whole answer.
        event: the key of its row in the call log; None where none was stored.
    """

    refusal: str = ""
    result: Mapping[str, Any] | None = None
    outcome: str = ""
    size: int = 0
    event: int | None = None

    @property
    def questions(self) -> Mapping[str, Any]:
        """What it asks before it goes on, by key."""
        asked: Mapping[str, Any] = (self.result or {}).get("inputRequests", {})
        return asked

    @property
    def state(self) -> str:
        """What has to come along with the answers."""
        return str((self.result or {}).get("requestState", ""))


@sensitive_variables()
def call(
    params: Mapping[str, Any],
    caller: Caller,
    access: CallerAccess,
    server: MCPServer,
    *,
    client: str,
    http_request: Callable[[], HttpRequest],
) -> Tried:
    """Call a tool as a client does that can show forms; its event is stored when this returns."""
    try:
        # What cannot travel as JSON, or not so deep, is refused as at the door.
        sent = loads(dumps(params))
        inbound = message(
            CALL, sent, caller, access, client=client, asks=True, http_request=http_request
        )
    except ProtocolError as error:
        return Tried(error.message)
    reply = endpoint_for(server).reply(inbound)
    answer, record = json.loads(reply.body), inbound.record
    return Tried(
        refusal=answer.get("error", {}).get("message", ""),
        result=answer.get("result"),
        outcome=str(record.outcome),
        size=len(reply.body),
        event=record.pk,
    )
