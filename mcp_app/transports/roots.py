"""A handshake session's roots: asked for on the session's own stream, kept as last reported.

`2025-11-25 client/roots`. The answer is a POST of its own and may reach any process; its id alone
says what it answers, and a client that makes one up only misleads itself.
"""

import secrets
from collections.abc import Mapping
from typing import Any, Final

from mcp_app.catalog.inputs import AnswerInvalid, ListRoots
from mcp_app.dispatch.interfaces import SessionState, SessionStore

_PREFIX: Final = "roots-"
_MOST: Final = 100
"""Roots of a session that are kept."""
_LONGEST: Final = 2048
"""Characters of a root's URI or name that is kept."""


def new_id() -> str:
    """An id for a `roots/list` request, whose answer is recognised by it."""
    return f"{_PREFIX}{secrets.token_urlsafe(12)}"


def request_for(session: SessionState) -> dict[str, Any] | None:
    """A request that asks the session's client for its roots; None for one that has none."""
    if "roots" not in session.capabilities:
        return None
    return {"jsonrpc": "2.0", "id": new_id(), "method": ListRoots.method}


def remember(session: SessionState, answer_id: Any, result: Any, sessions: SessionStore) -> None:
    """Keep the roots that an answer tells, if that is what it answers."""
    if not isinstance(answer_id, str) or not answer_id.startswith(_PREFIX):
        return
    try:
        roots = ListRoots().read(result)
    except AnswerInvalid:
        return
    kept = [_as_json(root.uri, root.name) for root in roots if len(root.uri) <= _LONGEST]
    sessions.update(session.session_id, roots=kept[:_MOST])


def _as_json(uri: str, name: Any) -> Mapping[str, str]:
    return {"uri": uri} | ({"name": name[:_LONGEST]} if isinstance(name, str) else {})
