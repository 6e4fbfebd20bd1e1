"""The groups that the quiz's back office works with."""

from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model

from project.quiz.models import Announcement, Match, MatchEvent, Player, Room

SUPPORT = "support"

_SUPPORT_MAY: tuple[tuple[str, type[Model]], ...] = (
    ("view", Room),
    ("change", Room),
    ("view", Player),
    ("view", Match),
    ("view", MatchEvent),
    ("view", Announcement),
)


def ensure_groups() -> Group:
    """Create the group "support" where it is missing, give it its permissions, and return it.

    Permissions that an administrator has added to the group stay.
    """
    group, _ = Group.objects.get_or_create(name=SUPPORT)
    group.permissions.add(*(_permission(action, model) for action, model in _SUPPORT_MAY))
    return group


def _permission(action: str, model: type[Model]) -> Permission:
    return Permission.objects.get(
        content_type=ContentType.objects.get_for_model(model),
        codename=f"{action}_{model._meta.model_name}",
    )
