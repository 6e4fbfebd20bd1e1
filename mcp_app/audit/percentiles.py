"""Percentiles of durations: exact for as many calls as can be sorted at once, else nearly."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Count, F, QuerySet, Value
from django.db.models.functions import Floor, Greatest, Ln

from mcp_app.models import CallEvent

MOST_SORTED: Final = 50_000
"""Calls; of more than that, durations are told to within 1 %."""

_CLASSES: Final = 50.0
"""Classes of durations for each factor of e: one spans 2 %."""
_SHORTEST: Final = 0.001
"""Milliseconds; what is shorter counts as this, where durations are told nearly."""


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Milliseconds by the percentage of calls that took no longer; None where there were none."""

    values: tuple[float | None, ...]
    exact: bool = True


def percentiles(rows: QuerySet[CallEvent], wanted: Sequence[int], count: int) -> Percentiles:
    """By the nearest rank: each is the duration of one of the `count` of `rows` that have one."""
    ended = rows.filter(duration_ms__isnull=False).order_by()
    if not count:
        return Percentiles(tuple(None for _ in wanted))
    ranks = [max(1, math.ceil(count * percent / 100)) for percent in wanted]
    if count > MOST_SORTED:
        return Percentiles(tuple(_nearly(ended, ranks)), exact=False)
    durations = ended.order_by("duration_ms").values_list("duration_ms", flat=True)
    # Rows may be pruned between two queries: what is not there any more has no duration.
    return Percentiles(tuple(next(iter(durations[rank - 1 : rank]), None) for rank in ranks))


def _nearly(rows: QuerySet[CallEvent], ranks: Sequence[int]) -> list[float]:
    """The middles of the classes that hold the calls of those ranks."""
    shortest = Greatest(F("duration_ms"), Value(_SHORTEST))
    classes = (
        rows.annotate(class_of=Floor(Ln(shortest) * Value(_CLASSES)))
        .values("class_of")
        .annotate(n=Count("*"))
        .order_by("class_of")
        .values_list("class_of", "n")
    )
    found: list[float] = []
    passed = 0
    for number, count in classes:
        passed += count
        while len(found) < len(ranks) and ranks[len(found)] <= passed:
            found.append(math.exp((float(number) + 0.5) / _CLASSES))
    return found
