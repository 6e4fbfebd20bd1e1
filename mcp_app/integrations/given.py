"""What each of DRF's serializer fields shows, as an annotation that the catalogue describes.

It promises no more than the field keeps: a `to_representation` of the product's own may give
anything, and a value may be null unless its column or its declaration says otherwise.
"""

from collections.abc import Callable
from typing import Annotated, Any, Final, NotRequired

from pydantic import Field
from rest_framework import ISO_8601, serializers
from rest_framework.fields import empty
from rest_framework.settings import api_settings

from mcp_app.integrations import columns, texts
from mcp_app.integrations.taken import TYPED_DICT

_OBJECT: Final = dict[str, Any]
_LIST: Final[Any] = list
_DICT: Final[Any] = dict
_BIG: Final[Any] = getattr(serializers, "BigIntegerField", ())
"""DRF has it since 3.17."""


def annotation(field: Any) -> Any:
    """What one field shows, where it shows something."""
    if not _is_drfs(type(field)):
        return _OBJECT if isinstance(field, serializers.Serializer) else Any
    known = next((cls for cls in type(field).__mro__ if cls in _GIVEN), None)
    return Any if known is None else _GIVEN[known](field)


def row(serializer: Any) -> Any:
    """What a serializer shows of a row that has all its fields, null where they may be that."""
    shown = {name: _shown(field, field.allow_null) for name, field in serializer.fields.items()}
    return TYPED_DICT(type(serializer).__name__, shown)


def _is_drfs(cls: type) -> bool:
    """Whether DRF's own code represents values."""
    author = next(each for each in cls.__mro__ if "to_representation" in vars(each))
    return author.__module__.startswith("rest_framework.")


def _object(serializer: Any) -> Any:
    shown = {n: _property(f) for n, f in serializer.fields.items() if not f.write_only}
    return TYPED_DICT(type(serializer).__name__, shown)


def _property(field: Any) -> Any:
    found = _shown(field, _may_be_null(field))
    # A field that cannot be read from what is shown is left out, unless it has something instead.
    kept = field.required or field.allow_null or field.default is not empty
    return found if kept else NotRequired[found]


def _shown(field: Any, is_null: bool) -> Any:
    found = annotation(field)
    if found is not Any and is_null:
        found = found | None
    told = str(field.help_text or "").strip()
    return Annotated[found, Field(description=told)] if told else found


def _may_be_null(field: Any) -> bool:
    if field.allow_null:
        return True
    is_null = columns.is_null(field)
    return not field.required if is_null is None else is_null


def _uuid(field: Any) -> Any:
    if field.uuid_format == "int":
        return int
    return texts.formatted("uuid") if field.uuid_format == "hex_verbose" else str


def _moment(setting: str, word: str) -> Callable[[Any], Any]:
    def make(field: Any) -> Any:
        written = getattr(field, "format", getattr(api_settings, setting))
        return texts.formatted(word) if written == ISO_8601 else str

    return make


def _choice(field: Any) -> Any:
    """A row may hold what is no choice any more."""
    kinds = {type(value) for value in field.choices if value is not None}
    if kinds == {str} or (kinds == {int} and not field.allow_blank):
        return kinds.pop()
    return Any


def _parts(field: Any) -> Any:
    found = annotation(field)
    return found if found is Any else found | None


def _row_by_key(field: Any) -> Any:
    return _anyhow(field) if field.pk_field is None else annotation(field.pk_field)


def _anyhow(field: Any) -> Any:
    """The key or slug as its column has it, where the column is known."""
    model = getattr(field.queryset, "model", None)
    path = getattr(field, "slug_field", None) or "pk"
    kind = columns.kind(columns.column(model, path))
    if kind is None:
        return Any
    return int if kind is serializers.IntegerField else str


def _integer(field: Any) -> Any:
    if not isinstance(field, _BIG):
        return int
    as_text = getattr(field, "coerce_to_string", api_settings.COERCE_BIGINT_TO_STRING)
    return str if as_text else int


_GIVEN: Final[dict[type, Callable[[Any], Any]]] = {
    serializers.CharField: lambda field: str,
    serializers.BooleanField: lambda field: bool,
    serializers.IntegerField: _integer,
    serializers.FloatField: lambda field: float,
    serializers.DecimalField: lambda field: str,
    serializers.UUIDField: _uuid,
    serializers.DateTimeField: _moment("DATETIME_FORMAT", "date-time"),
    serializers.DateField: _moment("DATE_FORMAT", "date"),
    serializers.TimeField: lambda field: str,
    serializers.DurationField: lambda field: str,
    serializers.ChoiceField: _choice,
    serializers.MultipleChoiceField: lambda field: _LIST[_choice(field)],
    serializers.FileField: lambda field: str | None,
    serializers.ListField: lambda field: _LIST[_parts(field.child)],
    serializers.DictField: lambda field: _DICT[str, _parts(field.child)],
    serializers.PrimaryKeyRelatedField: _row_by_key,
    serializers.SlugRelatedField: _anyhow,
    serializers.StringRelatedField: lambda field: str,
    serializers.HyperlinkedRelatedField: lambda field: str | None,
    serializers.ManyRelatedField: lambda field: _LIST[_parts(field.child_relation)],
    serializers.Serializer: _object,
    serializers.ListSerializer: lambda field: _LIST[annotation(field.child)],
}
"""By class, as for what is taken; of others, nothing is promised."""
