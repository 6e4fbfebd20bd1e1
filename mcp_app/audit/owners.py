"""Whose a call was: its row has no keys of a user or token that were deleted while it ran.

The names stay. A constraint of the database would refuse the row instead; and the database is not
asked for a call so short that hardly anybody can have been deleted meanwhile.
"""

import logging
from collections.abc import Iterable
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.db import DatabaseError, router

from mcp_app.dispatch.interfaces import CallRecord
from mcp_app.models import CallEvent, Token
from mcp_app.models.events import last_deletion

logger: Final = logging.getLogger("mcp_app.audit")

LONG: Final = 0.5
"""Seconds from which on a call is asked about, whichever process deletes."""


def may_be_gone(record: CallRecord) -> bool:
    """Whether its user or token may have been deleted since they were let in."""
    return record.started_at <= last_deletion() or (record.duration or 0.0) >= LONG


def forget_deleted(events: Iterable[CallEvent]) -> None:
    """Take the keys that lead nowhere. Where that cannot be found out they stay. Never raises."""
    rows = list(events)
    try:
        _forget(rows, "user_id", get_user_model())
        _forget(rows, "token_id", Token)
    except DatabaseError:
        logger.warning("Whether users and tokens of calls still exist is not known", exc_info=True)


def _forget(rows: list[CallEvent], name: str, model: Any) -> None:
    keys = {getattr(row, name) for row in rows} - {None}
    if not keys:
        return
    found = model._base_manager.using(router.db_for_write(model)).filter(pk__in=keys)
    gone = keys - set(found.values_list("pk", flat=True))
    for row in rows:
        if getattr(row, name) in gone:
            setattr(row, name, None)
