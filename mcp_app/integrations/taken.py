"""What each of DRF's serializer fields takes, as an annotation that the catalogue validates by.

Fields take more than they say: "yes" for true, 5 for "5". Callers are told of one form, JSON's own,
and held to it; what fits goes to the field, which judges the rest. So a schema admits what a call
takes, but for what JSON Schema has no words for: whether a row exists or is unique, whether a text
is a moment or an address, how large a decimal is, and what a product's own validators want.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Annotated, Any, Final, Literal, NotRequired

import typing_extensions
from django.core import validators as rules
from pydantic import Field
from rest_framework import ISO_8601, serializers
from rest_framework.fields import empty
from rest_framework.settings import api_settings

from mcp_app.catalog.encoding import encode
from mcp_app.catalog.errors import Unencodable
from mcp_app.catalog.problems import Problem, Refused
from mcp_app.integrations import columns, texts

Annotator = Callable[[Any, bool], Any]

# Typed as Any: a type checker only knows those that are written out.
TYPED_DICT: Final[Any] = typing_extensions.TypedDict
_LITERAL: Final[Any] = Literal
_LIST: Final[Any] = list
_DICT: Final[Any] = dict

_NOT_NULL: Final[Any] = dict[str, Any] | list[Any] | str | int | float | bool
"""Any JSON value but null."""
_DURATION: Final = "As [days] hours:minutes:seconds, or as ISO 8601 writes durations."
_FORMATS: Final = {
    serializers.DateTimeField: "DATETIME_INPUT_FORMATS",
    serializers.DateField: "DATE_INPUT_FORMATS",
    serializers.TimeField: "TIME_INPUT_FORMATS",
}
_ROWS: Final = (serializers.PrimaryKeyRelatedField, serializers.SlugRelatedField)


def properties(serializer: Any, *, partial: bool = False) -> dict[str, Any]:
    """The fields that callers send, as the annotations of a typed dict's keys.

    `partial` is a partial update, which needs none of them, at any depth.

    Raises:
        Refused: a field takes a file.
    """
    return {
        name: _property(field, partial)
        for name, field in serializer.fields.items()
        if not field.read_only and not isinstance(field, serializers.HiddenField)
    }


def annotation(field: Any, *, partial: bool = False) -> Any:
    """What one field takes. Raises Refused."""
    known = next(cls for cls in type(field).__mro__ if cls in _TAKEN)
    found = _TAKEN[known](field, partial)
    return found | None if field.allow_null and found is not Any else found


def _property(field: Any, partial: bool) -> Any:
    found: Any = Annotated[annotation(field, partial=partial), _described(field, not partial)]
    return found if field.required and not partial else NotRequired[found]


def _part(field: Any, partial: bool) -> Any:
    """An item of a list, or a value of a dict."""
    return Annotated[annotation(field, partial=partial), _described(field, False)]


# --- what is told of it ------------------------------------------------------------------------


def _described(field: Any, with_default: bool) -> Any:
    extra: dict[str, Any] = {}
    # Neither may stand in a log: what is never shown, and what is entered as passwords are.
    if field.write_only or field.style.get("input_type") == "password":
        extra["writeOnly"] = True
    elif with_default:
        extra |= _default(field)
    return Field(description=_told(field) or None, json_schema_extra=extra)


def _default(field: Any) -> dict[str, Any]:
    if field.default is empty or callable(field.default):
        return {}
    try:
        return {"default": encode(field.default)}
    except Unencodable:
        return {}


def _told(field: Any) -> str:
    """Its help text, then what no keyword of a schema can say."""
    about = [str(field.help_text or "").strip(), *_about(field)]
    return " ".join(
        text if text.endswith((".", "?", "!")) else f"{text}." for text in about if text
    )


def _about(field: Any) -> Iterator[str]:
    if isinstance(field, serializers.DecimalField | serializers.DurationField):
        yield from (f"At least {bound}" for bound in texts.limits(field, rules.MinValueValidator))
        yield from (f"At most {bound}" for bound in texts.limits(field, rules.MaxValueValidator))
    if isinstance(field, serializers.DurationField):
        yield _DURATION
    elif isinstance(field, tuple(_FORMATS)) and ISO_8601 not in (formats := _formats(field)):
        yield f"As {' or '.join(formats)}"
    elif not field.help_text:
        yield from _reference(field)


def _reference(field: Any) -> Iterator[str]:
    many = isinstance(field, serializers.ManyRelatedField)
    one = field.child_relation if many else field
    if isinstance(one, _ROWS):
        by, noun = getattr(one, "slug_field", None) or "id", columns.noun(one)
        yield f"The {by} of each {noun}" if many else f"The {by} of a {noun}"


# --- single values -----------------------------------------------------------------------------


def _text(field: Any, partial: bool) -> Any:
    return texts.text(field)


def _number(kind: type) -> Annotator:
    def make(field: Any, partial: bool) -> Any:
        bounds: dict[str, Any] = {}
        if lower := texts.limits(field, rules.MinValueValidator):
            bounds["ge"] = max(lower)
        if upper := texts.limits(field, rules.MaxValueValidator):
            bounds["le"] = min(upper)
        return Annotated[kind, Field(**bounds)] if bounds else kind

    return make


def _moment(iso: Any) -> Annotator:
    """As ISO 8601 writes it; else a text, whose formats its description names."""
    return lambda field, partial: iso if ISO_8601 in _formats(field) else str


def _formats(field: Any) -> list[str]:
    setting = next(name for kind, name in _FORMATS.items() if isinstance(field, kind))
    formats = getattr(field, "input_formats", getattr(api_settings, setting))
    return [ISO_8601 if each.lower() == ISO_8601 else each for each in formats]


def _choice(field: Any, partial: bool = False) -> Any:
    values = [_plain(value) for value in field.choices if value is not None]
    if field.allow_blank and "" not in values:
        values.append("")
    return _LITERAL[tuple(values)] if values else str


def _plain(value: Any) -> Any:
    value = value.value if isinstance(value, Enum) else value
    return value if isinstance(value, str | int) else str(value)


def _free(field: Any, partial: bool) -> Any:
    """What only the field itself knows."""
    return Any if field.allow_null else _NOT_NULL


def _file(field: Any, partial: bool) -> Any:
    path, part = field.field_name, field.parent
    while part is not None and part.parent is not None:
        path, part = f"{part.field_name}.{path}" if part.field_name else path, part.parent
    raise Refused(
        Problem.INPUT,
        f"the field {path!r} takes a file, which arguments cannot hold",
        "Leave it out of the serializer, or make it read-only.",
    )


# --- rows --------------------------------------------------------------------------------------


def _row_by_key(field: Any, partial: bool) -> Any:
    if field.pk_field is not None:
        return annotation(field.pk_field)
    return of_column(columns.column(field.queryset.model, "pk"))


def _row_by_slug(field: Any, partial: bool) -> Any:
    return of_column(columns.column(field.queryset.model, field.slug_field))


def of_column(column: Any) -> Any:
    """What a value of a column looks like from outside."""
    kind = columns.kind(column)
    if kind is serializers.UUIDField:
        return texts.formatted("uuid", texts.UUID)
    return int if kind is serializers.IntegerField else str


# --- what holds others -------------------------------------------------------------------------


def _choices(field: Any, partial: bool) -> Any:
    return _sized(_LIST[_choice(field)], field)


def _rows(field: Any, partial: bool) -> Any:
    return _sized(_LIST[_part(field.child_relation, partial)], field)


def _list(field: Any, partial: bool) -> Any:
    return _sized(_LIST[_part(field.child, partial)], field)


def _dict(field: Any, partial: bool) -> Any:
    return _sized(_DICT[str, _part(field.child, partial)], field)


def _object(field: Any, partial: bool) -> Any:
    return TYPED_DICT(type(field).__name__, properties(field, partial=partial))


def _sized(found: Any, field: Any) -> Any:
    longest = getattr(field, "max_length", None)
    shortest = getattr(field, "min_length", None) or (0 if field.allow_empty else 1)
    if not shortest and longest is None:
        return found
    return Annotated[found, Field(min_length=shortest or None, max_length=longest)]


_TAKEN: Final[dict[type, Annotator]] = {
    serializers.Field: _free,
    serializers.CharField: _text,
    serializers.EmailField: lambda field, partial: texts.named(field),
    serializers.URLField: lambda field, partial: texts.named(field),
    serializers.IPAddressField: lambda field, partial: texts.address(field),
    serializers.UUIDField: lambda field, partial: texts.formatted("uuid", texts.UUID),
    serializers.BooleanField: lambda field, partial: bool,
    serializers.IntegerField: _number(int),
    serializers.FloatField: _number(float),
    serializers.DecimalField: lambda field, partial: texts.decimal(field),
    serializers.DateTimeField: _moment(texts.formatted("date-time", texts.MOMENT)),
    serializers.DateField: _moment(texts.formatted("date", texts.DATE)),
    serializers.TimeField: _moment(
        texts.matching([(texts.TIME, "should be a time, such as 14:30 or 14:30:00")])
    ),
    serializers.DurationField: lambda field, partial: str,
    serializers.ChoiceField: _choice,
    serializers.MultipleChoiceField: _choices,
    serializers.FileField: _file,
    serializers.ListField: _list,
    serializers.DictField: _dict,
    serializers.JSONField: lambda field, partial: str if field.binary else _free(field, partial),
    serializers.PrimaryKeyRelatedField: _row_by_key,
    serializers.SlugRelatedField: _row_by_slug,
    serializers.HyperlinkedRelatedField: lambda field, partial: texts.formatted("uri"),
    serializers.ManyRelatedField: _rows,
    serializers.Serializer: _object,
    serializers.ListSerializer: _list,
}
"""By class: a field is told by the nearest of its bases."""
