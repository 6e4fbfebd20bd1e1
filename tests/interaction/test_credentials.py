"""Every kind of credential, whoever else is let in: a bad one is never nobody's (D-071, D-079)."""

from collections.abc import Sequence
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth import get_user_model
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission

from mcp_app import Context
from mcp_app.auth import lookup, presented, verification
from mcp_app.auth.hashing import generate
from mcp_app.auth.tokens import issue, revoke
from mcp_app.models import CallEvent, Token, TokenSecret
from mcp_app.testing import Answer, MCPClient
from tests.interaction import wire
from tests.interaction.conftest import MODERN, Counted, MakeClient, MakeToken, Serve
from tests.interaction.tools import server

OURS = "mcp_app.auth.authentication.TokenAuthentication"
BASIC = "rest_framework.authentication.BasicAuthentication"
SESSION = "rest_framework.authentication.SessionAuthentication"
JWT = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ."


class JsonWebTokens(BaseAuthentication):
    """A product's own class, which knows one text and refuses other ones that look like it."""

    def authenticate(self, request: Any) -> tuple[Any, Any] | None:
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not text.startswith("eyJ"):
            return None
        if text != JWT:
            raise AuthenticationFailed("Signature has expired.")
        return get_user_model().objects.get(username="ada"), {"sub": "ada"}


def revoked_token(user: Any) -> str:
    token, secret = issue(user=user, name="revoked")
    revoke(token)
    return f"Bearer {secret.reveal()}"


def mistyped_token(user: Any) -> str:
    text = issue(user=user, name="mistyped")[1].reveal()
    return f"Bearer {text[:-1]}{'0' if text[-1] != '0' else '1'}"


def under_another_scheme(user: Any) -> str:
    return f"Token {issue(user=user, name='scheme')[1].reveal()}"


def with_more_behind_it(user: Any) -> str:
    return f"Bearer {issue(user=user, name='more')[1].reveal()} x"


def twice(user: Any) -> str:
    text = issue(user=user, name="twice")[1].reveal()
    return f"Bearer {text}, Bearer {text}"


BAD = {
    "revoked": revoked_token,
    "mistyped": mistyped_token,
    "unknown": lambda user: f"Bearer {generate().secret.reveal()}",
    "ours by its beginning": lambda user: "Bearer mcp_x",
    "with more behind it": with_more_behind_it,
    "twice": twice,
    "under another scheme": under_another_scheme,
    "a bare scheme": lambda user: "Bearer",
    "several words": lambda user: "Bearer a b",
    "a JWT": lambda user: f"Bearer {JWT}",
    "a token of DRF": lambda user: "Token 9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b",
    "a token of DRF as a bearer": lambda user: "Bearer 9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b",
    "another server's access token": lambda user: "Bearer zJrT3hFzvQ0y6b1sQ5v1h1dF7m9kQ2",
    "a password": lambda user: "Basic YWRhOmFkYQ==",
    "a digest": lambda user: 'Digest username="ada"',
    "no scheme": lambda user: "ada",
}


def refused(answer: Answer, *, bearer: bool = True) -> None:
    """Whether it is a 401 that says no more than that."""
    assert answer.status == 401
    challenge = answer.headers["www-authenticate"]
    assert challenge.startswith("Bearer")
    assert ('error="invalid_token"' in challenge) is bearer
    assert answer.error["message"] == "Invalid or expired token."


@pytest.mark.parametrize("anonymous", [False, True], ids=["", "anonymous callers"])
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_credential_is_refused_and_never_anonymous(
    make_client: MakeClient, user: Any, counted: Counted, settings: Any, kind: str, anonymous: bool
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "ALLOW_ANONYMOUS": anonymous}
    header = BAD[kind](user)
    client = make_client()
    answer = client.call(counted.name, headers={"authorization": header})
    refused(answer, bearer=header.startswith("Bearer"))
    assert counted.runs == 0
    event = CallEvent.objects.get()
    assert event.outcome == "unauthenticated"
    assert event.error_text
    assert event.error_text not in answer.body.decode()
    assert Token.objects.filter(secrets__last_used_at__isnull=False).count() == 0


@pytest.mark.parametrize("blank", [None, "", " "], ids=["none", "empty", "blank"])
def test_no_credential_is_anonymous_where_that_is_allowed(
    make_client: MakeClient, settings: Any, blank: str | None
) -> None:
    client = make_client()
    told = client.call("echo", {"text": "a"}, headers={"authorization": blank})
    assert (told.status, "invalid_token" in told.headers["www-authenticate"]) == (401, False)
    settings.MCP_APP = {**settings.MCP_APP, "ALLOW_ANONYMOUS": True}
    listed = client.request("tools/list", headers={"authorization": blank})
    assert listed.status == 200


