"""A header that the product names for tokens: off by default, one credential at most (D-090)."""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from mcp_app.conf import validate
from mcp_app.models import CallEvent
from mcp_app.testing import Answer
from tests.interaction.conftest import Counted, MakeClient, MakeToken

KEY = "x-api-key"


@pytest.fixture
def named(settings: Any) -> None:
    """A product that has named one."""
    settings.MCP_APP = {**settings.MCP_APP, "TOKEN_HEADER": "X-Api-Key"}


def call(make_client: MakeClient, counted: Counted, key: str, bearer: str = "") -> Answer:
    """Call a tool with a key, and a bearer token or none."""
    return make_client(token=bearer).call(counted.name, headers={KEY: key})


def test_it_is_nobodys_by_default(
    make_client: MakeClient, make_token: MakeToken, counted: Counted
) -> None:
    assert call(make_client, counted, make_token()).status == 401


@pytest.mark.usefixtures("named")
def test_a_token_in_it_is_its_owners(
    make_client: MakeClient, make_token: MakeToken, counted: Counted
) -> None:
    token = make_token()
    assert call(make_client, counted, f" {token} ").status == 200
    event = CallEvent.objects.get()
    assert (event.username, event.token_lookup) == ("ada", token.split("_")[1])
    # `Authorization` goes on working, beside an empty one too.
    assert call(make_client, counted, "", token).status == 200


@pytest.mark.usefixtures("named")
def test_two_credentials_are_ambiguous_though_they_are_the_same(
    make_client: MakeClient, make_token: MakeToken, counted: Counted
) -> None:
    token = make_token()
    for bearer in (token, "nonsense"):
        answer = call(make_client, counted, token, bearer)
        assert (answer.status, answer.error["code"]) == (400, -32600)
    assert counted.runs == 0


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("key", ["mcp_guess", "somebody's", "Bearer mcp_guess"])
@pytest.mark.parametrize("anonymous", [False, True])
def test_a_bad_one_is_refused_and_never_anonymous(
    make_client: MakeClient, counted: Counted, settings: Any, key: str, anonymous: bool
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "ALLOW_ANONYMOUS": anonymous}
    answer = call(make_client, counted, key)
    assert answer.status == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert answer.error["message"] == "Invalid or expired token."
    assert CallEvent.objects.get().outcome == "unauthenticated"


@pytest.mark.usefixtures("named")
def test_a_browser_may_send_it(make_client: MakeClient, settings: Any) -> None:
    origin = "https://app.example"
    settings.MCP_APP = {**settings.MCP_APP, "CORS": True, "ALLOWED_ORIGINS": [origin]}
    asked = {"origin": origin, "access-control-request-method": "POST"}
    answer = make_client(token="").send("OPTIONS", b"", asked)
    assert KEY in answer.headers["access-control-allow-headers"].split(", ")


@pytest.mark.parametrize("name", ["Authorization", "x api", "Mcp-Name", "cookie", None, "a:"])
def test_what_cannot_be_one_is_refused_at_the_start(settings: Any, name: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "TOKEN_HEADER": name}
    with pytest.raises(ImproperlyConfigured, match="X-Api-Key"):
        validate()
