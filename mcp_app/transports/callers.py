"""Who is calling: DRF authentication classes, asked in order, to one `Caller`."""

import math
from typing import Any, Final

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import BadRequest, SuspiciousOperation
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import (
    APIException,
    AuthenticationFailed,
    NotAuthenticated,
    ParseError,
)
from rest_framework.request import Request

from mcp_app.access.view import MessageParser
from mcp_app.auth import guesses
from mcp_app.auth.authentication import TokenAuthentication, any_sent
from mcp_app.auth.presented import attach
from mcp_app.auth.tokens import NOTHING_TAKEN, narrowing
from mcp_app.conf import settings
from mcp_app.dispatch.context import Caller
from mcp_app.dispatch.interfaces import CallRecord, Outcome
from mcp_app.models import Token
from mcp_app.protocol.errors import (
    Forbidden,
    InvalidRequest,
    ProtocolError,
    Throttled,
    Unauthenticated,
)
from mcp_app.transports.incoming import Incoming

_OURS: Final = (TokenAuthentication,)
_NOT_TAKEN: Final = "Invalid or expired token."


def identify(incoming: Incoming, record: CallRecord) -> Caller:
    """The caller; `record` learns who it is, or why it is nobody.

    A credential that no class takes is a bad one, also where callers without one are served:
    nobody is let in as less than they said they were, nor as whom their session belongs to.

    Raises:
        Unauthenticated: a bad credential, or none where anonymous callers are not served.
        Throttled: the credential is bad, and its address has sent too many of those.
        InvalidRequest: more than one credential was sent, or a class finds the request bad.
        Forbidden: an authentication class refused for another reason, such as a CSRF check.
    """
    address = incoming.address or ""
    record.address = address or None
    request = _request_for(incoming)
    is_sent = any_sent(request)
    if is_sent:
        incoming.leave_session()
        if not isinstance(request, _Heading):
            request = _request_for(incoming)
    authenticators = [cls() for cls in settings.authentication_classes]
    # Of a token of ours, no other class has the say.
    for authenticator in sorted(authenticators, key=_is_foreign):
        pair = _ask(authenticator, authenticators, request, record)
        if pair is not None:
            return _recognised(authenticator, pair, address, record)
    challenge = _challenge(authenticators, request)
    if is_sent:
        raise _bad(_NOT_TAKEN, "no class takes it", challenge, record)
    if not settings.ALLOW_ANONYMOUS:
        wanted = "Authentication is required: send a bearer token."
        raise Unauthenticated(wanted, challenge=challenge, reason="no credentials")
    record.source = "anonymous"
    return Caller(AnonymousUser(), address=address)


def _is_foreign(authenticator: BaseAuthentication) -> bool:
    return not isinstance(authenticator, _OURS)


class _Heading:
    """Of a request, what our own class looks at."""

    def __init__(self, incoming: Incoming) -> None:
        self._incoming = incoming
        self.META = {
            "HTTP_AUTHORIZATION": incoming.headers.get("authorization", ""),
            "HTTP_X_FORWARDED_FOR": incoming.headers.get("x-forwarded-for", ""),
            "REMOTE_ADDR": incoming.remote,
        }

    @property
    def GET(self) -> Any:
        """What stands in the address."""
        return self._incoming.request.GET


def _request_for(incoming: Incoming) -> Any:
    """DRF's request; where our own class alone is asked, none needs to be made."""
    if settings.authentication_classes == _OURS and not settings.TOKEN_HEADER:
        request: Any = _Heading(incoming)
    else:
        request = Request(incoming.request, parsers=[MessageParser()])
    attach(incoming.presented, request)
    return request


def _ask(
    authenticator: BaseAuthentication,
    authenticators: list[BaseAuthentication],
    request: Request,
    record: CallRecord,
) -> tuple[Any, Any] | None:
    try:
        return authenticator.authenticate(request)
    except (AuthenticationFailed, NotAuthenticated) as error:
        record.token_lookup = getattr(error, "token_lookup", "") or ""
        record.token = getattr(error, "token", None)
        record.user = getattr(record.token, "user", None)
        reason = str(getattr(error, "reason", "") or error.detail)
        challenge = _challenge(authenticators, request)
        raise _bad(str(error.detail), reason, challenge, record) from error
    except ParseError as error:
        raise InvalidRequest(str(error.detail)) from error
    except (SuspiciousOperation, BadRequest) as error:
        raise InvalidRequest("The request could not be read.") from error
    except APIException as error:
        raise Forbidden(str(error.detail)) from error


def _bad(message: str, reason: str, challenge: str, record: CallRecord) -> ProtocolError:
    """The refusal of a bad credential, which spends its address's budget."""
    seconds = guesses.spend(record.address)
    if not seconds:
        return Unauthenticated(message, challenge=challenge, reason=reason)
    record.outcome, record.error_text = Outcome.UNAUTHENTICATED, reason
    return Throttled(math.ceil(seconds))


def _recognised(
    authenticator: BaseAuthentication, pair: tuple[Any, Any], address: str, record: CallRecord
) -> Caller:
    user, auth = pair
    ours = isinstance(auth, Token)
    secret = getattr(auth, "secret_used", None)
    caller = Caller(
        user=user,
        auth=auth,
        **(narrowing(auth) if ours else NOTHING_TAKEN),
        source="token" if ours else type(authenticator).__name__,
        token_lookup=secret.lookup if secret is not None else "",
        address=address,
    )
    record.user, record.token = user, auth if ours else None
    record.token_lookup, record.source = caller.token_lookup, caller.source
    return caller


def _challenge(authenticators: list[BaseAuthentication], request: Request) -> str:
    """Worded by the first class that has words for it; a 401 never goes without one."""
    worded = (authenticator.authenticate_header(request) for authenticator in authenticators)
    return next(filter(None, worded), "Bearer")


def scope_challenge(scopes: tuple[str, ...]) -> str:
    """`2026-07-28 basic/authorization`: every scope that the tool needs, at once."""
    return f'Bearer error="insufficient_scope", scope="{" ".join(scopes)}"'
