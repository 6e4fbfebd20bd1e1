"""Call events as text, a chunk of rows at a time: for the command and for the admin.

What is exported is what is stored: redacted when it was written. Each chunk is a query of its own,
so that a slow reader holds neither memory nor a transaction.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from django.db.models import Max, QuerySet

from mcp_app.models import CallEvent

COLUMNS: Final = tuple(field.attname for field in CallEvent._meta.concrete_fields)
"""What a row has, in the order of the table."""

CHUNK: Final = 1000

# Spreadsheets run what begins so, also in its full-width form, and behind spaces and quotes. With
# other separators than commas, which is a matter of their user's language, cells begin within ours.
_BEGINNING: Final = re.compile(
    r'((?:\A|[;\t\r\n])[\s";]*+)([=+\-@＝＋－＠]?)'  # noqa: RUF001 - these are meant
)
_SEPARATORS: Final = re.compile(r"[;\t\r\n]")
_OPENINGS: Final = frozenset('+=-@＝＋－＠"')  # noqa: RUF001 - as above


def exported(rows: QuerySet[CallEvent], form: str) -> Iterator[str]:
    """`rows` in pieces of text, oldest first, without those that arrive meanwhile.

    Args:
        rows: of any order, filtered.
        form: a key of `FORMATS`.
    """
    return FORMATS[form](_chunks(rows))


def _chunks(rows: QuerySet[CallEvent]) -> Iterator[list[tuple[Any, ...]]]:
    rows = rows.defer(None).order_by("pk")
    newest = CallEvent._base_manager.using(rows.db).aggregate(newest=Max("pk"))["newest"]
    key = 0
    while newest is not None:
        rest = rows.filter(pk__gt=key, pk__lte=newest)
        if not (chunk := list(rest.values_list(*COLUMNS)[:CHUNK])):
            return
        key = chunk[-1][0]
        yield chunk


def _csv(chunks: Iterable[list[tuple[Any, ...]]]) -> Iterator[str]:
    """RFC 4180, with commas; no cell begins as a formula, with semicolons or tabs neither."""
    yield _written([COLUMNS])
    for chunk in chunks:
        yield _written([_cell(value) for value in row] for row in chunk)


def _written(rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return value if _is_plain(value) else _without_formulas(value)
    if value is None:
        return ""
    if isinstance(value, dict | list):
        # Semicolons stand in its strings alone, and mean the same so.
        return json.dumps(value, ensure_ascii=False).replace(";", "\\u003b")
    return value.isoformat() if hasattr(value, "isoformat") else value


def _is_plain(text: str) -> bool:
    """Whether a glance shows that no formula can begin in it; in most texts none can."""
    first = text[:1]
    return not (first in _OPENINGS or first.isspace() or _SEPARATORS.search(text))


def _without_formulas(text: str) -> str:
    """`text` with an apostrophe before what could begin a formula."""
    told = _BEGINNING.sub(lambda found: f"{found[1]}'{found[2]}" if found[2] else found[1], text)
    return f"'{told}" if text.startswith(("\t", "\r", "\n")) else told


def _jsonl(chunks: Iterable[list[tuple[Any, ...]]]) -> Iterator[str]:
    """One JSON object a line."""
    for chunk in chunks:
        yield "".join(f"{_line(row)}\n" for row in chunk)


def _line(row: tuple[Any, ...]) -> str:
    said = dict(zip(COLUMNS, row, strict=True))
    return json.dumps(said, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> str:
    return str(value.isoformat() if hasattr(value, "isoformat") else value)


FORMATS: Final[Mapping[str, Callable[[Iterable[list[tuple[Any, ...]]]], Iterator[str]]]] = {
    "csv": _csv,
    "jsonl": _jsonl,
}
CONTENT_TYPES: Final = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
