"""Requests without a good credential leave so many rows in the call log, and their number."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from mcp_app.auth.tokens import issue, revoke
from mcp_app.conf import DEFAULTS
from mcp_app.models import CallEvent, Token
from mcp_app.testing import MCPClient
from mcp_app.transports.strangers import ADDRESSES, Strangers, strangers
from tests.audit.records import call
from tests.interaction import wire
from tests.interaction.conftest import MODERN, MakeClient, MakeToken

LIMIT = 3


@pytest.fixture(autouse=True)
def limited(settings: Any) -> Iterator[None]:
    """A product with a small budget, of which nothing is spent."""
    settings.MCP_APP = {
        **settings.MCP_APP,
        "UNAUTHENTICATED_ROWS": f"{LIMIT}/min",
        "NUM_PROXIES": 1,
    }
    strangers.forget()
    yield
    strangers.forget()


def knock(client: MCPClient, times: int, address: str = "192.0.2.1") -> set[int]:
    """The statuses of so many requests."""
    headers = {"X-Forwarded-For": address}
    return {client.request("tools/list", headers=headers).status for _ in range(times)}


def texts(**lookup: Any) -> list[str]:
    """The error texts of the rows that there are, oldest first."""
    rows = CallEvent.objects.filter(outcome="unauthenticated", **lookup).order_by("pk")
    return list(rows.values_list("error_text", flat=True))


def test_a_flood_without_credentials_is_a_few_rows_and_a_number(make_client: MakeClient) -> None:
    assert knock(make_client(MODERN, ""), 50) == {401}
    assert texts() == ["no credentials"] * LIMIT
    strangers.tell()
    assert texts()[LIMIT:] == ["47 more within 60 seconds have no rows of their own"]
    row = CallEvent.objects.latest("pk")
    assert (row.address, row.duration_ms, row.user_id) == ("192.0.2.1", 0, None)
    assert len(row.correlation_id) == 32


def test_so_is_one_of_bad_credentials(make_client: MakeClient, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "FAILED_AUTH_RATE": "1/min"}
    client = make_client(MODERN, "mcp_guess")
    assert knock(client, 10) == {401, 429}
    assert len(texts()) == LIMIT
    strangers.tell()
    assert texts()[-1].startswith("7 more")


def test_so_is_one_of_requests_that_no_class_takes(
    make_client: MakeClient, make_token: MakeToken
) -> None:
    token = make_token()
    client = make_client(MODERN, token)
    more = {"authorization": "Basic YTpi", "X-Forwarded-For": "192.0.2.1"}
    for _ in range(10):
        assert client.request("tools/list", headers=more).status in (400, 401)
    assert CallEvent.objects.count() == LIMIT


def test_who_is_known_leaves_a_row_each_time_also_at_that_address(
    make_client: MakeClient,
) -> None:
    knock(make_client(MODERN, ""), 10)
    client = make_client()
    for _ in range(10):
        client.call("nowhere", headers={"X-Forwarded-For": "192.0.2.1"})
    assert CallEvent.objects.filter(outcome="unknown", username="ada").count() == 10


def test_each_address_has_rows_of_its_own(make_client: MakeClient) -> None:
    nobody = make_client(MODERN, "")
    for number in range(1, 4):
        knock(nobody, 5, f"192.0.2.{number}")
        assert len(texts(address=f"192.0.2.{number}")) == LIMIT
    strangers.tell()
    assert texts(address=None) == ["6 more within 60 seconds have no rows of their own"]


def test_nobody_gets_more_by_counting_through_a_network(make_client: MakeClient) -> None:
    nobody = make_client(MODERN, "")
    for number in range(10):
        knock(nobody, 1, f"2001:db8::{number}")
    assert len(texts()) == LIMIT
    for number in range(1, 3):
        knock(nobody, 5, f"::ffff:192.0.2.{number}")
    assert len(texts()) == 3 * LIMIT


def test_a_secret_that_was_genuine_has_rows_whoever_floods_its_address(
    make_client: MakeClient,
) -> None:
    user = get_user_model().objects.create_user("eve")
    leaked, secret = issue(user=user, name="leaked")
    revoke(leaked)
    knock(make_client(MODERN, "mcp_guess"), 10)
    guessed = f"{secret.reveal()[:20]}{'x' * 40}"
    knock(make_client(MODERN, guessed), 5)
    assert knock(make_client(MODERN, secret.reveal()), 5) <= {401, 429}
    rows = CallEvent.objects.filter(token=leaked)
    assert [row.error_text for row in rows] == ["revoked"] * LIMIT
    assert CallEvent.objects.count() == 2 * LIMIT
    strangers.tell()
    assert texts()[-1].startswith("14 more")


def test_tokens_that_ended_are_limited_together() -> None:
    counted = Strangers()
    admitted = [
        counted.may_leave_row(call(source="", token=Token(pk=number % 100)))
        for number in range(500)
    ]
    assert sum(admitted) == ADDRESSES * LIMIT
    counted.forget()


def test_many_addresses_together_are_limited_too() -> None:
    counted = Strangers()
    admitted = [
        counted.may_leave_row(call(source="", address=f"198.51.{n % 200}.{n // 200}"))
        for n in range(5000)
    ]
    assert sum(admitted) == ADDRESSES * LIMIT
    counted.forget()


def test_without_a_limit_each_has_its_row(make_client: MakeClient, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "UNAUTHENTICATED_ROWS": None}
    knock(make_client(MODERN, ""), 20)
    assert len(texts()) == 20
    assert DEFAULTS["UNAUTHENTICATED_ROWS"] == "60/min"


@pytest.mark.django_db(transaction=True)
def test_the_number_is_told_by_itself_and_a_new_window_begins(
    make_client: MakeClient, lanes: None, settings: Any
) -> None:
    told = threading.Event()

    def hear(row: CallEvent) -> None:
        if "more within" in row.error_text:
            told.set()

    settings.MCP_APP = {**settings.MCP_APP, "UNAUTHENTICATED_ROWS": "2/s", "ON_CALL": [hear]}
    nobody = make_client(MODERN, "")
    # So few come within the second also where the machine is slow.
    knock(nobody, 4)
    assert told.wait(wire.PATIENCE)
    assert texts()[-1] == "2 more within 1 seconds have no rows of their own"
    before = len(texts())
    knock(nobody, 1)
    assert texts()[before:] == ["no credentials"]
