"""Callers for commands: a user at a shell, without a token, with the access of any other caller."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError
from django.http import HttpRequest

from mcp_app.access.checks import CallerAccess
from mcp_app.catalog.registry import default_server
from mcp_app.conf import settings
from mcp_app.dispatch.context import Caller
from mcp_app.scopes import carried

SOURCE = "command"
"""How such a caller was recognised, as call events have it."""

ADDRESS = "127.0.0.1"


def find_caller(username: str, scopes: list[str] | None = None) -> Caller:
    """The caller that a user is.

    Args:
        username: as the user signs in.
        scopes: what a token would carry; None where none shall narrow the user.

    Raises:
        CommandError: no such user, a user who may not sign in, or an undeclared scope.
    """
    users = get_user_model()
    try:
        user: Any = users._default_manager.get_by_natural_key(username)
    except users.DoesNotExist:
        raise CommandError(f"There is no user {username!r}.") from None
    if not user.is_active:
        raise CommandError(f"The user {username!r} is not active.")
    unknown = sorted(set(scopes or ()) - set(settings.SCOPES))
    if unknown:
        raise CommandError(f"Not a declared scope: {', '.join(unknown)}.")
    narrowed = None if scopes is None else carried(scopes)
    return Caller(user, scopes=narrowed, source=SOURCE, address=ADDRESS)


def access_of(caller: Caller) -> CallerAccess:
    """What the endpoint's own checks let `caller` do, with the default server's tools."""

    def request() -> HttpRequest:
        made = HttpRequest()
        made.method = "POST"
        made.META = {"REMOTE_ADDR": ADDRESS, "SERVER_NAME": "localhost", "SERVER_PORT": "80"}
        made.user = caller.user
        return made

    return CallerAccess(caller, request, default_server)
