"""What the log filter leaves of secrets: their public prefix, however a record holds them."""

import io
import logging
import re
import sys
import urllib.parse
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest

from mcp_app.auth.hashing import generate
from mcp_app.auth.logs import HideSecrets
from tests.secret_forms import forms, in_base64, out_of_base64, percent

SECRET = generate().secret.reveal()
PREFIX, _, HIDDEN_PART = SECRET.rpartition("_")


FORMS = forms(SECRET)


def plainly(text: str) -> str:
    """What a reader can make of a line."""
    for _ in range(3):
        text = urllib.parse.unquote(text)
    return re.sub(r"\\+", r"\\", text).encode("latin-1").decode("unicode_escape")


class Log:
    """A logger with the filter, and what its handler has written."""

    def __init__(self, form: str = "%(message)s") -> None:
        self.written = io.StringIO()
        handler = logging.StreamHandler(self.written)
        handler.setFormatter(logging.Formatter(form))
        handler.addFilter(HideSecrets())
        self.logger = logging.Logger("uvicorn.access")
        self.logger.addHandler(handler)

    @property
    def text(self) -> str:
        """All of it."""
        return self.written.getvalue()


@pytest.fixture
def log() -> Log:
    """One for this test."""
    return Log()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("place", ["message", "argument", "mapping", "bytes"])
def test_no_way_to_write_a_secret_shows_it(log: Log, form: str, place: str) -> None:
    match place:
        case "message":
            log.logger.info("GET /mcp?token=" + form + "&a=b")
        case "argument":
            log.logger.info("%s", f"/mcp?token={form}&a=b")
        case "mapping":
            log.logger.info("%(url)s", {"url": f"/mcp?token={form}&a=b"})
        case "bytes":
            log.logger.info("%r", f"/mcp?token={form}&a=b".encode())
    said = plainly(log.text)
    assert f"token={PREFIX}_[hidden]" in said or f'"{PREFIX}_[hidden]' in said
    assert "&a=b" in said
    assert HIDDEN_PART[:8] not in said
    assert HIDDEN_PART[8:16] not in said


@pytest.mark.parametrize("form", in_base64(SECRET).values(), ids=in_base64(SECRET))
def test_nor_does_base64(log: Log, form: str) -> None:
    for value in (form, form.encode()):
        log.logger.info("Sent: %s, at last", value)
    assert log.text.count("[hidden]") == log.text.count("Sent: ") == log.text.count("at last") == 2
    assert HIDDEN_PART[:8] not in out_of_base64(log.text)
    assert HIDDEN_PART[8:16] not in out_of_base64(log.text)


@dataclass
class Request:
    """What somebody logs whole."""

    path: str = f"/mcp?token={SECRET}"


class Quiet:
    """Tells it to `%r` alone."""

    def __str__(self) -> str:
        return "quiet"

    def __repr__(self) -> str:
        return f"<{SECRET}>"


@pytest.mark.parametrize(
    ("message", "args"),
    [
        ("%s", (ValueError(SECRET),)),
        ("%r", (ValueError(SECRET),)),
        ("%s", (Request(),)),
        ("%r", (Quiet(),)),
        ("%s", ([{"a": SECRET}],)),
        ("%s_%s", (PREFIX, HIDDEN_PART)),
        ("%(a)s_%(b)s", ({"a": PREFIX, "b": HIDDEN_PART},)),
        (ValueError(SECRET), ()),
    ],
    ids=["error", "its repr", "object", "repr alone", "list", "in parts", "named parts", "message"],
)
def test_no_value_tells_it(log: Log, message: Any, args: Any) -> None:
    log.logger.info(message, *args)
    assert f"{PREFIX}_[hidden]" in log.text
    assert HIDDEN_PART not in log.text


