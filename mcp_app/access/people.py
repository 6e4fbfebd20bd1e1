"""Permissions of several users read at once: a table of people is not a query for each.

It fills what Django's own `ModelBackend` remembers of a user, and only where that very code is what
answers. Everywhere else each user is asked, as ever.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.contrib.auth import get_backends, get_user_model
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import PermissionsMixin

_ANSWERS: Final = ("_get_user_permissions", "_get_group_permissions", "_get_permissions")
_PATHS: Final[Mapping[str, str]] = {
    "_user_perm_cache": "user_permissions",
    "_group_perm_cache": "groups__permissions",
}
"""Where the backend keeps what it found of a user, and the way to it."""


def remember_permissions(users: Iterable[Any]) -> None:
    """Read the permissions of all of them, by two queries."""
    asked = [user for user in users if user.is_active and not user.is_superuser]
    if not asked or not _is_usual():
        return
    for kept, way in _PATHS.items():
        found: dict[Any, set[str]] = {user.pk: set() for user in asked}
        for key, app, codename in _rows([*found], way):
            found[key].add(f"{app}.{codename}")
        for user in asked:
            setattr(user, kept, found[user.pk])


def _rows(keys: list[Any], way: str) -> Iterable[tuple[Any, str, str]]:
    people = get_user_model()._default_manager.filter(pk__in=keys, **{f"{way}__isnull": False})
    columns = ("pk", f"{way}__content_type__app_label", f"{way}__codename")
    rows: Iterable[tuple[Any, str, str]] = people.order_by().values_list(*columns)
    return rows


def _is_usual() -> bool:
    """Whether each backend that answers as Django's does is Django's own, and users have these."""
    own = [backend for backend in get_backends() if isinstance(backend, ModelBackend)]
    changed = [
        name
        for backend in own
        for name in _ANSWERS
        if getattr(type(backend), name) is not getattr(ModelBackend, name)
    ]
    return issubclass(get_user_model(), PermissionsMixin) and bool(own) and not changed
