"""The DRF authentication class for bearer tokens. What the caller may then do is not known here."""

import logging
import re
from collections.abc import Mapping
from typing import Any, Final

from django.views.decorators.debug import sensitive_variables
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, ParseError

from mcp_app.address import client_address
from mcp_app.auth.presented import known
from mcp_app.auth.verification import CredentialsInvalid, verify
from mcp_app.conf import settings
from mcp_app.models import Token
from mcp_app.token_form import PREFIX

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

    With `MCP_APP["TOKEN_HEADER"]` also the bare token in that header, and with
    `MCP_APP["ALLOW_QUERY_TOKEN"]`, which that specification forbids, `?token=mcp_…`. What is no
    token of ours, such as a JWT, is left to the classes after this one.
    """

    @sensitive_variables("sent", "text")
    def authenticate(self, request: Any) -> tuple[Any, Token] | None:
        """The user and the `Token`, with `secret_used` set; None where no token of ours was sent.

        Raises:
            BearerRefused: any credential that is not good now.
            ParseError: another credential was sent beside it.
        """
        bearer = _bearer(request)
        sent = _sent(request, bearer)
        if not sent:
            return None
        if len(sent) > 1 or _is_others(request, bearer):
            raise ParseError("Send one credential, in one header or in the address.")
        text = sent[0]
        if not (text.startswith(PREFIX) or _is_in_address(request)):
            return None
        try:
            verified = verify(text, address=client_address(request), known=known(request))
        except CredentialsInvalid as cause:
            logger.info("Bearer token refused: %s (%s).", cause.reason, cause.lookup or "no prefix")
            raise BearerRefused(cause) from None
        return verified.token.user, verified.token

    def authenticate_header(self, request: Any) -> str:
        """The challenge of a 401; it names an error only where a token was sent (RFC 6750 3.1)."""
        realm = re.sub(r'[^ -~]|["\\]', "", str(settings.SERVER_NAME))
        error = ', error="invalid_token"' if _sent(request, _bearer(request)) else ""
        return f'Bearer realm="{realm}"{error}'


def any_sent(request: Any) -> bool:
    """Whether a credential was sent, of whatever kind: it decides who calls, and no cookie does."""
    bearer = _bearer(request)
    return bool(_sent(request, bearer)) or _is_others(request, bearer)


def _sent(request: Any, bearer: str | None) -> list[str]:
    """The text of each token that was sent, ours or another's."""
    found = [] if bearer is None else [bearer]
    if settings.TOKEN_HEADER:
        found += _in_own_header(request.META)
    if settings.ALLOW_QUERY_TOKEN:
        # In the address nobody but us looks for one.
        found += request.GET.getlist(QUERY_PARAMETER)
    return found


def _in_own_header(meta: Mapping[str, Any]) -> list[str]:
    """What stands in the header that the product named for tokens."""
    text = meta.get("HTTP_" + settings.TOKEN_HEADER.upper().replace("-", "_"), "").strip()
    return [text] if text else []


def _is_in_address(request: Any) -> bool:
    return settings.ALLOW_QUERY_TOKEN and QUERY_PARAMETER in request.GET


def _is_others(request: Any, bearer: str | None) -> bool:
    """Whether `Authorization` has another scheme, such as Basic."""
    return bearer is None and bool(request.META.get("HTTP_AUTHORIZATION", "").strip())


def _bearer(request: Any) -> str | None:
    """What follows the scheme, white space and all but around it; None for another scheme."""
    header: str = request.META.get("HTTP_AUTHORIZATION", "").lstrip()
    scheme, rest = header[:6], header[6:]
    return rest.strip() if scheme.lower() == "bearer" and rest[:1] in ("", " ", "\t") else None
