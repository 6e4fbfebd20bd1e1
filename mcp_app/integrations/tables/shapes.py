"""Serializers of a model's columns: what is shown of a row, and what is taken of one value."""

from collections.abc import Mapping
from typing import Any

from django.db.models.constants import LOOKUP_SEP
from rest_framework import serializers

from mcp_app.integrations.tables.allowed import Column, refused


def shown(model: Any, columns: Mapping[str, Column]) -> Any:
    """The serializer class that shows these columns of a row. Raises Refused."""
    return serializer(model.__name__, {name: _shown(each) for name, each in columns.items()})


def serializer(name: str, fields: Mapping[str, Any]) -> Any:
    """A serializer class of these fields."""
    return type(name, (serializers.Serializer,), dict(fields))


def value(column: Column, **options: Any) -> Any:
    """The field that takes one value of a column. Raises Refused where it has no plain form."""
    cls, kwargs = _standard(column)
    plain = (serializers.ModelField, serializers.JSONField, serializers.FileField)
    if issubclass(cls, (*plain, serializers.ListField, serializers.DictField)):
        raise refused(f"rows cannot be asked for by {column.path!r}", "Leave it out.")
    return cls(**{**kwargs, **options})


def _shown(column: Column) -> Any:
    cls, kwargs = _standard(column)
    if column.relation and issubclass(cls, serializers.ModelField):
        raise refused(f"{column.path!r} is of a kind that only its own row shows", "Leave it out.")
    source = column.attribute.replace(LOOKUP_SEP, ".")
    more = {} if source == column.path else {"source": source}
    return cls(**kwargs, **more, read_only=True, allow_null=column.is_null)


def _standard(column: Column) -> tuple[Any, dict[str, Any]]:
    """The class that DRF has for a column, and what it is made with, bounds and rules apart."""
    of_models: Any = serializers.ModelSerializer()
    cls, kwargs = of_models.build_standard_field(column.stored.name, column.stored)
    kwargs = of_models.include_extra_kwargs(kwargs, {"read_only": True})
    for name in ("read_only", "allow_null"):
        kwargs.pop(name, None)
    if told := _told(column):
        kwargs["help_text"] = told
    return cls, kwargs


def _told(column: Column) -> str:
    if column.stored is column.field:
        return str(column.field.help_text)
    noun = column.field.related_model._meta.verbose_name
    return str(column.field.help_text) or f"The {column.stored.name} of a {noun}"
