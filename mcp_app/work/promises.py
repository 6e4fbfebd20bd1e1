"""What every call is held to while its function runs, whatever its colour."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from mcp_app.catalog.definition import Declaration
from mcp_app.conf import settings
from mcp_app.work import budget, read_only


def kept(declared: Declaration) -> AbstractContextManager[None]:
    """To read only, where it says so, and to its number of queries, where that has a limit."""
    if settings.MAX_QUERIES is None:
        return read_only.promised(declared)
    return _kept_with_few_queries(declared)


@contextmanager
def _kept_with_few_queries(declared: Declaration) -> Iterator[None]:
    with read_only.promised(declared), budget.limited():
        yield


def install() -> None:
    """Watch the database connections. To be called once, at start-up."""
    read_only.install()
    budget.install()
