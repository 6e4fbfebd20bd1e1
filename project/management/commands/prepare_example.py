"""`manage.py prepare_example`: the example's database, data, users and token, without a server."""

from argparse import ArgumentParser, BooleanOptionalAction
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connections
from django.utils import timezone

from project.calls import seed_calls
from project.people import prepare


class Command(BaseCommand):
    """Run again, it keeps the database and the token, and is quick."""

    help = "Migrate, and create example data, users, a token that works, and calls."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--fresh", action="store_true", help="delete the data and start over")
        parser.add_argument(
            "--calls",
            action=BooleanOptionalAction,
            default=True,
            help="whether the call log begins with calls of two days",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["fresh"]:
            _start_over(settings.CREDENTIALS_FILE)
        call_command("migrate", interactive=False, verbosity=0)
        call_command("seed_quiz", stdout=self.stdout)
        prepare(settings.CREDENTIALS_FILE)
        if options["calls"]:
            seed_calls(timezone.now())


def _start_over(credentials_file: Path) -> None:
    credentials_file.unlink(missing_ok=True)
    connection = connections["default"]
    connection.close()
    if connection.vendor == "sqlite":
        database = Path(connection.settings_dict["NAME"])
        for path in database.parent.glob(f"{database.name}*"):  # with its -wal and -shm
            path.unlink()
    else:
        call_command("migrate", interactive=False, verbosity=0)
        call_command("flush", interactive=False, verbosity=0)
