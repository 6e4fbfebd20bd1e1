"""`manage.py mcp_prune`: remove what is older than it need be, beside running calls."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from mcp_app.audit.chain import ChainRefused
from mcp_app.audit.pruning import (
    forget_digests,
    leftovers,
    old_events,
    prune,
    prune_events,
)
from mcp_app.audit.storage import database
from mcp_app.management.ages import ago
from mcp_app.models import CallOutcome


class Command(BaseCommand):
    """Says what is removed, by outcome. Without an age it removes no call and no session."""

    help = (
        "Remove old calls, and what they leave: expired stream events and request states,"
        " and sessions that were over before the age without an outcome."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the ages and the dry run."""
        parser.add_argument(
            "--older-than",
            action="append",
            default=[],
            metavar="[OUTCOME=]AGE",
            help="90d, 12h, 4w or 1y; ok=30d for one outcome alone. May be repeated.",
        )
        parser.add_argument("--dry-run", action="store_true", help="Count, and remove nothing.")

    def handle(self, *args: Any, older_than: list[str], dry_run: bool, **options: Any) -> None:
        """Remove the calls of each outcome, then what stands beside them."""
        rules = _rules(older_than)
        general = rules.get("")
        for outcome in CallOutcome.values:
            before = rules.get(outcome, general)
            if before is not None:
                self._events(outcome, before, dry_run)
        if rules and not dry_run:
            forget_digests(database())
        for name, rows in leftovers(general).items():
            self._tell(name, [rows.count()] if dry_run else prune(rows), dry_run)

    def _events(self, outcome: str, before: datetime, dry_run: bool) -> None:
        name = f"calls ({outcome}) before {before:%Y-%m-%d %H:%M}"
        try:
            if dry_run:
                self._tell(name, [old_events(database(), outcome, before).count()], dry_run)
            else:
                self._tell(name, prune_events(database(), outcome, before), dry_run)
        except ChainRefused as error:
            raise CommandError(str(error)) from error

    def _tell(self, name: str, chunks: Iterable[int], dry_run: bool) -> None:
        if count := sum(chunks):
            self.stdout.write(f"{'Would remove' if dry_run else 'Removed'} {count} {name}.")


def _rules(ages: Iterable[str]) -> Mapping[str, datetime]:
    """The moment before which calls go, by outcome; under the empty name, for all others."""
    rules: dict[str, datetime] = {}
    for text in ages:
        outcome, _, age = text.rpartition("=")
        if outcome and outcome not in CallOutcome.values:
            raise CommandError(
                f"{outcome!r} is no outcome. They are {', '.join(CallOutcome.values)}."
            )
        if outcome in rules:
            raise CommandError(f"Two ages are given for {outcome or 'all outcomes'}.")
        rules[outcome] = ago(age)
    return rules
