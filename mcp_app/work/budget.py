"""How often one call may ask the database: `MCP_APP["MAX_QUERIES"]`.

The count is a context variable: it follows the call through `sync_to_async`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from django.db import connections
from django.db.backends.signals import connection_created

from mcp_app.catalog.errors import ToolError
from mcp_app.conf import settings

_CONTROL: Final = ("SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK", "BEGIN", "COMMIT")
"""Statements that only frame a transaction; they are nobody's query."""


class QueryBudgetSpent(ToolError):
    """The call has asked the database as often as it may."""


class _Budget:
    """What is left to one call."""

    __slots__ = ("left", "most")

    def __init__(self, most: int) -> None:
        self.left = self.most = most

    def spend(self) -> None:
        """Count one query; a tool that goes on after it was told meets the same refusal."""
        if self.left <= 0:
            raise QueryBudgetSpent(
                f"The call was stopped: it asked the database more than {self.most} times."
            )
        self.left -= 1


_budget: Final[ContextVar[_Budget | None]] = ContextVar("mcp_app_query_budget", default=None)


@contextmanager
def limited() -> Iterator[None]:
    """Count the queries of the block against the setting."""
    most: int | None = settings.MAX_QUERIES
    if most is None:
        yield
        return
    token = _budget.set(_Budget(most))
    try:
        yield
    finally:
        _budget.reset(token)


def install() -> None:
    """Count on every connection, open or to be opened. To be called once, at start-up."""
    connection_created.connect(_watch, dispatch_uid="mcp_app.query_budget")
    for connection in connections.all(initialized_only=True):
        _watch(connection)


def _watch(connection: Any, **kwargs: Any) -> None:
    if _counted not in connection.execute_wrappers:
        connection.execute_wrappers.append(_counted)


def _counted(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
    budget = _budget.get()
    if budget is not None and not str(sql).startswith(_CONTROL):
        budget.spend()
    return execute(sql, params, many, context)
