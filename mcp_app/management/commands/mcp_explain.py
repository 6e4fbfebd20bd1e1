"""`manage.py mcp_explain`: each gate of a tool for a user or a token, with pass or fail and why."""

import json
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from mcp_app.access.explanation import Gate, explain
from mcp_app.auth.tokens import narrowing
from mcp_app.auth.verification import objection
from mcp_app.catalog.registry import default_server
from mcp_app.dispatch.context import Caller
from mcp_app.management.callers import ADDRESS, SOURCE, access_of, find_caller
from mcp_app.models import Token, TokenSecret

_WORDS: Final = {True: "pass", False: "FAIL", None: "at the call"}


class Command(BaseCommand):
    """One line a gate; exit code 1 where one is shut."""

    help = "Say why a user, or the holder of a token, may or may not call a tool."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the tool and the caller."""
        parser.add_argument("tool", help="The tool's name.")
        who = parser.add_mutually_exclusive_group(required=True)
        who.add_argument("--user", help="A username, not narrowed by a token.")
        who.add_argument("--token", metavar="PREFIX", help="As `mcp_token list` prints it.")
        parser.add_argument("--json", action="store_true", help="Print a JSON array.")

    def handle(
        self, *args: Any, tool: str, user: str | None, token: str | None, **options: Any
    ) -> None:
        """Print the gates in the order that a call meets them."""
        found = default_server.get(tool)
        if found is None:
            raise CommandError(f"There is no tool {tool!r}. `mcp_tools` lists them.")
        before: list[Gate] = []
        if user is not None:
            caller = find_caller(user)
        else:
            before, caller = _holder(str(token))
        gates = [*before, *explain(found, caller, access_of(caller))]
        self.stdout.write(_as_json(gates) if options["json"] else _as_table(gates))
        if any(gate.passed is False for gate in gates):
            raise CommandError(f"{caller.user.get_username()} may not call {tool}.", returncode=1)


def _holder(text: str) -> tuple[list[Gate], Caller]:
    """The token's own gate, and who calls with it."""
    prefix = text.removeprefix("mcp_").split("_")[0]
    secret = TokenSecret.objects.select_related("token__user").filter(lookup=prefix).first()
    if secret is None:
        raise CommandError("There is no such token. `mcp_token list` shows prefixes.")
    token = secret.token
    narrowed = narrowing(token)
    caller = Caller(
        token.user, auth=token, source=SOURCE, token_lookup=prefix, address=ADDRESS, **narrowed
    )
    return [_credential(token, secret)], caller


def _credential(token: Token, secret: TokenSecret) -> Gate:
    reason = objection(secret, timezone.now())
    return Gate("credential", reason is None, reason or f"{token.name}, {token.status().label}")


def _as_json(gates: list[Gate]) -> str:
    return json.dumps([asdict(gate) for gate in gates], indent=2, ensure_ascii=False)


def _as_table(gates: list[Gate]) -> str:
    width = max(len(gate.name) for gate in gates)
    lines = (f"{_WORDS[gate.passed]:11}  {gate.name:{width}}  {gate.why}" for gate in gates)
    return "\n".join(line.rstrip() for line in lines)
