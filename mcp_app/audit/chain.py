"""The chain of seals: each link's digest covers the one before it, so that none can be changed.

Signed with the first of `MCP_APP["SEAL_KEYS"]` where there is one. Without a key, whoever may write
to the database can make the whole chain anew: then only a head that was kept elsewhere tells.
"""

import hashlib
import hmac
import json
import time
import zlib
from array import array
from collections.abc import Callable, Sequence
from datetime import UTC
from typing import Any, Final, TypeVar

from django.db import IntegrityError, OperationalError, transaction
from django.utils import timezone

from mcp_app.audit.storage import LOCK_SECONDS, is_locked
from mcp_app.conf import settings
from mcp_app.models import Seal

Value = TypeVar("Value")

_PAUSE: Final = 0.02


class ChainRefused(Exception):
    """A chain that cannot be continued; the text says why."""


def links(alias: str) -> Any:
    """The links, in no order yet."""
    return Seal._base_manager.using(alias)


def head(alias: str) -> Seal | None:
    """The newest link."""
    newest: Seal | None = links(alias).order_by("-number").first()
    return newest


def sealed_to(alias: str) -> int:
    """The last key that a seal covers; 0 where none does."""
    ranges = links(alias).filter(kind=Seal.Kind.RANGE).order_by("-last_id")
    return ranges.values_list("last_id", flat=True).first() or 0


def check_continuable(last: Seal | None) -> None:
    """Refuse to sign what follows a link that nobody with a key has signed. Raises ChainRefused."""
    if _keys() and last is not None and not is_signed(last):
        raise ChainRefused(
            f"Link {last.number} is not signed with one of MCP_APP['SEAL_KEYS']."
            " Verify the chain, and continue it with `mcp_seal --adopt`."
        )


def append(
    alias: str,
    before: Seal | None,
    kind: Seal.Kind,
    *,
    span: tuple[int, int],
    rows: int = 0,
    contents: bytes = b"",
    reason: str = "",
    adopt: bool = False,
) -> Seal:
    """Write the link after `before`, over the keys from `span[0]` to `span[1]`.

    Raises:
        IntegrityError: somebody else appended meanwhile.
        ChainRefused: `check_continuable` says no, and not to `adopt`.
    """
    key = _keys()[0] if _keys() else b""
    if not adopt:
        check_continuable(before)
    link = Seal(
        number=1 if before is None else before.number + 1,
        kind=kind,
        first_id=span[0],
        last_id=span[1],
        rows=rows,
        contents=contents,
        contents_digest=hashlib.sha256(contents).hexdigest(),
        reason=reason[:255],
        created_at=timezone.now(),
        key_id=_key_id(key),
        previous="" if before is None else before.digest,
    )
    link.digest = _digest(link, key)
    link.save(using=alias, force_insert=True)
    return link


def retried(attempt: Callable[[], Value], alias: str) -> Value:
    """What `attempt` gives, in a transaction of its own, tried anew when another was faster."""
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            with transaction.atomic(using=alias):
                return attempt()
        except (IntegrityError, OperationalError) as error:
            beaten = isinstance(error, IntegrityError) or is_locked(error, alias)
            if not beaten or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)


def pruned_keys(alias: str, first: int, last: int) -> set[int]:
    """The keys in a range of which the chain says that they were pruned."""
    pruned = links(alias).filter(kind=Seal.Kind.PRUNED, last_id__gte=first, first_id__lte=last)
    return {
        key
        for contents in pruned.values_list("contents", flat=True)
        for key in unpack_keys(bytes(contents))
        if first <= key <= last
    }


def is_signed(link: Seal) -> bool:
    """Whether `link` is as one of the keys has signed it."""
    key = _key_of(link)
    return bool(key) and hmac.compare_digest(_digest(link, key or b""), link.digest)


def fault_of(link: Seal) -> str:
    """What is wrong with a link taken by itself; empty where nothing is."""
    key = _key_of(link)
    if key is None:
        return "is signed with a key that MCP_APP['SEAL_KEYS'] does not have"
    if not hmac.compare_digest(_digest(link, key), link.digest):
        return "was changed"
    dropped = not link.contents and link.rows
    if not dropped and hashlib.sha256(link.contents).hexdigest() != link.contents_digest:
        return "has other contents than it was made with"
    return ""


def pack_keys(keys: Sequence[int]) -> bytes:
    """Row keys, small."""
    return zlib.compress(array("q", sorted(keys)).tobytes())


def unpack_keys(contents: bytes) -> list[int]:
    """What `pack_keys` made; nothing where it is not of that shape."""
    keys = array("q")
    try:
        keys.frombytes(zlib.decompress(contents))
    except (zlib.error, ValueError):
        return []
    return list(keys)


def _keys() -> list[bytes]:
    return [key.encode() for key in settings.SEAL_KEYS]


def _key_id(key: bytes) -> str:
    return hashlib.sha256(b"mcp_app.seal" + key).hexdigest()[:16] if key else ""


def _key_of(link: Seal) -> bytes | None:
    """The key that `link` names, empty for none, None where it is unknown."""
    return {_key_id(key): key for key in (b"", *_keys())}.get(link.key_id)


def _digest(link: Seal, key: bytes) -> str:
    moment = link.created_at
    said = [
        link.number,
        str(link.kind),
        link.first_id,
        link.last_id,
        link.rows,
        link.contents_digest,
        link.reason,
        (moment.astimezone(UTC) if moment.tzinfo else moment).isoformat(),
        link.key_id,
        link.previous,
    ]
    text = json.dumps(said, separators=(",", ":")).encode()
    made = hmac.new(key, text, hashlib.sha256) if key else hashlib.sha256(text)
    return made.hexdigest()