@pytest.mark.parametrize("first", [True, False], ids=["ours first", "ours last"])
def test_another_class_takes_the_bearers_that_are_not_ours(
    make_client: MakeClient, user: Any, settings: Any, first: bool
) -> None:
    both = [OURS, f"{__name__}.JsonWebTokens"]
    classes = both if first else both[::-1]
    settings.MCP_APP = {**settings.MCP_APP, "AUTHENTICATION_CLASSES": classes}
    client = make_client()
    assert client.call("add", {"a": 1}).status == 200
    answer = client.call("add", {"a": 1}, headers={"authorization": f"Bearer {JWT}"})
    assert answer.status == 200
    event = CallEvent.objects.latest("pk")
    assert (event.source, event.username, event.token_id) == ("JsonWebTokens", "ada", None)
    # The class that knows the form has the say on it, and what neither knows is nobody's.
    stale = client.call("add", {"a": 1}, headers={"authorization": f"Bearer {JWT}x"})
    assert (stale.status, stale.error["message"]) == (401, "Signature has expired.")
    refused(client.call("add", {"a": 1}, headers={"authorization": "Bearer neither"}))


def test_a_credential_that_no_class_takes_spends_the_budget_of_its_address(
    make_client: MakeClient, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "FAILED_AUTH_RATE": "2/min", "ALLOW_ANONYMOUS": True}
    client = make_client()
    bad = {"authorization": f"Bearer {JWT}"}
    statuses = [client.request("tools/list", headers=bad).status for _ in range(3)]
    assert statuses == [401, 401, 429]
    assert client.request("tools/list").status == 200


class Leaves(BaseAuthentication):
    """A product's own class that breaks in a way that no handler of exceptions sees."""

    def authenticate(self, request: Any) -> tuple[Any, Any] | None:
        raise SystemExit("not today")


class LeavesInWords(BaseAuthentication):
    """One that breaks once it is asked for its challenge."""

    def authenticate(self, request: Any) -> tuple[Any, Any] | None:
        return None

    def authenticate_header(self, request: Any) -> str:
        raise SystemExit("not today")


@pytest.mark.parametrize("broken", ["Leaves", "LeavesInWords"])
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_class_that_breaks_lets_nobody_in_and_ends_nothing(
    make_client: MakeClient, counted: Counted, settings: Any, broken: str, method: str
) -> None:
    client = make_client(token="")
    classes = [f"{__name__}.{broken}", OURS]
    settings.MCP_APP = {**settings.MCP_APP, "AUTHENTICATION_CLASSES": classes}
    if method == "POST":
        answer = client.call(counted.name)
    else:
        answer = client.send("DELETE", b"", {"mcp-session-id": "x"})
    assert (answer.status, counted.runs) == (500, 0)
    assert "not today" not in answer.body.decode()


class CookieUsers(BaseAuthentication):
    """A product's own class that knows people by a cookie."""

    def authenticate(self, request: Any) -> tuple[Any, Any] | None:
        name = request.COOKIES.get("who")
        return (get_user_model().objects.get(username=name), None) if name else None


BESIDE = {
    "sessions last": [OURS, SESSION],
    "sessions first": [SESSION, OURS],
    "cookies first": [f"{__name__}.CookieUsers", OURS],
    "sessions alone": [SESSION],
}


@pytest.fixture(params=BESIDE)
def beside(request: pytest.FixtureRequest, staff: Any, settings: Any, client: Any) -> str:
    """The cookies of somebody who is signed in, where the product lets these in, too."""
    classes = BESIDE[request.param]
    settings.MCP_APP = {**settings.MCP_APP, "AUTHENTICATION_CLASSES": classes}
    client.force_login(staff)
    return f"sessionid={client.cookies['sessionid'].value}; who={staff.username}"


KEYS = {
    "in its own header": lambda text: ({"x-api-key": text}, ""),
    "in the address": lambda text: ({}, f"?token={text}"),
}


@pytest.mark.parametrize("kind", BAD)
def test_whoever_sends_a_bad_credential_is_not_whom_their_cookie_says(
    make_client: MakeClient, user: Any, counted: Counted, beside: str, kind: str
) -> None:
    header = BAD[kind](user)
    answer = make_client().call(counted.name, headers={"authorization": header, "cookie": beside})
    assert (answer.status, counted.runs) == (401, 0)


