"""What the calls of a day, a week or a month come to, from an index alone.

Every figure is an aggregate over `mcp_call_when`, which holds all that is asked here, in the order
of time: the rows themselves, with their arguments and texts, are not read.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Case, Count, IntegerField, QuerySet, Value, When

from mcp_app.audit.outcomes import GROUP_OF, GROUPS, OutcomeGroup
from mcp_app.audit.percentiles import Percentiles, percentiles
from mcp_app.audit.timeline import Bucket, Period, buckets
from mcp_app.models import CallEvent, CallOutcome

BUSIEST: Final = 10
LATEST: Final = 10
PERCENTS: Final = (50, 95)
DENIALS: Final = (CallOutcome.DENIED, CallOutcome.UNAUTHENTICATED, CallOutcome.THROTTLED)


@dataclass(frozen=True, slots=True)
class Counts:
    """Calls by how they went."""

    by_group: Counter[OutcomeGroup]

    @property
    def total(self) -> int:
        """All of them."""
        return self.by_group.total()

    @property
    def error_rate(self) -> float | None:
        """The share that went wrong, between 0 and 1; None where there were no calls."""
        return share(self.by_group[OutcomeGroup.FAILED], self.total)

    @property
    def turned_away(self) -> float | None:
        """The share that was turned away, between 0 and 1; None where there were no calls."""
        return share(self.by_group[OutcomeGroup.TURNED_AWAY], self.total)

    @property
    def each(self) -> list[tuple[OutcomeGroup, int]]:
        """Every group, also those without calls, in their order."""
        return [(group, self.by_group[group]) for group in OutcomeGroup]


@dataclass(frozen=True, slots=True)
class Busy:
    """One of the busiest: a name or a key, its calls, and how they went that were not OK."""

    key: Any
    calls: int
    failed: int
    turned_away: int = 0

    @property
    def error_rate(self) -> float | None:
        """The share that went wrong, between 0 and 1."""
        return share(self.failed, self.calls)


@dataclass(frozen=True, slots=True)
class Overview:
    """The figures of a period."""

    timeline: Sequence[tuple[Bucket, Counts]]
    totals: Counts
    durations: Percentiles
    """The median and the 95th percentile."""
    tools: list[Busy]
    users: list[Busy]
    """By key."""
    tokens: list[Busy]
    """By key."""
    clients: list[Busy]
    denials: list[CallEvent]
    """The latest."""


def overview(rows: QuerySet[CallEvent], period: Period, now: datetime | None = None) -> Overview:
    """The figures of those of `rows` that arrived in the period."""
    spans = buckets(period, now)
    rows = rows.filter(created_at__gte=spans[0].start, created_at__lt=spans[-1].end).order_by()
    counts, ended = _by_bucket(rows, spans)
    return Overview(
        timeline=list(zip(spans, counts, strict=True)),
        totals=Counts(sum((each.by_group for each in counts), Counter())),
        durations=percentiles(rows, PERCENTS, ended),
        tools=_busiest(rows.exclude(tool=""), "tool", beside=(CallOutcome.UNKNOWN,)),
        users=_busiest(rows.filter(user__isnull=False), "user_id"),
        tokens=_busiest(rows.filter(token__isnull=False), "token_id"),
        clients=_busiest(rows.exclude(client_name=""), "client_name"),
        denials=_latest_denials(rows),
    )


def share(part: int, whole: int) -> float | None:
    """A part of the whole, between 0 and 1; None of nothing."""
    return part / whole if whole else None


def _by_bucket(rows: QuerySet[CallEvent], spans: Sequence[Bucket]) -> tuple[list[Counts], int]:
    """The counts of each, and how many of all calls have a duration."""
    number = Case(
        *(When(created_at__lt=span.end, then=Value(n)) for n, span in enumerate(spans)),
        output_field=IntegerField(),
    )
    grouped = rows.annotate(bucket=number).values("bucket", "outcome")
    found, ended = [Counts(Counter()) for _ in spans], 0
    for row in grouped.annotate(n=Count("*"), ended=Count("duration_ms")):
        ended += row["ended"]
        group = GROUP_OF.get(row["outcome"], OutcomeGroup.UNFINISHED)
        found[row["bucket"]].by_group[group] += row["n"]
    return found, ended


def _busiest(rows: QuerySet[CallEvent], by: str, beside: Sequence[CallOutcome] = ()) -> list[Busy]:
    """The ten, and then what was not OK of theirs: quicker than a condition on every row.

    Calls of the outcomes `beside`, which are turned away, earn no place: what has no others is left
    out.
    """
    ranked = rows.exclude(outcome__in=beside) if beside else rows
    counted = ranked.values(by).annotate(n=Count("*"))
    busiest = dict(counted.order_by("-n", by).values_list(by, "n")[:BUSIEST])
    told = (*GROUPS[OutcomeGroup.FAILED], *GROUPS[OutcomeGroup.TURNED_AWAY])
    theirs = rows.filter(**{f"{by}__in": [*busiest], "outcome__in": told})
    failed: Counter[Any] = Counter()
    turned_away: Counter[Any] = Counter()
    others: Counter[Any] = Counter()
    for key, outcome, n in theirs.values_list(by, "outcome").annotate(n=Count("*")):
        (failed if GROUP_OF[outcome] is OutcomeGroup.FAILED else turned_away)[key] += n
        others[key] += n if outcome in beside else 0
    return [Busy(key, n + others[key], failed[key], turned_away[key]) for key, n in busiest.items()]


def _latest_denials(rows: QuerySet[CallEvent]) -> list[CallEvent]:
    denied = rows.filter(outcome__in=DENIALS).defer("arguments")
    return list(denied.order_by("-created_at", "-pk")[:LATEST])
