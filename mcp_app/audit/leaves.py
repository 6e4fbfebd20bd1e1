"""A stored row as the digest that a seal keeps of it.

The digest is over every column but the two keys of the user and the token, which become NULL when
those are deleted: each has a mark of its own beside it.
"""

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from mcp_app.models import CallEvent

SEALED: Final = (
    "id",
    "created_at",
    "duration_ms",
    "username",
    "token_name",
    "token_lookup",
    "session_id",
    "request_id",
    "method",
    "tool",
    "source",
    "transport",
    "decision",
    "outcome",
    "error_class",
    "error_text",
    "correlation_id",
    "arguments",
    "result_bytes",
    "protocol_version",
    "client_name",
    "client_version",
    "address",
)
"""The columns in the digest, in its order. Another order or another column makes other digests."""

FORGOTTEN: Final = ("user_id", "token_id")

_RECORD: Final = struct.Struct(">q32s8s8s")
_TEXT: Final = "arguments_text"
_COLUMNS: Final = [_TEXT if name == "arguments" else name for name in (*SEALED, *FORGOTTEN)]


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a seal keeps of one row."""

    id: int
    digest: bytes
    user: bytes
    token: bytes

    def agrees_with(self, sealed: "Leaf") -> bool:
        """Whether the row still is what was sealed; a user or token may have been deleted since."""
        return self.digest == sealed.digest and all(
            now in (then, _mark(self.digest, None)) for now, then in self._marks(sealed)
        )

    def lacks_a_key(self, sealed: "Leaf") -> bool:
        """Whether a key that was sealed is not there any more."""
        return any(now != then for now, then in self._marks(sealed))

    def lacks_one_of(self, sealed: "Leaf", users: Iterable[Any], tokens: Iterable[Any]) -> bool:
        """Whether a key that was sealed is not there any more, and is one of these."""
        return any(
            now != then and any(_mark(self.digest, key) == then for key in keys)
            for (now, then), keys in zip(self._marks(sealed), (users, tokens), strict=True)
        )

    def _marks(self, sealed: "Leaf") -> tuple[tuple[bytes, bytes], ...]:
        return (self.user, sealed.user), (self.token, sealed.token)


def packed(leaves: list[Leaf]) -> bytes:
    """Leaves as 56 bytes each."""
    return b"".join(_RECORD.pack(x.id, x.digest, x.user, x.token) for x in leaves)


def unpacked(contents: bytes) -> list[Leaf]:
    """What `packed` made; nothing where it is not of that shape."""
    if len(contents) % _RECORD.size:
        return []
    return [Leaf(*fields) for fields in _RECORD.iter_unpack(contents)]


def leaves_of(rows: QuerySet[CallEvent]) -> list[Leaf]:
    """The leaves of stored rows, by key. A row that cannot be read agrees with no seal."""
    found = rows.order_by("pk").annotate(**{_TEXT: Cast("arguments", TextField())})
    try:
        return [_leaf(values) for values in found.values_list(*_COLUMNS)]
    except (ValueError, TypeError):
        return list(_one_by_one(rows))


def _one_by_one(rows: QuerySet[CallEvent]) -> Iterator[Leaf]:
    for key in list(rows.order_by("pk").values_list("pk", flat=True)):
        found = rows.filter(pk=key).annotate(**{_TEXT: Cast("arguments", TextField())})
        try:
            yield from [_leaf(values) for values in found.values_list(*_COLUMNS)]
        except (ValueError, TypeError):
            yield Leaf(key, bytes(32), bytes(8), bytes(8))


def _leaf(values: tuple[Any, ...]) -> Leaf:
    sealed, (user, token) = values[: len(SEALED)], values[len(SEALED) :]
    said = json.dumps([*map(_plain, SEALED, sealed)], separators=(",", ":"), default=str)
    digest = hashlib.sha256(said.encode()).digest()
    return Leaf(sealed[0], digest, _mark(digest, user), _mark(digest, token))


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return (value.astimezone(UTC) if value.tzinfo else value).isoformat()
    if name == "arguments" and value is not None:
        return _json(value)
    return value


def _json(text: str) -> Any:
    """As a value, because databases differ in how they write one; as text where it is none."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return text


def _mark(digest: bytes, key: Any) -> bytes:
    return hashlib.sha256(digest + str(key).encode()).digest()[:8]
