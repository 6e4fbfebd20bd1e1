"""The columns behind serializer fields: the type of their values, and whether they may be null."""

from typing import Any, Final, cast

from django.core.exceptions import FieldDoesNotExist
from django.db.models.constants import LOOKUP_SEP
from rest_framework import serializers
from rest_framework.utils.field_mapping import ClassLookupDict

_KINDS: Final = (serializers.IntegerField, serializers.UUIDField, serializers.CharField)
_SHOWN_BY: Final[Any] = ClassLookupDict(
    cast(Any, serializers.ModelSerializer.serializer_field_mapping)
)


def column(model: Any, path: str) -> Any:
    """The column that a lookup such as `pk` or `owner__name` ends at, None where it is none."""
    found = None
    for name in path.split(LOOKUP_SEP):
        if model is None:
            return None
        try:
            found = model._meta.pk if name == "pk" else model._meta.get_field(name)
        except FieldDoesNotExist:
            return None
        model = found.related_model
    while getattr(found, "remote_field", None) is not None:
        found = getattr(found, "target_field", None)
    return found


def noun(relation: Any) -> str:
    """What the rows are called that a field refers to."""
    return str(relation.queryset.model._meta.verbose_name)


def kind(of: Any) -> type | None:
    """The serializer field class whose values a column has: of integers, UUIDs or texts alone."""
    if of is None:
        return None
    try:
        found = _SHOWN_BY[of]
    except KeyError:
        return None
    return next((each for each in _KINDS if issubclass(found, each)), None)


def is_null(field: Any) -> bool | None:
    """Whether the column that a serializer's field shows may be null; None where there is none."""
    meta = getattr(field.parent, "Meta", None)
    model = getattr(meta, "model", None)
    if model is None or field.source == "*" or "." in field.source:
        return None
    try:
        found = model._meta.pk if field.source == "pk" else model._meta.get_field(field.source)
    except FieldDoesNotExist:
        return None
    return bool(found.null) if found.concrete else None
