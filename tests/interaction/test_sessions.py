"""Handshake sessions: bad ids, ends, and what they are bound to (D-034, 035, 036, 071)."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from mcp_app.auth.tokens import issue, revoke, rotate
from mcp_app.models import CallEvent, Session, Token
from mcp_app.testing import MCPClient
from tests.interaction.conftest import LEGACY, MakeClient, MakeToken

HANDSHAKES = pytest.mark.parametrize("version", LEGACY)
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@HANDSHAKES
def test_an_unknown_session_is_a_404_that_a_client_can_read(
    make_client: MakeClient, version: str
) -> None:
    client = make_client(version)
    client.session_id = "x" * 43
    answer = client.post(LIST)
    assert answer.status == 404
    assert answer.error["code"] == 404
    assert answer.response["id"] == 1
    assert CallEvent.objects.get().error_class == "SessionNotFound"


def test_a_session_is_no_credential(make_client: MakeClient, legacy: MCPClient) -> None:
    """A bad token is a 401 whatever the session, and a bad session never is one."""
    legacy.initialize()
    stranger = make_client("2025-11-25", "mcp_nonsense")
    for session_id in (legacy.session_id, "x" * 43, None):
        stranger.session_id = session_id
        assert stranger.post(LIST).status == 401


def test_a_request_without_a_session_is_told_to_begin_one(legacy: MCPClient) -> None:
    answer = legacy.post(LIST)
    assert answer.status == 400
    assert answer.error["code"] == -32600
    assert "initialize" in answer.error["message"]


@pytest.mark.parametrize(
    "session_id",
    [
        "",
        " ",
        "two words",
        "x" * 10_000,
        "caf\xe9",
        "' OR 1=1 --",
        "a\0b",
        "%s",
        "../../etc/passwd",
        "d4c0e804-b027-4c16-a557-826cd5d57c9c",
    ],
)
def test_ids_of_no_session_are_refused_without_an_error_of_ours(
    legacy: MCPClient, session_id: str
) -> None:
    answer = legacy.post(LIST, headers={"mcp-session-id": session_id})
    assert answer.status in (400, 404)
    assert answer.error["code"] in (404, -32600)


def test_sessions_may_be_left_out(make_client: MakeClient, settings: Any, version: str) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "LEGACY_SESSIONS": False}
    client = make_client(version)
    if version in LEGACY:
        answer = client.initialize()
        assert "mcp-session-id" not in answer.headers
        assert client.post(LIST, headers={"mcp-session-id": "whatever"}).status == 200
    assert client.send("DELETE", b"", {}).status == 405
    assert not Session.objects.exists()


@HANDSHAKES
def test_a_session_ends_once(make_client: MakeClient, version: str) -> None:
    client = make_client(version)
    assert client.call("add", {"a": 1}).status == 200
    ended = client.end_session()
    assert (ended.status, ended.body) == (204, b"")
    assert client.end_session().status == 404
    assert client.post(LIST).status == 404


def test_a_session_to_end_must_be_named(legacy: MCPClient) -> None:
    answer = legacy.send("DELETE", b"", {})
    assert answer.status == 400
    assert "Mcp-Session-Id" in answer.error["message"]


def test_nobody_ends_or_joins_a_session_of_somebody_else(
    make_client: MakeClient, make_token: MakeToken, legacy: MCPClient, staff: Any
) -> None:
    legacy.initialize()
    other = make_client("2025-11-25", make_token(staff))
    other.session_id = legacy.session_id
    assert other.end_session().status == 404
    assert other.call("add", {"a": 1}).status == 404
    assert legacy.call("add", {"a": 1}).status == 200


def test_ending_needs_a_credential_and_each_refusal_is_recorded(
    make_client: MakeClient, legacy: MCPClient
) -> None:
    legacy.initialize()
    guesser = make_client("2025-11-25", "mcp_guess")
    guesser.session_id = legacy.session_id
    answer = guesser.end_session()
    assert answer.status == 401
    assert "invalid_token" in answer.headers["www-authenticate"]
    event = CallEvent.objects.get()
    assert (event.outcome, event.method) == ("unauthenticated", "DELETE")
    assert legacy.end_session().status == 204


def test_a_rotation_keeps_the_session(make_client: MakeClient, user: Any) -> None:
    token, secret = issue(user=user, name="laptop")
    client = make_client("2025-11-25", secret.reveal())
    client.initialize()
    successor = rotate(token, grace=timedelta(hours=1))
    client.token = successor.reveal()
    answer = client.call("whoami")
    assert answer.status == 200
    assert client.session_id in answer.text


def test_another_token_of_the_same_user_does_not_join(
    make_client: MakeClient, make_token: MakeToken, settings: Any
) -> None:
    """A weaker token would gain what a stronger one's session has agreed on."""
    settings.MCP_APP = {**settings.MCP_APP, "SCOPES": {"rooms:write": "Write"}}
    strong = make_client("2025-11-25", make_token(None, "rooms:write"))
    strong.initialize()
    weak = make_client("2025-11-25", make_token())
    weak.session_id = strong.session_id
    assert weak.call("scoped").status == 404


