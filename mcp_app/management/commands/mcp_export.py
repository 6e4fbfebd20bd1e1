"""`manage.py mcp_export`: the call log as CSV or as lines of JSON."""

import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import QuerySet

from mcp_app.audit.export import FORMATS, exported
from mcp_app.audit.search import of_token, of_user
from mcp_app.audit.storage import database
from mcp_app.management.ages import moment
from mcp_app.models import CallEvent, CallOutcome


class Command(BaseCommand):
    """Streams, oldest first. A file is readable for its owner alone."""

    help = "Export calls, oldest first."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the format, the filters and the file."""
        parser.add_argument("--format", choices=sorted(FORMATS), default="jsonl")
        parser.add_argument("--since", help="A date, a date and time, or an age such as 7d.")
        parser.add_argument("--until", help="As --since; that very moment is left out.")
        parser.add_argument("--tool", help="Its whole name.")
        parser.add_argument("--user", help="A username, also of a deleted account.")
        parser.add_argument("--token", help="Its name, or its prefix.")
        parser.add_argument("--outcome", choices=CallOutcome.values)
        parser.add_argument("-o", "--output", type=Path, help="A file that is not there yet.")

    def handle(self, *args: Any, output: Path | None, **options: Any) -> None:
        """Write every call that all filters admit."""
        pieces = exported(_rows(options), options["format"])
        if output is None:
            for piece in pieces:
                self.stdout.write(piece, ending="")
            return
        try:
            descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise CommandError(f"{output} cannot be written: {error.strerror}.") from error
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)


def _rows(options: dict[str, Any]) -> QuerySet[CallEvent]:
    rows = CallEvent._base_manager.using(database()).all()
    if options["since"]:
        rows = rows.filter(created_at__gte=moment(options["since"]))
    if options["until"]:
        rows = rows.filter(created_at__lt=moment(options["until"]))
    if options["user"]:
        rows = rows.filter(of_user(options["user"]))
    if options["token"]:
        rows = rows.filter(of_token(options["token"]))
    equal = {name: options[name] for name in ("tool", "outcome") if options[name]}
    return rows.filter(**equal)
