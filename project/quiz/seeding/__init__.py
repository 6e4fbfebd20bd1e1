"""Example data: seven days of a quiz game's life, the same for the same moment."""

import datetime as dt

from django.db import transaction

from project.quiz.models import (
    Announcement,
    CountryStatistic,
    DiagnosticsEvent,
    ForwardingRecord,
    Match,
    Room,
)
from project.quiz.seeding.diagnostics import seed_diagnostics, seed_forwarding
from project.quiz.seeding.matches import seed_matches
from project.quiz.seeding.rooms import seed_rooms
from project.quiz.seeding.statistics import seed_statistics

# Deleting these deletes all else with them.
_ROOTS = (Announcement, Room, CountryStatistic, DiagnosticsEvent, ForwardingRecord)


@transaction.atomic
def seed(now: dt.datetime, *, fresh: bool = False) -> bool:
    """Fill the quiz's tables up to `now`; `fresh` empties them first.

    Returns False, and changes nothing, where there are rooms already.
    """
    if fresh:
        clear()
    if Room.objects.exists():
        return False
    now = now.replace(microsecond=0)
    rooms = seed_rooms(now)
    seed_matches(rooms, now)
    seed_diagnostics(list(Match.objects.order_by("started_at", "id")), now)
    seed_forwarding(now)
    seed_statistics(now)
    return True


def clear() -> None:
    """Delete all of the quiz's rows, those that were not seeded too."""
    for model in _ROOTS:
        model._default_manager.all().delete()
