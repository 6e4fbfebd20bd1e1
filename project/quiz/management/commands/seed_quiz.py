"""`manage.py seed_quiz`: example data for the quiz's back office, and its groups."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from project.quiz.groups import ensure_groups
from project.quiz.models import DiagnosticsEvent, Match, Room
from project.quiz.retention import RETENTION
from project.quiz.seeding import seed


class Command(BaseCommand):
    """Fills empty tables; run again, it changes nothing."""

    help = "Create seven days of example data, once, and the group 'support'. Creates no users."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--fresh", action="store_true", help="delete all quiz data first and start over"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_groups()
        now = timezone.now()
        created = seed(now, fresh=options["fresh"])
        counts = (
            f"{Room.objects.count()} rooms, {Match.objects.count()} matches, "
            f"{DiagnosticsEvent.objects.count()} diagnostics events"
        )
        self.stdout.write(f"{'Created' if created else 'Kept'} {counts}.")
        if not DiagnosticsEvent.objects.filter(at__gt=now - RETENTION).exists():
            self.stdout.write("All of it is older than seven days; --fresh makes it new.")