@pytest.mark.parametrize("where", KEYS)
def test_nor_is_who_sends_one_elsewhere(
    make_client: MakeClient, counted: Counted, settings: Any, beside: str, where: str
) -> None:
    known = {"TOKEN_HEADER": "X-Api-Key", "ALLOW_QUERY_TOKEN": True, "ALLOW_ANONYMOUS": True}
    settings.MCP_APP = {**settings.MCP_APP, **known}
    headers, query = KEYS[where](generate().secret.reveal())
    client = make_client(token="")
    client.path += query
    answer = client.call(counted.name, headers={**headers, "cookie": beside})
    assert (answer.status, counted.runs) == (401, 0)


@pytest.mark.parametrize("beside", [kind for kind in BESIDE if OURS in BESIDE[kind]], indirect=True)
def test_a_token_decides_who_calls_and_no_cookie_does(
    make_client: MakeClient, serve: Serve, beside: str
) -> None:
    seen: list[Any] = []

    class Sees(BasePermission):
        def has_permission(self, request: Any, view: Any) -> bool:
            host = request._request
            session = dict(getattr(host, "session", {}).items())
            others = [host.user, async_to_sync(host.auser)()] if hasattr(host, "user") else []
            seen.append((request.user.username, dict(host.COOKIES), session, others))
            return True

    def who(ctx: Context) -> str:
        return str(ctx.user.username)

    name = serve(who, permission_classes=[Sees])
    answer = make_client().call(name, headers={"cookie": beside})
    assert answer.text == "ada"
    assert CallEvent.objects.latest("pk").username == "ada"
    assert seen
    for username, cookies, session, others in seen:
        assert (username, cookies, session) == ("ada", {}, {})
        assert not any(other.is_authenticated for other in others)


@pytest.mark.parametrize("beside", ["cookies first"], indirect=True)
def test_a_cookie_alone_goes_on_to_be_looked_at(make_client: MakeClient, beside: str) -> None:
    answer = make_client(token="").call("add", {"a": 1}, headers={"cookie": beside})
    assert answer.status == 200
    assert CallEvent.objects.get().username == "grace"


@pytest.mark.parametrize("where", KEYS)
@pytest.mark.parametrize("scheme", ["Basic Z3JhY2U6Z3JhY2U=", "Token x", 'Digest a="b"', "grace"])
@pytest.mark.parametrize("first", [OURS, BASIC])
def test_another_scheme_beside_a_token_is_ambiguous(
    make_client: MakeClient,
    make_token: MakeToken,
    counted: Counted,
    settings: Any,
    where: str,
    scheme: str,
    first: str,
) -> None:
    known = {"TOKEN_HEADER": "X-Api-Key", "ALLOW_QUERY_TOKEN": True}
    classes = [first, *({OURS, BASIC} - {first})]
    settings.MCP_APP = {**settings.MCP_APP, **known, "AUTHENTICATION_CLASSES": classes}
    headers, query = KEYS[where](make_token())
    client = make_client(token="")
    client.path += query
    answer = client.call(counted.name, headers={**headers, "authorization": scheme})
    assert (answer.status, answer.error["code"], counted.runs) == (400, -32600, 0)


@pytest.mark.django_db(transaction=True)
def test_requests_that_come_together_are_looked_up_together(
    make_token: MakeToken, lanes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    together: list[int] = []

    def find(lookups: Sequence[str]) -> list[TokenSecret | None]:
        together.append(len(lookups))
        return lookup.find(lookups)

    def nobody(lookups: Sequence[str]) -> list[TokenSecret | None]:
        raise AssertionError("looked up alone")

    # However long this machine lets the last of them wait.
    monkeypatch.setattr(presented, "FRESH", wire.PATIENCE)
    monkeypatch.setattr(presented, "find", find)
    monkeypatch.setattr(verification, "find", nobody)
    client = MCPClient(make_token(), version=MODERN, server=server)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": client.params({})}

    async def scenario() -> list[int]:
        application = wire.endpoint_application()
        lines = [wire.send(application, client, message) for _ in range(16)]
        for line in lines:
            await line.end()
        return [line.status for line in lines]

    assert async_to_sync(scenario)() == [200] * 16
    assert sum(together) == 16
    # One for the first to come, one for those that came meanwhile; some where the machine stood.
    assert len(together) < 8
