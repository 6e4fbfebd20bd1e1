"""Callers for commands: a user at a shell, with or without what a token takes from their rights."""

from dataclasses import replace
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from mcp_app.conf import settings
from mcp_app.dispatch.context import Caller
from mcp_app.models import TokenSecret
from mcp_app.scopes import carried
from mcp_app.transports.subjects import caller_of

SOURCE: Final = "command"
"""How such a caller was recognised, as call events have it."""


def find_user(username: str) -> Any:
    """The user who signs in by that name, active or not.

    Raises:
        CommandError: no such user.
    """
    users = get_user_model()
    try:
        return users._default_manager.get_by_natural_key(username)
    except users.DoesNotExist:
        raise CommandError(f"There is no user {username!r}.") from None


def find_secret(text: str) -> TokenSecret:
    """The secret, with its token and user, of a prefix with or without what stands around it.

    Raises:
        CommandError: no such secret.
    """
    prefix = text.removeprefix("mcp_").split("_")[0]
    secret = TokenSecret.objects.select_related("token__user").filter(lookup=prefix).first()
    if secret is None:
        raise CommandError("There is no such token. `mcp_token list` shows prefixes.")
    return secret


def find_caller(username: str, scopes: list[str] | None = None) -> Caller:
    """The caller that a user is.

    Args:
        username: as the user signs in.
        scopes: what a token would carry; None where none shall narrow the user.

    Raises:
        CommandError: no such user, a user who may not sign in, or an undeclared scope.
    """
    user = find_user(username)
    if not user.is_active:
        raise CommandError(f"The user {username!r} is not active.")
    unknown = sorted(set(scopes or ()) - set(settings.SCOPES))
    if unknown:
        raise CommandError(f"Not a declared scope: {', '.join(unknown)}.")
    caller = caller_of(user, source=SOURCE)
    return caller if scopes is None else replace(caller, scopes=carried(scopes))
