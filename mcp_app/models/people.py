"""The product's users, whatever their model is."""

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Q


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
