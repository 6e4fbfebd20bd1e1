"""`manage.py mcp_token`: issue, rotate, revoke, list and look after tokens from a shell."""

import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q
from django.utils import timezone

from mcp_app.audit.periods import to_the_minute
from mcp_app.auth.hashing import Secret
from mcp_app.auth.tokens import TokenRotationRefused, issue, revoke, rotate
from mcp_app.auth.upkeep import Due, due, purge
from mcp_app.conf import settings
from mcp_app.models import Token, TokenSecret
from mcp_app.models.limits import unknown
from mcp_app.signals import token_due


class Command(BaseCommand):
    """One subcommand an act. A secret is printed once, by the act that makes it."""

    help = "Issue, rotate, revoke, list and look after MCP tokens."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the subcommands."""
        acts = parser.add_subparsers(dest="act", required=True, metavar="ACT")
        create = acts.add_parser("create", help="Issue a token and print its secret.")
        create.add_argument("user", help="The username of its owner.")
        create.add_argument("--name", required=True, help="What will use it.")
        create.add_argument("--scope", action="append", default=[], help="May be repeated.")
        _add_tools(create)
        create.add_argument("--read-only", action="store_true", help="Limit it to reading.")
        create.add_argument("--days", type=int, help="Days until it expires; never without.")
        create.add_argument("--note", default="")
        _add_plain(create)
        rotating = acts.add_parser("rotate", help="Give a token a new secret and print it.")
        _add_which(rotating)
        rotating.add_argument(
            "--grace",
            type=int,
            default=settings.ROTATION_GRACE,
            metavar="SECONDS",
            help="How long the old secret still works, at most (default: %(default)s).",
        )
        _add_plain(rotating)
        _add_which(acts.add_parser("revoke", help="End a token with its next request."))
        acts.add_parser("list", help="List tokens, never a secret.").add_argument(
            "--user", help="Only those of this username."
        )
        _add_due(acts.add_parser("due", help="List secrets that end soon, or are old."))
        purging = acts.add_parser("purge", help="Delete tokens and secrets that are long dead.")
        purging.add_argument("--older-than", type=int, required=True, metavar="DAYS")
        purging.add_argument("--dry-run", action="store_true", help="Only say how many.")

    def handle(self, *args: Any, act: str, **options: Any) -> None:
        """Run one act; what refuses it becomes a `CommandError`."""
        try:
            getattr(self, f"_{act}")(**options)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        except TokenRotationRefused as error:
            raise CommandError(str(error)) from error

    def _create(self, *, user: str, scope: list[str], days: int | None, **options: Any) -> None:
        token, secret = issue(
            user=_user(user),
            name=options["name"],
            scopes=scope,
            tools=options["tools"],
            read_only=options["read_only"],
            expires_at=None if days is None else timezone.now() + _span(days=days),
            note=options["note"],
        )
        self._show(secret, f"Token {token.pk} “{token.name}” for {user}:", options["plain"])

    def _rotate(self, *, which: str, grace: int, plain: bool, **options: Any) -> None:
        token = _token(which)
        secret = rotate(token, grace=_span(seconds=grace))
        self._show(secret, f"New secret of token {token.pk} “{token.name}”:", plain)
        if not plain:
            for before in token.secrets.order_by("-id")[1:2]:
                self.stdout.write(_ending(before))

    def _revoke(self, *, which: str, **options: Any) -> None:
        token = _token(which)
        done = "Revoked" if revoke(token) else "Was revoked before:"
        self.stdout.write(f"{done} token {token.pk} “{token.name}”.")

    def _list(self, *, user: str | None, **options: Any) -> None:
        tokens = Token.objects.select_related("user").prefetch_related("secrets").with_last_used()
        for token in tokens.filter(user=_user(user)) if user else tokens:
            self.stdout.write(_line(token))

    def _due(self, *, days: int, as_json: bool, notify: bool, **options: Any) -> None:
        found = list(due(_span(days=days), timezone.now()))
        for one in found if notify else ():
            told = {"token": one.token, "lookup": one.secret.lookup, "reason": one.reason}
            token_due.send_robust(Token, **told, ends_at=one.ends_at)
        if as_json:
            self.stdout.write(json.dumps([_as_json(one) for one in found], indent=2))
            return
        for one in found:
            self.stdout.write("\t".join(str(value or "-") for value in _as_json(one).values()))

    def _purge(self, *, older_than: int, dry_run: bool, **options: Any) -> None:
        if older_than < 0:
            raise CommandError("--older-than takes days, 0 or more.")
        purged = purge(timezone.now() - _span(days=older_than), dry_run=dry_run)
        done = "Would delete" if dry_run else "Deleted"
        self.stdout.write(
            f"{done} {purged.tokens} tokens, and {purged.secrets} secrets of other tokens."
        )

    def _show(self, secret: Secret, sentence: str, plain: bool) -> None:
        if not plain:
            self.stdout.write(sentence)
        self.stdout.write(secret.reveal())
        if not plain:
            self.stdout.write("It is not shown again.")


def _add_tools(parser: ArgumentParser) -> None:
    limits = parser.add_mutually_exclusive_group()
    limits.add_argument(
        "--tool",
        action="append",
        dest="tools",
        help="Limit it to this tool. May be repeated; without, it may call any.",
    )
    limits.add_argument(
        "--no-tools",
        action="store_const",
        const=[],
        dest="tools",
        help="Limit it to no tool at all.",
    )


def _add_plain(parser: ArgumentParser) -> None:
    parser.add_argument("--plain", action="store_true", help="Print the secret alone.")


def _add_due(parser: ArgumentParser) -> None:
    parser.add_argument("--days", type=int, default=14, help="How soon (default: %(default)s).")
    parser.add_argument("--json", action="store_true", dest="as_json", help="Print a JSON array.")
    parser.add_argument("--notify", action="store_true", help="Send the signal token_due for each.")


def _as_json(one: Due) -> dict[str, Any]:
    return {
        "token": one.token.pk,
        "prefix": f"mcp_{one.secret.lookup}",
        "user": one.token.user.get_username(),
        "name": one.token.name,
        "reason": one.reason.value,
        "ends_at": one.ends_at.isoformat(timespec="seconds") if one.ends_at else None,
    }


def _add_which(parser: ArgumentParser) -> None:
    parser.add_argument("which", metavar="PREFIX_OR_ID", help="As `mcp_token list` prints them.")


def _user(username: str) -> Any:
    users = get_user_model()
    try:
        return users._default_manager.get_by_natural_key(username)
    except users.DoesNotExist:
        raise CommandError(f"There is no user {username!r}.") from None


def _token(which: str) -> Token:
    prefix = which.removeprefix("mcp_").split("_")[0]
    found = Q(pk=int(which)) if which.isdecimal() and len(which) < 12 else Q(secrets__lookup=prefix)
    token = Token.objects.filter(found).first()
    if token is None:
        raise CommandError("There is no such token. `mcp_token list` shows prefixes and ids.")
    return token


def _span(**amount: int) -> timedelta:
    try:
        timezone.now() + (span := timedelta(**amount))
    except OverflowError:
        raise CommandError("That is too long a time.") from None
    return span


def _names(field: str, names: list[str]) -> list[str]:
    """The names, and of each that means nothing that it is gone."""
    gone = unknown(field, names)
    return [f"{name} (gone)" if name in gone else name for name in names]


def _limits(token: Token) -> str:
    read_only = ["read only"] if token.read_only else []
    tools = [] if token.tools is None else _names("tools", token.tools) or ["no tools"]
    return ", ".join([*read_only, *tools]) or "no limits"


def _ending(before: TokenSecret) -> str:
    """Until when the secret works that was retired."""
    ends_at = before.ends_at
    if ends_at is None or ends_at <= timezone.now():
        return f"The secret before it, {before}, is refused from now on."
    return f"The secret before it, {before}, works until {to_the_minute(ends_at)}."


def _line(token: Token) -> str:
    used = getattr(token, "last_used_at", None)
    prefixes = ",".join(f"mcp_{secret.lookup}" for secret in token.secrets.all()[:2])
    return "\t".join(
        (
            str(token.pk),
            prefixes or "-",
            token.user.get_username(),
            token.name,
            token.status().value,
            ",".join(_names("scopes", token.scopes)) or "-",
            _limits(token),
            f"used {used:%Y-%m-%d %H:%M}" if used else "never used",
            f"expires {token.ends_at:%Y-%m-%d}" if token.ends_at else "never expires",
        )
    )
