"""A message from within the process: no bytes, no HTTP, and every gate of the endpoint."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest

from mcp_app import __version__
from mcp_app.access.checks import CallerAccess
from mcp_app.auth.states import SignedStates
from mcp_app.conf import settings
from mcp_app.dispatch.context import Caller, Silence
from mcp_app.dispatch.dispatcher import new_record
from mcp_app.dispatch.inputs import InputUnavailable, RetriedInputs
from mcp_app.dispatch.services import Inbound
from mcp_app.protocol import handshake
from mcp_app.protocol.messages import Request
from mcp_app.protocol.route import Client, Route

CALL = "tools/call"


def message(
    method: str,
    params: Mapping[str, Any],
    caller: Caller,
    access: CallerAccess,
    *,
    client: str,
    asks: bool = False,
    http_request: Callable[[], HttpRequest] = HttpRequest,
) -> Inbound:
    """A message of `caller`, of the newest revision that is served.

    The call log has the caller's source as its transport, too.

    Args:
        asks: whether somebody answers forms. A call then ends with what it asks, and is made again
            with `inputResponses` and `requestState` among its params (`2026-07-28
            basic/patterns/mrtr`); otherwise it can ask nobody.

    Raises:
        InvalidParams: these two are of the wrong type.
    """
    able: dict[str, Any] = {"elicitation": {"form": {}}} if asks else {}
    record = new_record(method=method, transport=caller.source, correlation_id=uuid.uuid4().hex)
    record.user, record.source, record.address = caller.user, caller.source, caller.address
    version = settings.versions[0]
    said = Client(client, __version__)
    record.protocol_version = version.name
    record.client_name, record.client_version = said.name, said.version
    return Inbound(
        request=Request(1, method, dict(params)),
        # This dialect has no headers that would have to agree with the body.
        route=Route(version, handshake.DIALECT, client=said, capabilities=able),
        headers={},
        caller=caller,
        access=access,
        session=None,
        record=record,
        outlet=Silence(),
        inputs=RetriedInputs.of(SignedStates(), version, able, params)
        if asks
        else InputUnavailable(),
        http_request=http_request,
    )
