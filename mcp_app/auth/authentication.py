"""The DRF authentication class for bearer tokens. What the caller may then do is not known here."""

import logging
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from django.views.decorators.debug import sensitive_variables
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, ParseError

from mcp_app.address import client_address
from mcp_app.auth.verification import CredentialsInvalid, Invalid, verify
from mcp_app.conf import settings
from mcp_app.models import Token

QUERY_PARAMETER: Final = "token"
"""Where a token stands in the address, for clients that cannot set a header."""

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
    """`Authorization: Bearer mcp_…` (`2026-07-28 basic/authorization` Token Usage, RFC 6750).

    With `MCP_APP["ALLOW_QUERY_TOKEN"]`, which that specification forbids, also `?token=mcp_…`.
    """

    @sensitive_variables("sent")
    def authenticate(self, request: Any) -> tuple[Any, Token] | None:
        """The user and the `Token`, with `secret_used` set; None without a bearer token.

        Raises:
            BearerRefused: any credential that is not good now.
            ParseError: more than one was sent.
        """
        sent = _sent(request)
        if not sent:
            return None
        if len(sent) > 1:
            raise ParseError("Send one token, in the Authorization header or in the address.")
        try:
            verified = verify(sent[0](), address=client_address(request))
        except CredentialsInvalid as cause:
            logger.info("Bearer token refused: %s (%s).", cause.reason, cause.lookup or "no prefix")
            raise BearerRefused(cause) from None
        return verified.token.user, verified.token

    def authenticate_header(self, request: Any) -> str:
        """The challenge of a 401; it names an error only where a token was sent (RFC 6750 3.1)."""
        realm = re.sub(r'[^ -~]|["\\]', "", str(settings.SERVER_NAME))
        error = ', error="invalid_token"' if _sent(request) else ""
        return f'Bearer realm="{realm}"{error}'


def _sent(request: Any) -> list[Callable[[], str]]:
    """Each token that was sent, as what reads its text."""
    header = _bearer(request)
    sent: list[Callable[[], str]] = [] if header is None else [partial(_text, header)]
    if settings.ALLOW_QUERY_TOKEN:
        sent += [partial(str, value) for value in request.GET.getlist(QUERY_PARAMETER)]
    return sent


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
