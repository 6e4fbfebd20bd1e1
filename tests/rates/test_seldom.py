"""What fails at each call is logged once an interval, with how often it has happened since."""

import logging

import pytest

from mcp_app import seldom
from mcp_app.seldom import SeldomLog

logger = logging.getLogger("mcp_app.tests")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What time it is, to be set."""
    now = [1000.0]
    monkeypatch.setattr(seldom.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def log() -> SeldomLog:
    """One kind of line."""
    return SeldomLog(logger, logging.WARNING)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_the_first_has_its_traceback_and_the_next_line_counts_those_between(
    log: SeldomLog, clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(3):
        log.note("Row %d: not written.", number, error=ValueError("read only"))
    assert lines(caplog) == ["Row 0: not written."]
    assert "ValueError: read only" in caplog.text
    assert caplog.records[0].funcName.startswith("test_")
    clock[0] += seldom.INTERVAL
    log.note("Row %d: not written.", 3, error=ValueError("read only"))
    clock[0] += seldom.INTERVAL
    log.note("Row %d: not written.", 4, error=ValueError("read only"))
    assert lines(caplog)[1:] == [
        "Row 3: not written. (2 more times since this was last logged)",
        "Row 4: not written.",
    ]


def test_another_type_of_error_and_another_kind_of_line_are_not_kept_quiet(
    log: SeldomLog, clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    log.note("Not written.", error=ValueError())
    log.note("Not written.", error=KeyError())
    SeldomLog(logger, logging.ERROR).note("Not read.", error=ValueError())
    log.note("Not written.", error=ValueError())
    assert lines(caplog) == ["Not written.", "Not written.", "Not read."]
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING", "ERROR"]


def test_each_of_several_things_has_lines_of_its_own(
    log: SeldomLog, clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    for hook in ("first", "second", "first", "second"):
        log.note("%s failed.", hook, error=ValueError(), about=hook)
    assert lines(caplog) == ["first failed.", "second failed."]
