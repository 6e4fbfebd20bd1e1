"""What a thread does with its database connections before and after it works for somebody."""

import logging
from typing import Any, Final

from django.db import connections

logger: Final = logging.getLogger("mcp_app.work")


def opened() -> list[Any]:
    """This thread's connections, those that it has used: `connections.all()` at a third of its
    cost.
    """
    own, found = connections._connections, []  # type: ignore[attr-defined]
    for alias in connections.settings:
        connection = getattr(own, alias, None)
        if connection is not None:
            found.append(connection)
    return found


def give_back_connections() -> None:
    """Close this thread's connections that are unusable, or older than CONN_MAX_AGE."""
    for connection in opened():
        connection.close_if_unusable_or_obsolete()


def clear_connections() -> None:
    """Give them back after a job, and roll back what a tool began there and never ended: the next
    call's writes would be lost in it.
    """
    for connection in opened():
        if connection.in_atomic_block:
            logger.error("A tool left a transaction open on %r: rolled back", connection.alias)
            connection.close()
            # Closed inside a block it stays unusable, so that the thread gets another.
            del connections[connection.alias]
        else:
            connection.close_if_unusable_or_obsolete()


def is_in_transaction() -> bool:
    """Whether this thread has begun something that it has not ended."""
    return any(
        connection.in_atomic_block
        or (connection.connection is not None and connection.autocommit is not _usual(connection))
        for connection in opened()
    )


def _usual(connection: object) -> bool:
    return bool(connection.settings_dict["AUTOCOMMIT"])  # type: ignore[attr-defined]
