"""What is exported: the stored rows, whole, in order, and no formula among them (D-085)."""

import csv
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from mcp_app.audit import export
from mcp_app.audit.events import to_event
from mcp_app.models import CallEvent
from tests.audit.records import call

pytestmark = pytest.mark.django_db


def exported(*arguments: str) -> str:
    out = io.StringIO()
    call_command("mcp_export", *arguments, stdout=out)
    return out.getvalue()


def as_csv(*arguments: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(exported("--format", "csv", *arguments))))


def as_json(*arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in exported(*arguments).splitlines()]


FORMULAS = {
    "=cmd()": "'=cmd()",
    "+1": "'+1",
    "-1": "'-1",
    "@SUM(A1)": "'@SUM(A1)",
    "\t=1": "'\t'=1",
    "\r=1": "'\r'=1",
    "  =1": "  '=1",
    "\n=1": "'\n'=1",
    "\tone": "'\tone",
    "＝1": "'＝1",  # noqa: RUF001
    "a;=1": "a;'=1",
    "a;; \t=1;-2": "a;; \t'=1;'-2",
    'a;"=1;': "a;\"'=1;",
    "a\n=1\r\n@b": "a\n'=1\r\n'@b",
    "a\t+1": "a\t'+1",
    "a=1, -b; c-d\nx@y": "a=1, -b; c-d\nx@y",
}
SIGNS = tuple("=+-@＝＋－＠")  # noqa: RUF001


@pytest.mark.parametrize(("text", "told"), FORMULAS.items(), ids=ascii)
def test_no_cell_is_a_formula(text: str, told: str) -> None:
    CallEvent.objects.create(outcome="ok", tool=text, error_text=text, arguments=text)

    (row,) = as_csv()
    assert (row["tool"], row["error_text"], row["arguments"]) == (told,) * 3
    (line,) = as_json()
    assert (line["tool"], line["arguments"]) == (text, text)


@given(st.text("a1=-@;,\"'\t\r\n \xa0\x0b\x1c＋", max_size=6))  # noqa: RUF001
def test_what_a_glance_lets_through_has_nothing_to_be_changed(text: str) -> None:
    assert not export._is_plain(text) or export._without_formulas(text) == text


def test_a_cell_that_begins_no_formula_is_not_looked_over(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_over: list[str] = []
    monkeypatch.setattr(export, "_without_formulas", looked_over.append)
    event = to_event(call(arguments={"limit": 5, "note": "x" * 200}))
    event.error_text = "=1"
    list(export._csv([[tuple(getattr(event, name) for name in export.COLUMNS)]]))
    assert looked_over == ["=1"]


def test_arguments_mean_what_they_meant() -> None:
    given = {"a;=1": ["b;=2", 'c";\t@d\n=3', {"d": ";"}]}
    CallEvent.objects.create(outcome="ok", arguments=given)

    (row,) = as_csv()
    assert json.loads(row["arguments"]) == given


@given(
    st.lists(st.text("a1=-@;,\"'\t\r\n \\{", max_size=12), min_size=2, max_size=3),
    st.sampled_from(",;\t"),
)
def test_no_cell_is_a_formula_whatever_separates_them(texts: list[str], separator: str) -> None:
    row = (1, *texts, {text: texts for text in texts}, texts)
    written = "".join(export._csv([[row, row]]))

    # As spreadsheets do: a quote means something where a cell begins, and a line may end by itself.
    read = csv.reader(io.StringIO(written, newline=""), delimiter=separator)
    cells = [cell for line in read for cell in line]
    assert not [cell for cell in cells if cell.lstrip(' "\t').startswith(SIGNS)]


def test_both_formats_hold_every_column_as_it_is_stored() -> None:
    to_event(
        call(
            arguments={"password": "hunter2", "city": 'G"ra;z,\n'},
            error_text="Bearer hunter2",
            address="10.0.0.1",
        )
    ).save()
    event = CallEvent.objects.get()

    (line,), (row,) = as_json(), as_csv()
    assert list(line) == list(row) == [f.attname for f in CallEvent._meta.concrete_fields]
    assert line["arguments"] == json.loads(row["arguments"]) == event.arguments
    assert line["created_at"] == row["created_at"] == event.created_at.isoformat()
    assert (row["user_id"], line["user_id"]) == ("", None)
    assert "hunter2" not in exported() + exported("--format", "csv")


def test_rows_come_oldest_first_in_chunks_and_late_ones_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(export, "CHUNK", 3)
    CallEvent.objects.bulk_create(CallEvent(outcome="ok", tool=f"t{n}") for n in range(10))
    pieces = export.exported(CallEvent.objects.order_by("-created_at"), "jsonl")
    first = next(pieces)
    CallEvent.objects.create(outcome="ok", tool="late")

    tools = [json.loads(line)["tool"] for piece in (first, *pieces) for line in piece.splitlines()]
    assert tools == [f"t{n}" for n in range(10)]


def test_nothing_is_a_head_line_or_nothing() -> None:
    assert exported() == ""
    assert as_csv() == []
    assert exported("--format", "csv").startswith("id,created_at,")


@pytest.mark.parametrize(
    ("arguments", "tools"),
    [
        ([], ["a", "b", "c"]),
        (["--tool", "a"], ["a"]),
        (["--user", "ben"], ["b"]),
        (["--token", "phone"], ["b"]),
        (["--outcome", "denied"], ["c"]),
        (["--since", "7d"], ["b", "c"]),
        (["--until", "7d"], ["a"]),
        (["--since", "2020-01-01", "--until", "2020-01-02"], []),
        (["--since", "2020-01-01T10:00:00+02:00", "--user", "ben", "--tool", "b"], ["b"]),
    ],
    ids=str,
)
def test_each_filter_narrows(arguments: list[str], tools: list[str]) -> None:
    make = CallEvent.objects.create
    make(tool="a", outcome="ok", created_at=timezone.now() - timedelta(days=10))
    make(tool="b", outcome="ok", username="ben", token_name="phone")
    make(tool="c", outcome="denied")

    assert [row["tool"] for row in as_json(*arguments)] == tools


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "7", ""])
def test_what_is_no_moment_is_said(text: str) -> None:
    if text:
        with pytest.raises(CommandError, match="no moment"):
            exported("--since", text)


def test_a_file_is_its_owners_alone_and_replaces_none(tmp_path: Path) -> None:
    CallEvent.objects.create(outcome="ok", tool="Zoë")
    file = tmp_path / "calls.jsonl"

    assert exported("-o", str(file)) == ""
    assert json.loads(file.read_text(encoding="utf-8"))["tool"] == "Zoë"
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(CommandError, match="cannot be written"):
        exported("-o", str(file))
