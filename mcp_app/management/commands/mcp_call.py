"""`manage.py mcp_call`: call a tool from a shell, as a user, through the endpoint's own gates."""

import json
import uuid
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.http import HttpRequest

from mcp_app import __version__
from mcp_app.conf import settings
from mcp_app.dispatch.context import Caller, Silence
from mcp_app.dispatch.dispatcher import new_record
from mcp_app.dispatch.inputs import InputUnavailable
from mcp_app.dispatch.services import Inbound
from mcp_app.management.callers import SOURCE, access_of, find_caller
from mcp_app.protocol import handshake
from mcp_app.protocol.messages import Request
from mcp_app.protocol.route import Client, Route
from mcp_app.transports.endpoint import endpoint_for

METHOD = "tools/call"


class Command(BaseCommand):
    """Prints the result; a tool's error, or a refusal, ends it with exit code 1."""

    help = "Call an MCP tool as a user and print its result. The call is audited like any other."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the tool, the caller and the arguments."""
        parser.add_argument("name", help="The tool, as mcp_tools prints it.")
        parser.add_argument("--user", required=True, help="The username to call it as.")
        parser.add_argument(
            "--args",
            dest="arguments",
            type=_object,
            default={},
            metavar="JSON",
            help="The arguments, a JSON object (default: none).",
        )
        parser.add_argument(
            "--scope",
            action="append",
            help="Call it as with a token of this scope; may be repeated. Without it no token"
            " narrows what the user may do.",
        )

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        """Call the tool, wait for its event, print what it said."""
        caller = find_caller(options["user"], options["scope"])
        inbound = _inbound(caller, {"name": name, "arguments": options["arguments"]})
        reply = json.loads(endpoint_for().reply(inbound).body)
        if "error" in reply:
            raise CommandError(reply["error"]["message"])
        if reply["result"].get("isError"):
            raise CommandError(_text(reply["result"]))
        self.stdout.write(_shown(reply["result"]))


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ArgumentTypeError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ArgumentTypeError('must be a JSON object, such as {"limit": 3}')
    return value


def _inbound(caller: Caller, params: dict[str, Any]) -> Inbound:
    record = new_record(method=METHOD, transport=SOURCE, correlation_id=uuid.uuid4().hex)
    record.user, record.source, record.address = caller.user, caller.source, caller.address
    version = settings.versions[0]
    client = Client("manage.py mcp_call", __version__)
    record.protocol_version = version.name
    record.client_name, record.client_version = client.name, client.version
    return Inbound(
        request=Request(1, METHOD, params),
        # This dialect has no headers that would have to agree with the body.
        route=Route(version=version, dialect=handshake.DIALECT, client=client),
        headers={},
        caller=caller,
        access=access_of(caller),
        session=None,
        record=record,
        outlet=Silence(),
        inputs=InputUnavailable(),
        http_request=HttpRequest,
    )


def _text(result: dict[str, Any]) -> str:
    return "\n".join(block.get("text", f"[{block['type']}]") for block in result["content"])


def _shown(result: dict[str, Any]) -> str:
    if "structuredContent" in result:
        return json.dumps(result["structuredContent"], indent=2, ensure_ascii=False)
    return _text(result)
