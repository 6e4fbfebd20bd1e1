"""Opaque list cursors: a position, signed, that says nothing a client could use or forge.

`2026-07-28 server/utilities/pagination`. A cursor names the last item that was sent, so removing
or adding other items never makes a page skip or repeat one.
"""

import base64
import binascii
import hashlib
import hmac
from typing import Final

_SIGNATURE_BYTES: Final = 12


class BadCursor(ValueError):
    """A cursor that this server did not make for this list."""


def make(after: str, *, purpose: str, key: bytes) -> str:
    """A cursor for the page that follows the item `after` in the list named `purpose`."""
    raw = after.encode("utf-8")
    return base64.urlsafe_b64encode(_sign(raw, purpose, key) + raw).decode("ascii").rstrip("=")


def read(cursor: str, *, purpose: str, key: bytes) -> str:
    """The item that a page continues after.

    Raises:
        BadCursor: forged, damaged, or made for another list.
    """
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        blob = base64.b64decode(padded, altchars=b"-_", validate=True)
        signature, raw = blob[:_SIGNATURE_BYTES], blob[_SIGNATURE_BYTES:]
        after = raw.decode("utf-8")
    except (ValueError, binascii.Error) as error:
        raise BadCursor("not a cursor of this list") from error
    if not hmac.compare_digest(signature, _sign(raw, purpose, key)):
        raise BadCursor("not a cursor of this list")
    return after


def _sign(raw: bytes, purpose: str, key: bytes) -> bytes:
    message = purpose.encode("utf-8") + b"\0" + raw
    return hmac.new(key, message, hashlib.sha256).digest()[:_SIGNATURE_BYTES]
