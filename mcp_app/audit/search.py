"""How calls are looked for by user, token and session, also after those were deleted."""

import re

from django.contrib.auth import get_user_model
from django.db.models import Q

from mcp_app.models import Session, Token, TokenSecret


def of_user(username: str) -> Q:
    """Calls of a user: by key, which is indexed; by name only among those without a key."""
    users = get_user_model()
    name = {users.USERNAME_FIELD: username}
    keys = list(users._default_manager.filter(**name).values_list("pk", flat=True))
    return Q(user__in=keys) | Q(user__isnull=True, username=username)


def lookup_in(typed: str) -> str:
    """The lookup in `mcp_<lookup>`, with or without what follows it, or nothing."""
    match = re.match(r"mcp_([0-9A-Za-z]{12})(?![0-9A-Za-z])", typed.strip())
    return match[1] if match else ""


def of_token(typed: str) -> Q:
    """Calls with a token: by key where it still exists, else by what was written down."""
    prefix = lookup_in(typed) or typed
    by_prefix = TokenSecret.objects.filter(lookup=prefix).values_list("token", flat=True)
    by_name = Token.objects.filter(name=typed).values_list("pk", flat=True)
    keys = [*by_prefix, *by_name[:100]]
    gone = Q(token__isnull=True, token_name=typed)
    return Q(token__in=keys) | Q(token_lookup=prefix) | gone


def of_session(key: str) -> Q:
    """Calls of a session, by its whole id: the index over tokens, or users, finds its holder's.

    What others sent under that id is not its.
    """
    session = Session.objects.filter(key=key).first()
    said = Q(session_id=key)
    if session is None:
        return said
    if session.token_id is not None:
        return said & Q(token=session.token_id)
    return said & Q(user=session.user_id) if session.user_id is not None else said
