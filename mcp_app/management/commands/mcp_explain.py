"""`manage.py mcp_explain`: each gate of a tool for a user or a token, with pass or fail and why."""

import json
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import (
    BaseCommand,
    CommandError,
    CommandParser,
    no_translations,
)

from mcp_app.access.explanation import Gate
from mcp_app.catalog.registry import default_server
from mcp_app.management.callers import SOURCE, find_secret, find_user
from mcp_app.transports.subjects import caller_of, gates_of

_WORDS: Final = {True: "pass", False: "FAIL", None: "at the call"}
_OPEN: Final = "depends on the token"


class Command(BaseCommand):
    """One line a gate; exit code 1 where one is shut."""

    help = "Say why a user, or the holder of a token, may or may not call a tool."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the tool and the caller."""
        parser.add_argument("tool", help="The tool's name.")
        parser.add_argument("--user", help="A username; narrowed by no token unless one is named.")
        parser.add_argument("--token", metavar="PREFIX", help="As `mcp_token list` prints it.")
        parser.add_argument("--json", action="store_true", help="Print a JSON array.")

    @no_translations
    def handle(
        self, *args: Any, tool: str, user: str | None, token: str | None, **options: Any
    ) -> None:
        """Print the gates in the order that a call meets them."""
        found = default_server.get(tool)
        if found is None:
            raise CommandError(f"There is no tool {tool!r}. `mcp_tools` lists them.")
        if user is None and token is None:
            raise CommandError("Say who calls: --user, --token, or both.")
        named = None if user is None else find_user(user)
        secret = None if token is None else find_secret(token)
        owner: Any = secret.token.user if secret is not None else named
        if named is not None and owner != named:
            raise CommandError(f"That token is not of {user}.")
        gates = gates_of(found, caller_of(owner, secret, source=SOURCE), secret=secret)
        self.stdout.write(_as_json(gates) if options["json"] else _as_table(gates))
        if any(gate.passed is False for gate in gates):
            raise CommandError(f"{owner.get_username()} may not call {tool}.", returncode=1)


def _as_json(gates: list[Gate]) -> str:
    return json.dumps([asdict(gate) for gate in gates], indent=2, ensure_ascii=False)


def _as_table(gates: list[Gate]) -> str:
    width = max(len(gate.name) for gate in gates)
    words = [_OPEN if gate.by_token else _WORDS[gate.passed] for gate in gates]
    wide = max(map(len, words))
    lines = (
        f"{w:{wide}}  {gate.name:{width}}  {gate.why}" for w, gate in zip(words, gates, strict=True)
    )
    return "\n".join(line.rstrip() for line in lines)
