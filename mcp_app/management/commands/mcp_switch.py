"""`manage.py mcp_switch`: turn a tool off or on, make a server read-only, or close it."""

from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from mcp_app.access.switches import lift, same, switch_for, turn
from mcp_app.management.ages import ahead
from mcp_app.models import Switch, SwitchKind, SwitchNoun


class Command(BaseCommand):
    """What it does is obeyed by the next request, in every process."""

    help = "List, set and lift switches: a tool off, a server read-only, maintenance."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare what can be done."""
        acts = parser.add_subparsers(dest="act", required=True)
        listing = acts.add_parser("list", help="What is switched now.")
        listing.add_argument("--all", action="store_true", help="Also what was lifted or ended.")
        for act in ("off", "on"):
            named = acts.add_parser(act, help=f"Turn a tool, resource or prompt {act}.")
            named.add_argument("name", help="Its name, or a resource's URI.")
            named.add_argument("--noun", choices=SwitchNoun.values, default="tool")
            _common(named, sets=act == "off")
        for act in ("read-only", "maintenance"):
            whole = acts.add_parser(act, help="Of the whole server.")
            whole.add_argument("--end", action="store_true", help="Lift it.")
            _common(whole, sets=True)

    def handle(self, *args: Any, act: str, **options: Any) -> None:
        """Do it, and say what was done."""
        if act == "list":
            return self._list(everything=options["all"])
        kind = SwitchKind.OFF if act in ("off", "on") else SwitchKind(act.replace("-", "_"))
        by = _user(options["by"])
        if act == "on" or options.get("end"):
            return self._lift(kind, by, options)
        try:
            until = ahead(options["until"]) if options["until"] else None
            made = switch_for(
                kind,
                options["server"],
                noun=_noun(kind, options),
                name=options.get("name") or "",
                reason=options["reason"],
                until=until,
                by=by,
            )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        _log(turn(made), by, ADDITION)
        self.stdout.write(f"Set. {_line(made)}")

    def _lift(self, kind: SwitchKind, by: Any, options: dict[str, Any]) -> None:
        sought = Switch(
            kind=kind,
            server=options["server"],
            noun=_noun(kind, options),
            name=options.get("name") or "",
        )
        found = same(sought)
        if not found:
            raise CommandError("Nothing like that is switched. `mcp_switch list` shows what is.")
        for switch in found:
            lift(switch, by=by)
            _log(switch, by, CHANGE)
            self.stdout.write(f"Lifted. {_line(switch)}")

    def _list(self, *, everything: bool) -> None:
        rows = Switch.objects.all() if everything else Switch.objects.in_force()
        for switch in rows.select_related("set_by", "lifted_by"):
            self.stdout.write(_line(switch))


def _common(parser: Any, *, sets: bool) -> None:
    parser.add_argument("--server", default="default", help="The server's name.")
    parser.add_argument("--by", metavar="USER", help="Who does it, for the admin's history.")
    if sets:
        parser.add_argument("--reason", default="", help="Callers are told it.")
        parser.add_argument("--until", help="A moment in ISO 8601, or an age such as 2h or 1d.")


def _noun(kind: SwitchKind, options: dict[str, Any]) -> str:
    return options["noun"] if kind is SwitchKind.OFF else ""


def _user(name: str | None) -> Any:
    if name is None:
        return None
    users = get_user_model()
    try:
        return users._default_manager.get_by_natural_key(name)
    except users.DoesNotExist:
        raise CommandError(f"There is no user {name!r}.") from None


def _log(switch: Switch, by: Any, flag: int) -> None:
    """Into the admin's history, which keeps nothing without a user; the row itself does."""
    if by is not None:
        said = f"mcp_switch: {switch.reason}"
        LogEntry.objects.log_actions(by.pk, [switch], flag, said, single_object=True)


def _line(switch: Switch) -> str:
    what = f"{switch.noun} {switch.name}" if switch.name else switch.get_kind_display()
    until = f"until {switch.until.isoformat()}" if switch.until else "until it is lifted"
    lifted = f", lifted by {_name(switch.lifted_by)}" if switch.lifted_at else ""
    return f"{what} of {switch.server}, {until}, by {_name(switch.set_by)}{lifted}: {switch.reason}"


def _name(user: Any) -> str:
    return user.get_username() if user else "nobody named"
