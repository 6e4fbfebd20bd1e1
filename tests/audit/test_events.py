"""A call record as a row."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.db import connection

from mcp_app.audit.events import ERROR_TEXT_LIMIT, to_event
from mcp_app.catalog.disclosure import NOTHING, Disclosure
from mcp_app.dispatch.interfaces import Decision, Outcome
from mcp_app.models import CallEvent, Token
from mcp_app.models.events import CallDecision, CallOutcome
from tests.audit.records import call

TOKEN = "mcp_Ab3dEf6hIj9l_" + "Zz9" * 13


def stored(**changes: Any) -> CallEvent:
    """The row of a call, read back."""
    event = to_event(call(**changes))
    event.full_clean()
    event.save()
    return CallEvent.objects.get(pk=event.pk)


def test_the_columns_offer_what_dispatch_says() -> None:
    assert set(CallOutcome.values) == set(Outcome)
    assert set(CallDecision.values) == set(Decision)


@pytest.mark.django_db
def test_a_row_says_who_did_what_and_what_came_of_it() -> None:
    user = get_user_model().objects.create_user("ana")
    token = Token.objects.create(user=user, name="Claude Code")

    event = stored(
        started_at=1_700_000_000.5,
        user=user,
        token=token,
        token_lookup="Ab3dEf6hIj9l",
        session_id="s-1",
        request_id=0,
        outcome=Outcome.ERROR,
        error_class="RoomMissing",
        error_text="no such room",
        result_bytes=123,
        client_name="Claude",
        client_version="2.1",
        address="2001:DB8::1%eth0",
    )

    assert event.created_at == datetime.fromtimestamp(1_700_000_000.5, UTC)
    assert (event.user, event.username) == (user, "ana")
    assert (event.token, event.token_name, event.token_lookup) == (
        token,
        "Claude Code",
        "Ab3dEf6hIj9l",
    )
    assert (event.session_id, event.request_id, event.method) == ("s-1", "0", "tools/call")
    assert (event.tool, event.source, event.transport) == ("list_rooms", "token", "http")
    assert (event.decision, event.outcome) == ("allow", "error")
    assert (event.error_class, event.error_text) == ("RoomMissing", "no such room")
    assert event.correlation_id == "0123456789abcdef0123456789abcdef"
    assert event.arguments == {"limit": 5}
    assert (event.duration_ms, event.result_bytes) == (250, 123)
    assert (event.client_name, event.client_version) == ("Claude", "2.1")
    assert (event.protocol_version, event.address) == ("2026-07-28", "2001:db8::1")


@pytest.mark.django_db
def test_nobody_is_a_caller_too() -> None:
    event = stored(user=AnonymousUser(), token=object(), duration=None, arguments=None)

    assert (event.user_id, event.username, event.token_id) == (None, "", None)
    assert (event.duration_ms, event.arguments) == (None, None)


@pytest.mark.django_db
def test_what_a_client_says_is_trimmed_to_one_printable_line() -> None:
    event = stored(
        client_name="<b>Evil\0\x1b[31m\u202e\ud800" + "x" * 1_000_000,
        client_version="1\r\n2",
        tool="t" * 1_000_000,
        request_id="r" * 500,
        method="\ud800",
        address="10.0.0.1, 10.0.0.2",
    )

    assert event.client_name.startswith("<b>Evil\ufffd [31m \ufffdxxx")
    assert len(event.client_name) == 200
    assert event.client_version == "1 2"
    assert event.tool == "t" * 127 + "…"
    assert event.request_id == "r" * 127 + "…"
    assert (event.method, event.address) == ("\ufffd", None)


@pytest.mark.django_db
@pytest.mark.parametrize("spaces", [0, 100, 760])
def test_no_column_holds_a_token(spaces: int) -> None:
    text = " " * spaces + TOKEN
    event = stored(
        client_name=text,
        client_version=text,
        tool=text,
        method=text,
        request_id=text,
        session_id=text,
        error_text=text,
        error_class=text,
        arguments={"q": text, text: 1},
    )

    row = CallEvent.objects.filter(pk=event.pk).values().get()
    assert "Zz9Zz9" not in json.dumps(row, default=str)


@pytest.mark.django_db
def test_an_error_text_is_bounded_and_quotes_no_secret_argument() -> None:
    event = stored(
        arguments={"reason": "she is ill", "limit": 5},
        disclosure=Disclosure(frozenset({"limit"})),
        error_text=f"cannot note 'she is ill' for {TOKEN}\0 " + "x" * 10_000_000,
    )

    assert event.error_text.startswith("cannot note '[redacted]' for [redacted]\ufffd xxx")
    assert event.error_text.endswith("… [truncated, 10000087 characters]")
    assert len(event.error_text) <= ERROR_TEXT_LIMIT + 100
    assert event.arguments == {"reason": "[redacted]", "limit": 5}


@pytest.mark.django_db
def test_arguments_that_no_database_takes_are_stored_as_text() -> None:
    arguments = {"a\0": "x\0y", "b": "\ud800", "c": float("nan"), "d": 10**400, "e": "é\U0001f600"}
    event = stored(arguments=arguments)

    assert event.arguments == {
        "a\ufffd": "x\ufffdy",
        "b": "\ufffd",
        "c": "nan",
        "d": "[integer of 1329 bits]",
        "e": "é\U0001f600",
    }


@pytest.mark.django_db
def test_ten_megabytes_of_arguments_leave_a_small_row() -> None:
    event = stored(arguments={"text": "é" * 10_000_000, "list": [{"a": "b"}] * 100_000})

    with connection.cursor() as cursor:
        cursor.execute("SELECT LENGTH(CAST(arguments AS TEXT)) FROM mcp_app_callevent")
        (length,) = cursor.fetchone()
    assert length < 20_000
    assert "[truncated, 10000000 characters]" in json.dumps(event.arguments, ensure_ascii=False)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("level", "kept"),
    [
        ("none", None),
        ("names", ["limit", "password"]),
        ("redacted", {"limit": 5, "password": "[redacted]"}),
    ],
)
def test_the_level_is_a_setting(level: str, kept: Any, settings: Any) -> None:
    settings.MCP_APP = {"AUDIT_ARGUMENTS": level}

    assert stored(arguments={"limit": 5, "password": "x"}).arguments == kept


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("level", "kept"),
    [("none", None), ("names", ["city"]), ("redacted", {"city": "Graz"})],
)
def test_a_declarations_own_level_goes_before_the_setting(
    level: str, kept: Any, settings: Any
) -> None:
    settings.MCP_APP = {"AUDIT_ARGUMENTS": "digest"}

    event = stored(arguments={"city": "Graz"}, audit=level, error_text="no stock in 'Graz'")

    assert event.arguments == kept
    shown = "Graz" if level == "redacted" else "[redacted]"
    assert event.error_text == f"no stock in '{shown}'"


@pytest.mark.django_db
def test_of_a_target_that_is_unknown_no_value_is_kept() -> None:
    event = stored(tool="lgo_in", arguments={"passwd1": "hunter2"}, disclosure=NOTHING)

    assert event.arguments == {"passwd1": "[redacted]"}


@pytest.mark.django_db
def test_an_error_text_is_withheld_where_it_may_quote_too_much() -> None:
    event = stored(
        arguments={"pins": [f"secret {number}" for number in range(2000)]},
        disclosure=NOTHING,
        error_text="bad secret 7",
    )

    assert event.error_text.startswith("[withheld")


def test_equal_digests_are_of_one_project_and_key(settings: Any) -> None:
    settings.MCP_APP = {"AUDIT_ARGUMENTS": "digest"}
    pins = [to_event(call(arguments={"pin": pin})).arguments for pin in (4711, 4711, 4712)]
    settings.SECRET_KEY = "another"
    pins.append(to_event(call(arguments={"pin": 4711})).arguments)

    assert pins[0] == pins[1]
    assert len({str(kept) for kept in pins}) == 3


@pytest.mark.django_db
def test_secret_names_are_a_setting(settings: Any) -> None:
    settings.MCP_APP = {"REDACT_KEYS": ["patient number"]}

    event = stored(arguments={"patientNumber": 1, "password": 2}, error_text="patient_number=77")

    assert event.arguments == {"patientNumber": "[redacted]", "password": "[redacted]"}
    assert event.error_text == "patient_number=[redacted]"


@pytest.mark.django_db
def test_times_are_stored_without_a_zone_where_the_project_has_none(
    settings: Any,
) -> None:
    settings.USE_TZ = False

    assert to_event(call(started_at=0)).created_at == datetime.fromtimestamp(0)
