"""A call record as a row: texts cleaned, redacted and trimmed to their columns.

Knows the columns of `CallEvent`. Knows nothing of when or how a row is written.
"""

import ipaddress
import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from django.conf import settings as django_settings
from django.db.models import CharField
from django.utils.crypto import salted_hmac

from mcp_app.audit.keys import SecretKeys, secret_keys
from mcp_app.audit.redaction import hidden_texts, stored_arguments
from mcp_app.audit.text import MARGIN, printable, redact_text
from mcp_app.catalog.disclosure import NOTHING
from mcp_app.compiled import new
from mcp_app.conf import settings
from mcp_app.dispatch.interfaces import CallRecord
from mcp_app.models import CallEvent, Token

logger: Final = logging.getLogger("mcp_app.audit")

ERROR_TEXT_LIMIT: Final = 4000
"""In characters."""

FINISHED: Final = (
    "duration_ms",
    "decision",
    "outcome",
    "error_class",
    "error_text",
    "result_bytes",
)
"""The columns that change while a call goes on, and with its end."""

_WIDTHS: Final = {
    field.name: field.max_length or 0
    for field in CallEvent._meta.concrete_fields
    if isinstance(field, CharField)
}
_READ: Final = {name: 4 * width + 2 * MARGIN for name, width in _WIDTHS.items()}
"""Characters of a text that are looked at for such a column."""
_TEXTS: Final = (
    *("token_lookup", "session_id", "method", "tool", "source", "transport", "decision", "outcome"),
    *("error_class", "protocol_version", "client_name", "client_version"),
)
"""The columns that hold a text of the record's as it is, cleaned."""
_LINES: Final = ("username", "token_name", *_TEXTS)
_texts_of: Final = attrgetter(*_TEXTS)
_RECURRING: Final = 1000
"""Characters of a row's lines together, at most, that are remembered: most calls differ in none."""
_UNREADABLE: Final = "[unreadable]"
_WITHHELD: Final = "[withheld: the arguments hold too much that it might quote]"


def to_event(record: CallRecord) -> CallEvent:
    """The unsaved row that `record`, as it stands, is stored as."""
    keys = secret_keys(tuple(settings.REDACT_KEYS))
    user, token = record.user, record.token
    values = {
        "id": None,
        "created_at": _moment(record.started_at),
        "duration_ms": None if record.duration is None else record.duration * 1000,
        "user_id": getattr(user, "pk", None),
        "token_id": token.id if isinstance(token, Token) else None,
        **_texts(record),
        "request_id": _request_id(record.request_id),
        "error_text": _error_text(record, keys) if record.error_text else "",
        "correlation_id": record.correlation_id[: _WIDTHS["correlation_id"]],
        "arguments": _arguments(record, keys),
        "result_bytes": record.result_bytes,
        "address": _address(record.address) if record.address else None,
    }
    return new(CallEvent, values)


def _request_id(value: object) -> str:
    """JSON-RPC has texts and numbers as ids; 0 is one of them."""
    if isinstance(value, int) and abs(value) < 2**64:
        return str(value)
    return _column(value, "request_id")


def _moment(seconds: float) -> datetime:
    """As Django's columns want it: aware, or naive in local time without `USE_TZ`."""
    return datetime.fromtimestamp(seconds, UTC if django_settings.USE_TZ else None)


def _texts(record: CallRecord) -> Mapping[str, str]:
    """The columns that hold one line each."""
    # Users and tokens may be deleted, the user by the call itself: their names are kept.
    username = getattr(record.user, "get_username", str)()
    texts = (username, getattr(record.token, "name", ""), *_texts_of(record))
    with suppress(TypeError):  # what a caller has sent may be no text
        if sum(map(len, texts)) <= _RECURRING:
            return _remembered(texts)
    return _columns(texts)


def _columns(texts: tuple[object, ...]) -> Mapping[str, str]:
    return {name: _column(text, name) for name, text in zip(_LINES, texts, strict=True)}


_remembered: Final = lru_cache(maxsize=512)(_columns)


def _column(value: object, name: str) -> str:
    """`value` as one printable line without secrets, no longer than the column."""
    if not value:
        return ""
    # What stands far behind the column's end is not looked at: clients have sent megabytes.
    text = value if isinstance(value, str) else repr(value)
    return _line(text[: _READ[name]], _WIDTHS[name])


@lru_cache(maxsize=2048)
def _line(text: str, width: int) -> str:
    redacted = redact_text(text, secret_keys(), limit=4 * width + MARGIN, marker=False)
    line = printable(redacted)
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _error_text(record: CallRecord, keys: SecretKeys) -> str:
    """The error's text without what `_arguments` leaves out; none where that is too much."""
    told = record.disclosure if _level(record) == "redacted" else NOTHING
    hidden = hidden_texts(record.arguments, keys=keys, disclosure=told)
    if hidden is None:
        return _WITHHELD
    return redact_text(record.error_text, keys, limit=ERROR_TEXT_LIMIT, known=hidden)


def _arguments(record: CallRecord, keys: SecretKeys) -> Any:
    level, told = _level(record), record.disclosure
    try:
        return stored_arguments(
            record.arguments, level, keys=keys, disclosure=told, key=_digest_key()
        )
    except Exception:
        logger.exception("The arguments of %s could not be stored", record.correlation_id)
        return _UNREADABLE


def _digest_key() -> bytes:
    """Of this project alone, so that no digest can be made elsewhere to compare."""
    return _derived(django_settings.SECRET_KEY)


@lru_cache(maxsize=4)
def _derived(secret: str) -> bytes:
    return salted_hmac("mcp_app.audit", "arguments", secret, algorithm="sha256").digest()


def _level(record: CallRecord) -> str:
    """How much is kept of the arguments: what the declaration says, else the project."""
    return record.audit or str(settings.AUDIT_ARGUMENTS)


@lru_cache(maxsize=2048)
def _address(text: str) -> str | None:
    try:
        return str(ipaddress.ip_address(text.partition("%")[0]))
    except ValueError:
        return None
