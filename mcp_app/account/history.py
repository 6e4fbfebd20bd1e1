"""What users do to their own tokens, noted in the admin's log where the product has an admin."""

from typing import Any

from django.apps import apps

from mcp_app.models import Token

_ADDITION, _CHANGE = 1, 2
"""As `django.contrib.admin.models` has them, which cannot be imported without an admin."""


def note_issue(user: Any, token: Token) -> None:
    """That a user issued a token for themselves."""
    _note(user, token, _ADDITION, [{"added": {}}])


def note_act(user: Any, token: Token, said: str) -> None:
    """What a user did to their token."""
    _note(user, token, _CHANGE, said)


def _note(user: Any, token: Token, flag: int, message: Any) -> None:
    if not apps.is_installed("django.contrib.admin"):
        return
    from django.contrib.admin.models import LogEntry

    one = Token.objects.filter(pk=token.pk)
    LogEntry.objects.log_actions(user.pk, one, flag, message, single_object=True)
