"""The product's users, whatever their model is."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.db.models import SET_NULL, ForeignKey, Q


def author(label: Any) -> Any:
    """A column for who did something to a row, which outlives them."""
    return ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        verbose_name=label,
    )


def active(path: str = "") -> Q:
    """Users who may be let in; `path` leads to them: `token__user__`.

    A model without the column says it by an attribute, which no query can ask: there all are found,
    and each is asked once it is read.
    """
    try:
        get_user_model()._meta.get_field("is_active")
    except FieldDoesNotExist:
        return Q()
    return Q((f"{path}is_active", True))
