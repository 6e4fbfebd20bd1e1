"""`manage.py mcp_seal`: seal the call log, or verify that what was sealed is what it was."""

from itertools import islice
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from mcp_app.audit.chain import ChainRefused, head
from mcp_app.audit.seals import seal
from mcp_app.audit.storage import database
from mcp_app.audit.verification import Verification

MOST_TOLD: Final = 100


class Command(BaseCommand):
    """Prints the head of the chain: kept elsewhere, it tells also who can rewrite the database."""

    help = "Seal the calls that are over, or --verify those that were sealed."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the two acts."""
        parser.add_argument("--verify", action="store_true", help="Exit with 1 on any fault.")
        parser.add_argument(
            "--head", default="", metavar="DIGEST", help="With --verify: a head printed before."
        )
        parser.add_argument(
            "--adopt", action="store_true", help="Sign from here on a chain that was not signed."
        )

    def handle(self, *args: Any, verify: bool, head: str, adopt: bool, **options: Any) -> None:
        """Do one of the two."""
        if head and not verify:
            raise CommandError("--head goes with --verify.")
        if verify:
            self._verify(head)
        else:
            self._seal(adopt)

    def _seal(self, adopt: bool) -> None:
        alias = database()
        try:
            sealed = sum(link.rows for link in seal(alias, adopt=adopt))
        except ChainRefused as error:
            raise CommandError(str(error)) from error
        newest = head(alias)
        assert newest is not None, "sealing opens the chain"
        self.stdout.write(f"Sealed {sealed} calls. Head: {newest.digest}")

    def _verify(self, known_head: str) -> None:
        walk = Verification(database())
        faults = walk.faults(known_head)
        told = list(islice(faults, MOST_TOLD))
        for fault in told:
            self.stderr.write(str(fault))
        count = len(told) + sum(1 for _ in faults)
        if count > len(told):
            self.stderr.write(f"… and {count - len(told)} more.")
        if walk.head is None and not count:
            raise CommandError("Nothing is sealed.")
        seen = f"{walk.links} links: {walk.rows} calls, and {walk.pruned} that were pruned"
        if count:
            raise CommandError(f"{count} faults in {seen}.")
        assert walk.head is not None
        self.stdout.write(f"Nothing was changed in {seen}. Head: {walk.head.digest}")
