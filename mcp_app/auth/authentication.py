"""The DRF authentication class for bearer tokens. What the caller may then do is not known here."""

import logging
import re
from typing import Any, Final

from django.views.decorators.debug import sensitive_variables
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed

from mcp_app.address import client_address
from mcp_app.auth.verification import CredentialsInvalid, Invalid, verify
from mcp_app.conf import settings
from mcp_app.models import Token

logger: Final = logging.getLogger("mcp_app.auth")


class BearerRefused(AuthenticationFailed):
    """One sentence for every bad credential; the rest is for the audit.

    `reason` is an `Invalid`; `token_lookup` is what the text claimed; `token` is the row where
    the secret was genuine (revoked, rotated, expired), else None.
    """

    def __init__(self, cause: CredentialsInvalid) -> None:
        self.reason = cause.reason
        self.token_lookup = cause.lookup
        self.token: Token | None = cause.secret.token if cause.secret else None
        super().__init__("Invalid or expired token.")


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer mcp_…` (`2026-07-28 basic/authorization` Token Usage, RFC 6750)."""

    @sensitive_variables("header", "text")
    def authenticate(self, request: Any) -> tuple[Any, Token] | None:
        """The user and the `Token`, with `secret_used` set; None without a bearer header.

        Raises:
            BearerRefused: any credential that is not good now.
        """
        header = _bearer(request)
        if header is None:
            return None
        try:
            verified = verify(_text(header), address=client_address(request))
        except CredentialsInvalid as cause:
            logger.info("Bearer token refused: %s (%s).", cause.reason, cause.lookup or "no prefix")
            raise BearerRefused(cause) from None
        return verified.token.user, verified.token

    def authenticate_header(self, request: Any) -> str:
        """The challenge of a 401; it names an error only where a token was sent (RFC 6750 3.1)."""
        realm = re.sub(r'[^ -~]|["\\]', "", str(settings.SERVER_NAME))
        error = "" if _bearer(request) is None else ', error="invalid_token"'
        return f'Bearer realm="{realm}"{error}'


def _bearer(request: Any) -> str | None:
    header: str = request.META.get("HTTP_AUTHORIZATION", "")
    scheme = header.lstrip()[:6]
    rest = header.lstrip()[6:7]
    return header if scheme.lower() == "bearer" and rest in ("", " ", "\t") else None


def _text(header: str) -> str:
    parts = header.split()
    if len(parts) != 2:
        raise CredentialsInvalid(Invalid.MALFORMED)
    return parts[1]
