"""What every call is held to while its function runs, whatever its colour."""

from collections.abc import Iterator
from contextlib import contextmanager

from mcp_app.catalog.definition import Declaration
from mcp_app.work import budget, read_only


@contextmanager
def kept(declared: Declaration) -> Iterator[None]:
    """To read only, where it says so, and to its number of queries."""
    with read_only.promised(declared), budget.limited():
        yield


def install() -> None:
    """Watch the database connections. To be called once, at start-up."""
    read_only.install()
    budget.install()
