"""Tokens in the address: off by default, refused where ambiguous, in no log (DESIGN section 6)."""

import logging
from typing import Any

import pytest

from mcp_app.models import CallEvent
from mcp_app.testing import MCPClient
from tests.interaction.conftest import MakeClient, MakeToken


@pytest.fixture
def allowed(settings: Any) -> None:
    """A product that has chosen to admit them."""
    settings.MCP_APP = {**settings.MCP_APP, "ALLOW_QUERY_TOKEN": True}


def asking(make_client: MakeClient, query: str, header: str = "") -> MCPClient:
    """A client of an address with a query string, and with a token in its header or not."""
    client = make_client(token=header)
    client.path = f"/mcp?{query}"
    return client


def test_a_token_in_the_address_is_nobodys_by_default(
    make_client: MakeClient, make_token: MakeToken
) -> None:
    assert asking(make_client, f"token={make_token()}").request("tools/list").status == 401


@pytest.mark.usefixtures("allowed")
def test_it_is_admitted_where_the_product_says_so(
    make_client: MakeClient, make_token: MakeToken
) -> None:
    client = asking(make_client, f"a=b&token={make_token()}")
    assert client.call("add", {"a": 1}).status == 200
    assert CallEvent.objects.get().username == "ada"


@pytest.mark.usefixtures("allowed")
@pytest.mark.parametrize("other", ["header", "query", "bad header", "the same"])
def test_more_than_one_token_is_ambiguous(
    make_client: MakeClient, make_token: MakeToken, other: str
) -> None:
    token = make_token()
    headers = {"header": token, "the same": token, "bad header": "nonsense"}
    more = "&token=other" if other == "query" else ""
    client = asking(make_client, f"token={token}{more}", headers.get(other, ""))
    answer = client.call("add", {"a": 1})
    assert (answer.status, answer.error["code"]) == (400, -32600)
    assert CallEvent.objects.get().outcome == "refused"


@pytest.mark.usefixtures("allowed")
def test_a_bad_one_is_a_401_that_says_so(make_client: MakeClient) -> None:
    answer = asking(make_client, "token=mcp_guess").request("tools/list")
    assert answer.status == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


@pytest.mark.usefixtures("allowed")
def test_it_stands_in_no_log_and_no_event(
    make_client: MakeClient, make_token: MakeToken, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = make_token()
    client = asking(make_client, f"token={token}")
    client.call("add", {"a": 1})
    client.call("nowhere")
    client.post(b"{")
    client.call("add", headers={"origin": "https://evil.example"})
    asking(make_client, f"token={token}&token={token}").call("add")
    told = [record for record in caplog.records if record.name.startswith(("mcp_app", "django.r"))]
    assert all(token not in record.getMessage() for record in told)
    for event in CallEvent.objects.values():
        assert token not in str(event)
