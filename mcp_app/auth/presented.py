"""Credentials of requests that wait at the same time, looked up by one query.

It only spares queries: what was not looked up here is looked up where it is judged.
"""

import time
from collections.abc import Sequence
from typing import Any, Final

from mcp_app.auth.hashing import SECRET
from mcp_app.auth.lookup import find
from mcp_app.models import TokenSecret
from mcp_app.token_form import PREFIX

FRESH: Final = 0.05
"""Seconds for which a row that was read stands for the row as it is."""
_KEPT: Final = "_mcp_app_presented"
"""Where a request has what was looked up for it."""


class Presented:
    """What one request's header names, and the row that was found for it."""

    __slots__ = ("_read_at", "_secret", "lookup")

    def __init__(self, lookup: str) -> None:
        self.lookup = lookup
        self._secret: TokenSecret | None = None
        self._read_at = 0.0

    def found(self, secret: TokenSecret | None, read_at: float) -> None:
        """Note a row that was read no earlier than `read_at`, of `time.monotonic()`."""
        self._secret, self._read_at = secret, read_at

    def take(self) -> TokenSecret | None:
        """The row, once, and where it was read only just now."""
        secret, self._secret = self._secret, None
        return secret if time.monotonic() - self._read_at < FRESH else None


def presented_by(authorization: str) -> Presented | None:
    """Which secret an `Authorization` header claims to be, if it is of ours."""
    start = authorization.find(PREFIX)
    match = SECRET.match(authorization, start) if start > 0 else None
    return Presented(match[1]) if match is not None else None


def attach(presented: Presented | None, request: Any) -> None:
    """Let whoever authenticates a request, Django's or DRF's, know what is looked up for it."""
    setattr(request, _KEPT, presented)


def known(request: Any) -> TokenSecret | None:
    """The row that was looked up for a request, Django's or DRF's; None where none was."""
    presented: Presented | None = getattr(request, _KEPT, None)
    return presented.take() if presented is not None else None


def look_up(waiting: Sequence[Presented]) -> None:
    """Find the rows of all of them, each request its own."""
    read_at = time.monotonic()
    rows = find([presented.lookup for presented in waiting])
    for presented, secret in zip(waiting, rows, strict=True):
        presented.found(secret, read_at)
