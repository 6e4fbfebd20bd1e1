"""What a viewset's list can be asked for: its filters' and its paginator's query parameters.

They are read from `get_schema_operation_parameters()`, by which DRF's backends describe themselves,
and from the filter set of django-filter, where a view has one.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal, NotRequired, get_args, get_origin
from urllib.parse import parse_qs, urlsplit

from django import forms
from pydantic import Field
from rest_framework import filters, pagination

from mcp_app.catalog.signature import Parameter
from mcp_app.integrations import texts
from mcp_app.integrations.taken import TYPED_DICT

_LIST: Final[Any] = list
_LITERAL: Final[Any] = Literal
_TYPES: Final[Mapping[str, Any]] = {"integer": int, "number": float, "boolean": bool}
_STEPS: Final = ("next", "previous")
_STEP: Final[Any] = Annotated[
    dict[str, Any] | None,
    Field(description="The arguments of that page; null where there is none."),
]


def query_of(view: Any) -> tuple[Parameter, ...]:
    """The arguments of a list."""
    found: dict[str, Any] = {}
    for backend in getattr(view, "filter_backends", ()):
        found |= _of_backend(backend(), view)
    paginator = getattr(view, "paginator", None)
    if paginator is not None:
        found |= _of_parameters(paginator, view)
    return tuple(Parameter(name, annotation) for name, annotation in found.items())


def _of_backend(backend: Any, view: Any) -> dict[str, Any]:
    if isinstance(backend, filters.SearchFilter) and not getattr(view, "search_fields", None):
        return {}
    if hasattr(backend, "get_filterset_class"):
        filterset = backend.get_filterset_class(view, getattr(view, "queryset", None))
        return dict(_of_filters(filterset.base_filters)) if filterset is not None else {}
    return _of_parameters(backend, view)


def _of_parameters(source: Any, view: Any) -> dict[str, Any]:
    """Those of OpenAPI's parameters that stand in a query."""
    if not hasattr(source, "get_schema_operation_parameters"):
        return {}
    told = source.get_schema_operation_parameters(view)
    return {t["name"]: _parameter(t) for t in told if t.get("in", "query") == "query"}


def _parameter(told: Mapping[str, Any]) -> Any:
    schema = told.get("schema", {})
    found: Any = Annotated[
        _type(schema), Field(description=str(told.get("description") or "") or None)
    ]
    return found if told.get("required") else NotRequired[found]


def _type(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return _LITERAL[tuple(schema["enum"])]
    if schema.get("type") == "array":
        return _LIST[_type(schema.get("items", {}))]
    return _TYPES.get(schema.get("type", ""), str)


def _of_filters(declared: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, one in declared.items():
        label = str(one.label or one.extra.get("help_text") or "") or None
        # A range, say, has two fields under names of its own.
        suffixes = [s for s in getattr(one.field.widget, "suffixes", ()) if s]
        kind: Any = str if suffixes else _of_form(one.field)
        found: Any = Annotated[kind, Field(description=label)]
        for each in [f"{name}_{suffix}" for suffix in suffixes] or [name]:
            yield each, found if one.field.required else NotRequired[found]


def _of_form(field: Any) -> Any:
    """What a field of a filter's form takes."""
    match field:
        case forms.ModelMultipleChoiceField() | forms.MultipleChoiceField():
            return _LIST[str | int]
        case forms.NullBooleanField() | forms.BooleanField():
            return bool
        case forms.ModelChoiceField():
            return str | int
        case forms.IntegerField() if type(field) is forms.IntegerField:
            return int
        case forms.DecimalField() | forms.FloatField():
            return int | float | str
        case forms.DateField():
            return texts.formatted("date", texts.DATE)
    return str


# --- pages -------------------------------------------------------------------------------------


def page_of(view: Any, item: Any) -> Any:
    """What a list gives, None where that cannot be promised."""
    paginator = getattr(view, "paginator", None)
    if paginator is None:
        return _LIST[item]
    if not type(paginator).get_paginated_response.__module__.startswith("rest_framework."):
        return None
    if isinstance(paginator, pagination.CursorPagination):
        return page(item) if paginator.page_size else None
    size = getattr(paginator, "page_size", None) or getattr(paginator, "default_limit", None)
    return page(item, count=int) if size else None


def page(item: Any, **more: Any) -> Any:
    """What a page of rows is: steps to the pages beside it, and the rows."""
    return TYPED_DICT("Page", {**more, "next": _STEP, "previous": _STEP, "results": _LIST[item]})


def sent(value: Any) -> Any:
    """An argument as a query has it."""
    if isinstance(value, list):
        return [sent(item) for item in value]
    return str(value).lower() if isinstance(value, bool) else value


def with_steps(data: Any, request: Any, query: Iterable[Parameter]) -> Any:
    """A page whose links are the arguments that lead there: a link leads to the endpoint."""
    if not isinstance(data, dict):
        return data
    numbers = {parameter.name for parameter in query if _bare(parameter.annotation) is int}
    here = request.build_absolute_uri(request.path)
    steps = {
        name: _arguments(data[name], numbers)
        for name in _STEPS
        if isinstance(data.get(name), str) and data[name].partition("?")[0] == here
    }
    return data | steps


def _arguments(link: str, numbers: set[str]) -> dict[str, Any]:
    found = parse_qs(urlsplit(link).query, keep_blank_values=True)
    return {
        name: int(values[0]) if name in numbers else values[0] if len(values) == 1 else values
        for name, values in found.items()
    }


def _bare(annotation: Any) -> Any:
    while get_origin(annotation) in (NotRequired, Annotated):
        annotation = get_args(annotation)[0]
    return annotation
