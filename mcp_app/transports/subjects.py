"""A caller without a request: a user, or the holder of a token, to be asked about or to run as.

What they may do is answered by the objects that answer at the endpoint.
"""

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from mcp_app.access.checks import CallerAccess
from mcp_app.access.explanation import Gate, explain
from mcp_app.access.switches import Switches
from mcp_app.auth.tokens import NOTHING_TAKEN, narrowing
from mcp_app.auth.verification import Invalid, objection
from mcp_app.catalog.definition import Declaration
from mcp_app.catalog.registry import MCPServer, default_server
from mcp_app.conf import settings
from mcp_app.dispatch.context import Caller
from mcp_app.models import TokenSecret

ADDRESS = "127.0.0.1"
_ENDED: Final = {
    Invalid.REVOKED: _lazy("the token is revoked"),
    Invalid.ROTATED: _lazy("this secret is over: it was replaced by a newer one, or ended alone"),
    Invalid.EXPIRED: _lazy("the token has expired"),
    Invalid.INACTIVE: _lazy("the user is not active"),
}
"""What `objection` may say, in words."""
_META = {"REMOTE_ADDR": ADDRESS, "SERVER_NAME": "localhost", "SERVER_PORT": "80"}


def caller_of(
    user: Any, secret: TokenSecret | None = None, *, source: str, address: str = ADDRESS
) -> Caller:
    """The caller that a user is, or that a secret's token makes of its user."""
    if secret is None:
        return Caller(user, source=source, address=address, **NOTHING_TAKEN)
    return Caller(
        user,
        auth=secret.token,
        source=source,
        token_lookup=secret.lookup,
        address=address,
        **narrowing(secret.token),
    )


def request_of(caller: Caller, meta: Mapping[str, Any] = _META) -> HttpRequest:
    """The request that permission classes are shown: the endpoint's method, and who calls."""
    made = HttpRequest()
    made.method = "POST"
    made.META = dict(meta)
    made.user = caller.user
    return made


def access_of(
    caller: Caller,
    server: MCPServer = default_server,
    *,
    meta: Mapping[str, Any] = _META,
    switches: Switches | None = None,
) -> CallerAccess:
    """What the endpoint's own checks let `caller` do; `switches` where they are known already."""
    return CallerAccess(caller, lambda: request_of(caller, meta), server, switches=switches)


def gates_of(
    declared: Declaration,
    caller: Caller,
    server: MCPServer = default_server,
    secret: TokenSecret | None = None,
) -> list[Gate]:
    """Every gate that a call of `declared` meets, in its order, each with pass or fail and why."""
    return [*door_of(caller, secret), *explain(declared, caller, access_of(caller, server))]


def door_of(caller: Caller, secret: TokenSecret | None = None) -> list[Gate]:
    """The gates that every request meets, whatever it asks for."""
    return [_enabled(), _admitted(caller, secret)]


def _enabled() -> Gate:
    told = _("it answers 404 to everything: MCP_APP has ENABLED off")
    return Gate(_("endpoint"), settings.enabled, _("it is served") if settings.enabled else told)


def _admitted(caller: Caller, secret: TokenSecret | None) -> Gate:
    """Whether the credential is good, or its user would be."""
    if secret is None:
        if not caller.user.is_active:
            return Gate(_("credential"), False, _("the user is not active"))
        told = _("the user is active; a token may have ended, expired or been revoked")
        return Gate(_("credential"), None, told, by_token=True)
    reason = objection(secret, timezone.now())
    good = f"{secret.token.name}, {secret.token.status().label}"
    return Gate(_("credential"), reason is None, str(_ENDED[reason]) if reason else good)
