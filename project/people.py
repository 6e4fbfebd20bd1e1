"""The example's users, and the file that keeps the token and the password that `make run` prints.

Nothing here is well known: both are made once for each fresh database, and stay on this machine.
"""

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from mcp_app.auth.tokens import issue
from mcp_app.auth.verification import CredentialsInvalid, verify
from project.environment import write_private
from project.quiz.groups import ensure_groups

ADMINISTRATOR = "admin"
SUPPORTER = "sam"
VISITOR = "vera"
TOKEN_NAME = "The example's client"  # noqa: S105 - a label, not a secret


@dataclass(frozen=True)
class Credentials:
    """What a newcomer needs to look around."""

    password: str
    token: str


def prepare(path: Path) -> None:
    """Create whoever is missing, and see to it that the credentials kept in `path` work."""
    kept = read(path)
    password = kept.password or secrets.token_urlsafe(12)
    _ensure_administrator(password)
    supporter = _ensure_user(SUPPORTER)
    supporter.groups.add(ensure_groups())
    _ensure_user(VISITOR)
    token = kept.token if _works(kept.token, supporter) else _issue(supporter)
    wanted = Credentials(password, token)
    if wanted != kept:
        write_private(path, json.dumps(asdict(wanted), indent=2) + "\n")


def read(path: Path) -> Credentials:
    """What is kept; empty where nothing is."""
    try:
        return Credentials(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return Credentials(password="", token="")


def _ensure_administrator(password: str) -> None:
    """The password that is printed must work, so one that was changed is set back."""
    user, _ = get_user_model().objects.get_or_create(
        username=ADMINISTRATOR, defaults={"is_staff": True, "is_superuser": True}
    )
    if not user.check_password(password):
        user.set_password(password)
        user.save()


def _ensure_user(name: str) -> User:
    user, created = get_user_model().objects.get_or_create(username=name)
    if created:
        user.set_unusable_password()
        user.save()
    return user


def _works(token: str, user: User) -> bool:
    """Whether the token is neither revoked, nor expired, nor of an older database."""
    try:
        return bool(verify(token).token.user_id == user.pk)
    except CredentialsInvalid:
        return False


def _issue(user: User) -> str:
    _, secret = issue(user=user, name=TOKEN_NAME, scopes=["rooms:write"])
    return secret.reveal()
