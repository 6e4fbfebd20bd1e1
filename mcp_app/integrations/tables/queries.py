"""What a list of rows can be asked for: filters, words, an order, a page; nothing else."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db import DataError
from django.db.models import Q
from django.db.models.constants import LOOKUP_SEP
from rest_framework import serializers

from mcp_app.catalog.errors import ArgumentsInvalid
from mcp_app.integrations.tables import shapes
from mcp_app.integrations.tables.allowed import Column, listed, refused

FURTHEST: Final = 1_000_000
"""Rows that a page may leave behind it: databases count them one by one."""
MOST_ROWS: Final = 1000
"""On a page, whatever a declaration says."""
_MOST_VALUES: Final = 100
_MOST_WORDS: Final = 10
_LONGEST: Final = 255

_COMPARED: Final[Any] = (
    serializers.IntegerField,
    serializers.FloatField,
    serializers.DecimalField,
    serializers.DateTimeField,
    serializers.DateField,
    serializers.TimeField,
    serializers.DurationField,
)
_MOMENTS: Final[Any] = (serializers.DateTimeField, serializers.DateField)
_LOOKUPS: Final[Mapping[str, tuple[Any, str]]] = {
    "exact": (serializers.Field, "is this"),
    "in": (serializers.Field, "is one of these"),
    "isnull": (serializers.Field, "is missing (true) or there (false)"),
    "gt": (_COMPARED, "is above this"),
    "gte": (_COMPARED, "is this or above"),
    "lt": (_COMPARED, "is below this"),
    "lte": (_COMPARED, "is this or below"),
    "date": (serializers.DateTimeField, "is on this day"),
    "year": (_MOMENTS, "is in this year"),
    "iexact": (serializers.CharField, "is this, in capitals or not"),
    "contains": (serializers.CharField, "contains this"),
    "icontains": (serializers.CharField, "contains this, in capitals or not"),
    "startswith": (serializers.CharField, "begins with this"),
    "istartswith": (serializers.CharField, "begins with this, in capitals or not"),
    "endswith": (serializers.CharField, "ends with this"),
    "iendswith": (serializers.CharField, "ends with this, in capitals or not"),
}
"""Each with the fields whose values it is for, and what it says of a row."""


@dataclass(frozen=True, slots=True)
class Query:
    """What a declaration lets callers ask for.

    Attributes:
        filters: by argument, the lookup of Django's.
        orders: by name, the column's own value.
        words: the columns that are searched.
        fields: of the serializer that takes it all.
    """

    filters: Mapping[str, str]
    orders: Mapping[str, str]
    words: tuple[str, ...]
    fields: Mapping[str, Any]

    def rows(self, queryset: Any, asked: Mapping[str, Any]) -> Any:
        """Those that fit, in an order that no two calls see differently."""
        for argument, lookup in self.filters.items():
            if argument in asked:
                queryset = queryset.filter(**{lookup: asked[argument]})
        for word in asked.get("search", "").split():
            fits = [Q(**{f"{name}__icontains": word}) for name in self.words]
            queryset = queryset.filter(Q(*fits, _connector=Q.OR))
        return queryset.order_by(*self._order(queryset, asked.get("ordering")), "pk")

    def _order(self, queryset: Any, asked: str | None) -> Iterable[Any]:
        if asked is not None:
            sign = "-" if asked.startswith("-") else ""
            return [sign + self.orders[asked.removeprefix("-")]]
        query = queryset.query
        usual = queryset.model._meta.ordering if query.default_ordering else ()
        return tuple(query.order_by or usual)


def query_of(
    columns: Mapping[str, Column],
    secret: Iterable[str],
    *,
    filters: Any,
    ordering: Any,
    search: Any,
    page_size: int,
    max_page_size: int,
) -> Query:
    """Raises Refused where it names what is not in the allow-list, or no page could be."""
    _check_sizes(page_size, max_page_size)
    lookups = {name: _lookup(columns, name) for name in listed(filters, "filters")}
    orders = _named(columns, ordering, "ordering")
    words = _named(columns, search, "search")
    fields = {
        name: _filter(column, lookup, write_only=column.path in secret)
        for name, (column, lookup) in lookups.items()
    }
    page = {
        "search": _search(words.values(), secret),
        "ordering": _ordering(orders),
        "limit": _whole("How many rows at most", 1, max_page_size, page_size),
        "offset": _whole("How many rows to leave out first", 0, FURTHEST, 0),
    }
    if twice := sorted(fields.keys() & page.keys()):
        raise refused(f"filters has {', '.join(twice)}, an argument of every list", "Leave it out.")
    return Query(
        {name: f"{column.path}__{lookup}" for name, (column, lookup) in lookups.items()},
        {name: column.attribute for name, column in orders.items()},
        tuple(words),
        fields | {name: field for name, field in page.items() if field is not None},
    )


def fetched(rows: Any, offset: int, limit: int) -> tuple[int, list[Any]]:
    """How many rows there are, and those of the page.

    Raises:
        ArgumentsInvalid: a value is beyond what the database can compare.
    """
    try:
        count = rows.count()
        return count, list(rows[offset : offset + limit]) if offset < count else []
    except (DataError, OverflowError):
        told = "A value is larger or smaller than any that the column can have."
        raise ArgumentsInvalid([("", told)]) from None


def _check_sizes(page_size: Any, max_page_size: Any) -> None:
    if not all(type(size) is int for size in (page_size, max_page_size)) or not (
        1 <= page_size <= max_page_size <= MOST_ROWS
    ):
        raise refused(
            f"pages cannot have {page_size!r} rows, and {max_page_size!r} at most",
            f"Give whole numbers from 1 to {MOST_ROWS}, page_size the smaller one.",
        )


def _lookup(columns: Mapping[str, Column], name: str) -> tuple[Column, str]:
    """The column of a filter, and what is asked of it."""
    if name in columns:
        return columns[name], "exact"
    path, _, lookup = name.rpartition(LOOKUP_SEP)
    if path not in columns or (columns[path].field.is_relation and lookup not in _LOOKUPS):
        raise _outside(name, "filters")
    if lookup not in _LOOKUPS:
        raise refused(
            f"filters has {name!r}, and there is no {lookup!r} to ask for",
            f"The lookups are {', '.join(_LOOKUPS)}.",
        )
    return columns[path], lookup


def _named(columns: Mapping[str, Column], names: Any, keyword: str) -> dict[str, Column]:
    asked = listed(names, keyword)
    for name in asked:
        if name not in columns:
            raise _outside(name, keyword)
    return {name: columns[name] for name in asked}


def _outside(name: str, keyword: str) -> Exception:
    return refused(
        f"{keyword} has {name!r}, which is not among fields",
        "What callers may not see, they may not ask about either: add it to fields, or leave it.",
    )


def _filter(column: Column, lookup: str, *, write_only: bool) -> Any:
    kinds, phrase = _LOOKUPS[lookup]
    told: dict[str, Any] = {
        "required": False,
        "write_only": write_only,
        "help_text": f"Only where {column.words} {phrase}.",
    }
    plain = shapes.value(column)
    if not isinstance(plain, kinds):
        raise refused(
            f"filters has {column.path}__{lookup}, and {column.path} has no such values",
            "Choose a lookup for values of its kind.",
        )
    if lookup == "isnull":
        return serializers.BooleanField(**told)
    if lookup == "date":
        return serializers.DateField(**told)
    if lookup == "year":
        return serializers.IntegerField(min_value=1, max_value=9999, **told)
    if lookup in ("exact", "in"):
        blank = {"allow_blank": True} if _may_be_blank(plain, column) else {}
        if lookup == "exact":
            return shapes.value(column, **told, **blank)
        child = shapes.value(column, validators=[_comparable], **blank)
        return serializers.ListField(child=child, max_length=_MOST_VALUES, **told)
    if kinds is serializers.CharField:
        return serializers.CharField(max_length=_LONGEST, **told)
    return shapes.value(column, **told)


def _comparable(value: Any) -> None:
    """SQLite takes no larger number, and of a list Django makes no exception for one."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise serializers.ValidationError("This is larger or smaller than any value.")


