"""Pages of a long table without ever counting it to the end."""

from functools import cached_property
from typing import Any, Final

from django.core.paginator import Paginator

MOST: Final = 10_000


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # no subscript at run time
    """Counts to a limit and no further; what lies beyond is reached by a filter."""

    @cached_property
    def count(self) -> int:
        """The number of rows, or `MOST` where there are as many or more."""
        rows: Any = self.object_list
        return int(rows.order_by()[:MOST].count())

    @property
    def bounded(self) -> bool:
        """Whether there may be more rows than `count` says."""
        return self.count >= MOST
