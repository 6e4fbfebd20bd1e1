"""What changes a caller's lists, or ends their streams, told on the bus.

Users, permissions, groups, tokens, declarations: what Django's signals tell of. What an `update()`
changes in rows is seen by streams at their next keep-alive.
"""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import router, transaction
from django.db.models.signals import m2m_changed, post_delete, post_save

from mcp_app import signals
from mcp_app.catalog.registry import default_server
from mcp_app.models import Switch, Token
from mcp_app.transports.bus import bus
from mcp_app.transports.live import RESOURCES_TOPIC, user_topic
from mcp_app.transports.watch import CREDENTIALS_TOPIC, LISTS_TOPIC


def lists_changed() -> None:
    """Have every open stream look whether its caller's lists are still what they were.

    A stream whose list is the same says nothing.
    """
    bus.publish(LISTS_TOPIC, {})


def resource_updated(uri: str, using: str | None = None) -> None:
    """Tell whoever subscribed to a resource that it has changed, once the transaction ends.

    Args:
        using: the database whose transaction that is; by default the one that users are kept in.
    """
    _tell(RESOURCES_TOPIC, using or router.db_for_write(get_user_model()), uri=uri)


def connect() -> None:
    """Listen to what Django says of users, groups, permissions and tokens."""
    user = get_user_model()
    post_save.connect(_user_saved, sender=user, dispatch_uid="mcp_app.user")
    post_delete.connect(_user_gone, sender=user, dispatch_uid="mcp_app.user_gone")
    post_save.connect(_token_saved, sender=Token, dispatch_uid="mcp_app.token")
    post_delete.connect(_token_saved, sender=Token, dispatch_uid="mcp_app.token_gone")
    for ended in (signals.token_revoked, signals.token_rotated, signals.token_secret_ended):
        ended.connect(_token_ended, sender=Token, dispatch_uid="mcp_app.token_ended")
    for field in ("user_permissions", "groups"):
        relation = getattr(user, field, None)
        if relation is not None:
            uid = f"mcp_app.{field}"
            m2m_changed.connect(_user_related, sender=relation.through, dispatch_uid=uid)
    for said in (post_save, post_delete):
        said.connect(_switched, sender=Switch, dispatch_uid="mcp_app.switch")
    permissions = Group.permissions.through
    m2m_changed.connect(_group_related, sender=permissions, dispatch_uid="mcp_app.group")
    default_server.on_change(lists_changed)


def _tell(topic: str, using: str, **message: str) -> None:
    def send() -> None:
        bus.publish(topic, message)

    # Not a partial: Django names what failed by an attribute that partials lack.
    transaction.on_commit(send, using=using, robust=True)


def _user_saved(
    instance: Any, created: bool, using: str, update_fields: Any = None, **_: Any
) -> None:
    # Each login saves its own moment alone, which changes nothing for anybody.
    if not created and set(update_fields or ()) != {"last_login"}:
        _tell(user_topic(instance.pk), using)
        _tell(CREDENTIALS_TOPIC, using, user=str(instance.pk))


def _user_gone(instance: Any, using: str, **_: Any) -> None:
    _tell(CREDENTIALS_TOPIC, using, user=str(instance.pk))


def _token_saved(instance: Token, using: str, **_: Any) -> None:
    _tell(user_topic(instance.user_id), using)
    _tell(CREDENTIALS_TOPIC, using, user=str(instance.user_id))


def _token_ended(token: Token, **_: Any) -> None:
    """After the commit: an act on a token writes its rows without saving it."""
    bus.publish(CREDENTIALS_TOPIC, {"user": str(token.user_id)})


def _user_related(instance: Any, action: str, reverse: bool, using: str, **_: Any) -> None:
    if action.startswith("post_"):
        _tell(LISTS_TOPIC if reverse else user_topic(instance.pk), using)


def _switched(using: str, **_: Any) -> None:
    _tell(LISTS_TOPIC, using)


def _group_related(action: str, using: str, **_: Any) -> None:
    if action.startswith("post_"):
        _tell(LISTS_TOPIC, using)
