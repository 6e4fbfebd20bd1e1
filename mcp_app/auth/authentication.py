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
        sent = _sent(request)
        if not sent:
            return None
        if len(sent) > 1 or _scheme_of_others(request):
            raise ParseError("Send one credential, in one header or in the address.")
        text = sent[0]
        if not (text.startswith(PREFIX) or _in_address(request)):
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
        error = ', error="invalid_token"' if _sent(request) else ""
        return f'Bearer realm="{realm}"{error}'


def any_sent(request: Any) -> bool:
    """Whether a credential was sent, of whatever kind: it decides who calls, and no cookie does."""
    return bool(_sent(request)) or _scheme_of_others(request)


def _sent(request: Any) -> list[str]:
    """The text of each token that was sent, ours or another's."""
    bearer = _bearer(request)
    found = [bearer, _in_own_header(request.META)]
    return [*(text for text in found if text is not None), *_in_address(request)]


def _in_own_header(meta: Mapping[str, Any]) -> str | None:
    """What stands in the header that the product named for tokens; None where nothing does."""
    key = "HTTP_" + settings.TOKEN_HEADER.upper().replace("-", "_")
    return (meta.get(key, "").strip() or None) if settings.TOKEN_HEADER else None


def _in_address(request: Any) -> list[str]:
    """Tokens in the address, where nobody but us looks for one."""
    return request.GET.getlist(QUERY_PARAMETER) if settings.ALLOW_QUERY_TOKEN else []


def _scheme_of_others(request: Any) -> bool:
    """Whether `Authorization` has another scheme, such as Basic."""
    return bool(request.META.get("HTTP_AUTHORIZATION", "").strip()) and _bearer(request) is None


def _bearer(request: Any) -> str | None:
    """What follows the scheme, white space and all but around it; None for another scheme."""
    header: str = request.META.get("HTTP_AUTHORIZATION", "").lstrip()
    scheme, rest = header[:6], header[6:]
    return rest.strip() if scheme.lower() == "bearer" and rest[:1] in ("", " ", "\t") else None
