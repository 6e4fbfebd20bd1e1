"""What was wrong with a credential, in words, by the reason that a refused call's row has for it.

A caller is told none of it. Only of a genuine secret the row names the token and its user.
"""

from collections.abc import Mapping
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

NOTHING_KNOWN: Final = _("No credential came along, or none that is accepted.")
FOUND: Final[Mapping[str, tuple[Any, Any]]] = {
    "no credentials": (NOTHING_KNOWN, _("It came without a credential.")),
    "no class takes it": (
        NOTHING_KNOWN,
        _("No authentication class takes the credential it came with."),
    ),
    "malformed": (
        _("It begins like a secret, and is none: it was cut off, or mistyped."),
        _("What it came with is no secret. Nobody knows who that was."),
    ),
    "unknown": (
        _("There is no secret of this prefix: it was made elsewhere, or its token was deleted."),
        _("Its secret belongs to no token. Nobody knows who that was."),
    ),
    "mismatch": (
        _("There is a token of this prefix, and the rest of the secret is not the token's."),
        _("Its secret is not genuine. Nobody knows who that was."),
    ),
    "revoked": (
        _("The secret is genuine. Its token had been revoked."),
        _("Its token was revoked."),
    ),
    "rotated": (
        _("The secret is genuine. It had ended: its token was rotated, or it was ended alone."),
        _("Its secret is over: it was replaced by a newer one, or ended alone."),
    ),
    "expired": (
        _("The secret is genuine. Its token had expired."),
        _("Its token had expired."),
    ),
    "user inactive": (
        _("The secret is genuine. The user of its token is not active."),
        _("The user of its token is not active."),
    ),
}
"""By the error text, what the gate found and how the call ended."""
