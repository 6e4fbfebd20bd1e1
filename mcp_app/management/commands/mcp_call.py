"""`manage.py mcp_call`: call a tool from a shell, as a user, through the endpoint's own gates."""

import json
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from mcp_app.management.callers import find_caller
from mcp_app.transports.endpoint import endpoint_for
from mcp_app.transports.inside import CALL, message
from mcp_app.transports.subjects import access_of


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
        params = {"name": name, "arguments": options["arguments"]}
        inbound = message(CALL, params, caller, access_of(caller), client="manage.py mcp_call")
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


def _text(result: dict[str, Any]) -> str:
    return "\n".join(block.get("text", f"[{block['type']}]") for block in result["content"])


def _shown(result: dict[str, Any]) -> str:
    if "structuredContent" in result:
        return json.dumps(result["structuredContent"], indent=2, ensure_ascii=False)
    return _text(result)
