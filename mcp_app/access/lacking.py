"""Which of Django's permissions a user was asked for in vain, and which groups have them.

A permission class says no and not why. Whatever class it is, it asks the user.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission, PermissionsMixin
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

MOST_GROUPS: Final = 10
"""Groups that are named for one permission."""


@contextmanager
def lacking(user: Any) -> Iterator[list[str]]:
    """The permissions that `user` is asked for meanwhile and lacks, in a list that fills.

    Nothing but this very object is watched: nobody else's user is.
    """
    missed: list[str] = []
    asked = {name: getattr(user, name) for name in ("has_perm", "has_perms") if hasattr(user, name)}

    def has_perm(permission: Any, *args: Any, **kwargs: Any) -> bool:
        held = bool(asked["has_perm"](permission, *args, **kwargs))
        if not held and str(permission) not in missed:
            missed.append(str(permission))
        return held

    def has_perms(permissions: Any, *args: Any, **kwargs: Any) -> bool:
        each = list(permissions)
        # Django's own stops at the first that is missing.
        for permission in each:
            has_perm(permission, *args, **kwargs)
        return bool(asked["has_perms"](each, *args, **kwargs))

    watching = {"has_perm": has_perm, "has_perms": has_perms}
    for name in asked:
        setattr(user, name, watching[name])
    try:
        yield missed
    finally:
        for name in asked:
            delattr(user, name)


def in_words(missed: Sequence[str]) -> list[str]:
    """In a sentence each, what a user lacks, and where it can be had."""
    groups = _groups(missed)
    return [_told(name, groups.get(name)) for name in missed]


def _told(name: str, groups: list[str] | None) -> str:
    lacks = _("the user lacks %s") % name
    if not issubclass(get_user_model(), PermissionsMixin):
        return lacks
    if groups is None:
        return _("%s, and there is no permission of that name") % lacks
    if not groups:
        return _("%s, which no group has") % lacks
    more = ", …" if len(groups) > MOST_GROUPS else ""
    named = ", ".join(groups[:MOST_GROUPS]) + more
    having = ngettext("which the group %s has", "which the groups %s have", len(groups)) % named
    return f"{lacks}, {having}"


def _groups(names: Sequence[str]) -> dict[str, list[str]]:
    """By permission, of those that there are, the groups that have it."""
    if not names:
        return {}
    found: dict[str, list[str]] = {}
    rows = _rows(names).values_list("content_type__app_label", "codename", "group__name")
    for app, codename, group in rows.order_by("group__name"):
        held = found.setdefault(f"{app}.{codename}", [])
        if group is not None:
            held.append(group)
    return found


def having_one_of(names: Collection[str]) -> QuerySet[Group]:
    """The groups that have at least one of the permissions."""
    if not names:
        return Group.objects.none()
    return Group.objects.filter(permissions__in=_rows(names)).distinct()


def _rows(names: Collection[str]) -> QuerySet[Permission]:
    wanted = Q()
    for name in names:
        app, _dot, codename = name.partition(".")
        wanted |= Q(content_type__app_label=app, codename=codename)
    return Permission.objects.filter(wanted)