def test_what_a_handler_adds_tells_it_neither(log: Log) -> None:
    def fail() -> None:
        try:
            raise KeyError(percent(SECRET))
        except KeyError as error:
            error.add_note(f"noted {SECRET}")
            raise RuntimeError(f"for {SECRET}") from error

    try:
        fail()
    except RuntimeError:
        log.logger.exception("It failed", stack_info=True)
    assert "RuntimeError: for mcp_" in log.text
    assert "KeyError" in log.text
    assert HIDDEN_PART not in plainly(log.text)


def test_a_traceback_that_another_handler_has_written_is_hidden_too(log: Log) -> None:
    try:
        raise ValueError(SECRET)
    except ValueError:
        record = logging.LogRecord("a", logging.ERROR, "", 0, "no", (), sys.exc_info())
    record.stack_info = f"Stack: {SECRET}"
    logging.Formatter().format(record)
    log.logger.handle(record)
    assert log.text.count(f"{PREFIX}_[hidden]") == 2
    assert HIDDEN_PART not in log.text


def test_an_exception_without_a_secret_stays_one(log: Log) -> None:
    try:
        raise ValueError("no secret")
    except ValueError:
        record = logging.LogRecord("a", logging.ERROR, "", 0, "no", (), sys.exc_info())
    log.logger.handle(record)
    assert record.exc_info
    assert "ValueError: no secret" in log.text


def test_what_was_added_to_the_record_is_hidden() -> None:
    log = Log("%(message)s %(url)s %(request)s")
    log.logger.info("asked", extra={"url": f"/mcp?token={SECRET}", "request": Request()})
    assert log.text.count(f"token={PREFIX}_[hidden]") == 2
    assert HIDDEN_PART not in log.text


def test_what_holds_none_is_left_as_it_is(log: Log) -> None:
    log.logger.info("%s of %d, 100%%, %.1f %s", "nothing", 5, 1.25, None)
    request = object()
    record = logging.LogRecord("a", logging.INFO, "", 0, "%s", (request,), None)
    assert HideSecrets().filter(record)
    assert record.args == (request,)
    assert log.text == "nothing of 5, 100%, 1.2 None\n"


def test_an_access_line_keeps_its_arguments_apart() -> None:
    """uvicorn's formatter takes them one by one."""
    args = ("1.2.3.4", "GET", f"/mcp?token={SECRET}", "1.1", 200)
    message = '%s - "%s %s HTTP/%s" %d'
    record = logging.LogRecord("uvicorn.access", logging.INFO, "", 0, message, args, None)
    assert HideSecrets().filter(record)
    assert record.args == ("1.2.3.4", "GET", f"/mcp?token={PREFIX}_[hidden]", "1.1", 200)
    said = record.getMessage()
    assert said == f'1.2.3.4 - "GET /mcp?token={PREFIX}_[hidden] HTTP/1.1" 200'


class Atoms(dict[str, Any]):
    """As gunicorn's: what is absent is a dash."""

    def __getitem__(self, name: str) -> Any:
        return self.get(name, "-")


@pytest.mark.parametrize("target", [f"/mcp?token={SECRET}", "/mcp"], ids=["secret", "none"])
def test_a_mapping_of_arguments_stays_what_it_is(log: Log, target: str) -> None:
    atoms = Atoms(r=f"GET {target}", s=200)
    log.logger.info("%(r)s %(s)s %({x-forwarded-for}i)s", atoms)
    assert log.text == f"GET {target.replace(HIDDEN_PART, '[hidden]')} 200 -\n"
    assert atoms["r"] == f"GET {target}"


def test_a_mapping_that_nobody_may_change_is_hidden_too(log: Log) -> None:
    log.logger.info("%(r)s", MappingProxyType({"r": SECRET}))
    assert log.text == f"{PREFIX}_[hidden]\n"


class Broken:
    """Cannot be written."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_what_cannot_be_written_is_the_handlers_affair(log: Log) -> None:
    record = logging.LogRecord("a", logging.INFO, "", 0, "%s", (Broken(), SECRET), None)
    assert HideSecrets().filter(record)
    assert record.args is not None
    assert record.args[1] == f"{PREFIX}_[hidden]"  # type: ignore[index]
