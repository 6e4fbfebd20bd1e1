"""Request states: sealed with the project's own secret, good for a while and for one use."""

import secrets
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from django.core import signing
from django.db import IntegrityError, router, transaction
from django.utils import timezone

from mcp_app.conf import settings
from mcp_app.dispatch.inputs import StateInvalid
from mcp_app.models import SpentState

_SALT: Final = "mcp_app.request_state"
_SWEPT: Final = 100


class SignedStates:
    """A `StateSigner`: Django's signatures, and a table of what was opened."""

    def seal(self, payload: Mapping[str, Any]) -> str:
        """`payload` with a name of its own and an expiry, signed."""
        sealed = {
            **payload,
            "n": secrets.token_urlsafe(18),
            "e": time.time() + settings.INPUT_TIMEOUT,
        }
        return signing.dumps(sealed, salt=_SALT, compress=True)

    def open(self, text: str, belonging: Mapping[str, Any]) -> Mapping[str, Any]:
        """The payload; its name is spent by that, and by nobody else's request.

        Raises:
            StateInvalid: changed, expired, another's, or opened before.
        """
        try:
            payload: dict[str, Any] = signing.loads(text, salt=_SALT)
        except Exception as error:
            raise StateInvalid("was not made here, or was changed") from error
        if payload["e"] <= time.time():
            raise StateInvalid("has expired: the answer came too late")
        if any(payload.get(key) != value for key, value in belonging.items()):
            raise StateInvalid("belongs to another request, or to somebody else's")
        _spend(str(payload["n"]))
        return payload


def _spend(name: str) -> None:
    """Let no second request open the same state, on whatever process it arrives."""
    database = router.db_for_write(SpentState)
    now = timezone.now()
    stale = SpentState.objects.using(database).filter(expires_at__lt=now)
    stale.filter(pk__in=list(stale.values_list("pk", flat=True)[:_SWEPT])).delete()
    expires_at = now + timedelta(seconds=settings.INPUT_TIMEOUT)
    try:
        with transaction.atomic(using=database):
            SpentState.objects.using(database).create(name=name, expires_at=expires_at)
    except IntegrityError:
        raise StateInvalid("was used before") from None
