"""What DRF says of data that it does not take, as a path and a sentence for each field."""

from collections.abc import Iterator, Mapping
from typing import Any

from rest_framework.settings import api_settings

from mcp_app.catalog.errors import ArgumentsInvalid


def refusal(detail: Any) -> ArgumentsInvalid:
    """The `detail` of DRF's ValidationError in the catalogue's terms."""
    return ArgumentsInvalid(list(problems(detail)))


def problems(detail: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Each (path, sentence) pair of a nested detail; the path is empty for what is of no field."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            of_all = name == api_settings.NON_FIELD_ERRORS_KEY
            yield from problems(inner, path if of_all else (*path, str(name)))
    elif isinstance(detail, list) and any(isinstance(item, Mapping | list) for item in detail):
        for number, inner in enumerate(detail):
            yield from problems(inner, (*path, str(number)))
    elif isinstance(detail, list):
        if detail:
            yield ".".join(path), " ".join(map(str, detail))
    else:
        yield ".".join(path), str(detail)
