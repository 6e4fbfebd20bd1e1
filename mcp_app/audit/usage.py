"""How often what is declared was called of late, and how that went: one aggregate.

Of `mcp_call_when` alone, which holds the moment, the name and the outcome of each call.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, QuerySet

from mcp_app.audit.outcomes import GROUP_OF, OutcomeGroup
from mcp_app.audit.overview import Busy
from mcp_app.audit.timeline import Period, buckets
from mcp_app.models import CallEvent

LONGEST = 128
"""Characters of a name that an event keeps."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The calls of a period by name.

    Names are the events' own: what is called alike, on another server or of another kind, is
    counted together, and what is read by a template's URI stands under that URI.
    """

    since: str
    """The start, as the call log's filter is asked for it."""
    by_name: Mapping[str, Busy]

    def of(self, name: str) -> Busy:
        """The calls of one name; of none, zero."""
        return self.by_name.get(name[:LONGEST], Busy(name, 0, 0))


def usage(
    rows: QuerySet[CallEvent],
    names: Collection[str],
    period: Period = Period.WEEK,
    now: datetime | None = None,
) -> Usage:
    """The calls of `names` among those of `rows` that arrived in the period."""
    first = buckets(period, now)[0]
    kept = rows.filter(created_at__gte=first.start, tool__in={name[:LONGEST] for name in names})
    counted: dict[str, Counter[OutcomeGroup | None]] = {}
    for name, outcome, n in kept.order_by().values_list("tool", "outcome").annotate(n=Count("*")):
        counted.setdefault(name, Counter())[GROUP_OF.get(outcome)] += n
    found = {
        name: Busy(name, n.total(), n[OutcomeGroup.FAILED], n[OutcomeGroup.TURNED_AWAY])
        for name, n in counted.items()
    }
    return Usage(first.query["since"], found)