def test_scopes_are_asked_again_on_each_request(
    make_client: MakeClient, user: Any, settings: Any
) -> None:
    token, secret = issue(user=user, name="laptop", scopes=["rooms:write"])
    client = make_client("2025-11-25", secret.reveal())
    assert client.call("scoped", {"number": 3}).text == "3"
    Token.objects.filter(pk=token.pk).update(scopes=[])
    assert client.call("scoped", {"number": 3}).status == 403


@pytest.mark.parametrize("switch", ["revoked", "inactive", "expired", "deleted", "rotated"])
@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_off_switches_act_on_the_next_request_with_a_reason_for_the_audit(
    make_client: MakeClient, user: Any, switch: str, revision: str
) -> None:
    token, secret = issue(user=user, name="laptop")
    client = make_client(revision, secret.reveal())
    assert client.call("add", {"a": 1}).status == 200
    match switch:
        case "revoked":
            revoke(token)
        case "inactive":
            type(user).objects.filter(pk=user.pk).update(is_active=False)
        case "expired":
            past = timezone.now() - timedelta(seconds=1)
            Token.objects.filter(pk=token.pk).update(expires_at=past)
        case "deleted":
            user.delete()
        case "rotated":
            rotate(token, grace=timedelta(0))
    answer = client.call("add", {"a": 1})
    assert answer.status == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert answer.error["message"] == "Invalid or expired token."
    event = CallEvent.objects.exclude(outcome="ok").get()
    assert event.outcome == "unauthenticated"
    reasons = {"inactive": "user inactive", "deleted": "unknown"}
    assert event.error_text == reasons.get(switch, switch)
    assert event.token_lookup == secret.reveal().split("_")[1]
    if switch != "deleted":
        assert (event.username, event.token_name) == ("ada", "laptop")


def test_an_idle_session_ends_by_itself(legacy: MCPClient, settings: Any) -> None:
    legacy.initialize()
    idle = timezone.now() - timedelta(seconds=settings.MCP_APP.get("SESSION_TTL", 24 * 3600) + 1)
    Session.objects.update(last_seen_at=idle)
    assert legacy.call("add", {"a": 1}).status == 404


def test_what_a_client_says_of_itself_is_stored_trimmed(make_client: MakeClient) -> None:
    info = {"name": "<script>\0\n" + "n" * 100_000, "version": "v" * 5000}
    client = make_client("2025-11-25", client_info=info, capabilities={"roots": {"a\0": "\0"}})
    client.initialize()
    assert client.call("add", {"a": 1}).status == 200
    session, event = Session.objects.get(), CallEvent.objects.get()
    for row in (session, event):
        assert row.client_name.startswith("<script>")
        assert len(row.client_name) == 200
        assert len(row.client_version) == 100
        assert "\0" not in row.client_name
    assert event.session_id == client.session_id


def test_a_token_has_no_more_sessions_than_the_setting_says(
    make_client: MakeClient, make_token: MakeToken, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "SESSION_LIMIT": 2}
    token = make_token()
    clients = [make_client("2025-11-25", token) for _ in range(3)]
    for client in clients:
        client.initialize()
    statuses = [client.request("ping").status for client in clients]
    assert statuses == [404, 200, 200]


def test_a_session_remembers_neither_a_secret_nor_a_flood(
    make_client: MakeClient, make_token: MakeToken
) -> None:
    token = make_token()
    make_client(
        "2025-11-25", token, client_info={"name": f"x {token}", "version": "1"}
    ).initialize()
    assert Session.objects.get().client_name == "x [redacted]"
    flood = make_client("2025-11-25", token, capabilities={"experimental": {"x": "y" * 20_000}})
    assert (
        flood.request(
            "initialize", {"protocolVersion": "2025-11-25", "capabilities": flood.capabilities}
        ).error["code"]
        == -32602
    )
    assert Session.objects.count() == 1