def _may_be_blank(plain: Any, column: Column) -> bool:
    texts = (serializers.CharField, serializers.ChoiceField)
    stored = column.stored
    return isinstance(plain, texts) and stored.blank and stored.empty_strings_allowed


class _Words(serializers.CharField):
    """Words to search for, of which there may not be too many."""

    def to_internal_value(self, data: Any) -> str:
        """The text, where it is short enough."""
        found = super().to_internal_value(data)
        if len(found.split()) > _MOST_WORDS:
            raise serializers.ValidationError(f"Give {_MOST_WORDS} words at most.")
        return found


def _search(columns: Iterable[Column], secret: Iterable[str]) -> Any:
    searched = list(columns)
    for column in searched:
        if not isinstance(shapes.value(column), serializers.CharField):
            raise refused(f"search has {column.path!r}, which is no text", "Make a filter of it.")
    if not searched:
        return None
    names = ", ".join(column.words for column in searched)
    return _Words(
        required=False,
        max_length=_LONGEST,
        write_only=any(column.path in secret for column in searched),
        help_text=f"Only rows that have each of these words in: {names}.",
    )


def _ordering(orders: Iterable[str]) -> Any:
    choices = [sign + name for name in orders for sign in ("", "-")]
    if not choices:
        return None
    told = "By what to order the rows; with a hyphen, downwards."
    return serializers.ChoiceField(choices=choices, required=False, help_text=told)


def _whole(told: str, least: int, most: int, default: int) -> Any:
    return serializers.IntegerField(
        min_value=least, max_value=most, default=default, help_text=told
    )
