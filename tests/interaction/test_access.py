"""What is listed is what may be called, by user and by token (D-064, 065, 068, 078, 097, 102)."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Permission
from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework.permissions import (
    AllowAny,
    BasePermission,
    DjangoModelPermissions,
    IsAdminUser,
    IsAuthenticated,
    IsAuthenticatedOrReadOnly,
)

from mcp_app import Context
from mcp_app.auth.tokens import issue
from mcp_app.models import CallEvent
from mcp_app.testing import MCPClient
from tests.interaction.conftest import MODERN, MakeClient, MakeToken

Serve = Callable[..., str]


def names(client: MCPClient) -> set[str]:
    return {tool["name"] for tool in client.tools()}


# --- listed and callable -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["staff_only", "Staff_Only", "staff_only ", " staff_only", "staff_only\0", "STAFF_ONLY"]
)
def test_no_spelling_of_a_hidden_tool_runs_it(mcp: MCPClient, name: str) -> None:
    assert name not in names(mcp)
    answer = mcp.call(name)
    assert answer.error["code"] == -32602
    assert b"Tell staff" not in answer.body
    event = CallEvent.objects.get(method="tools/call")
    assert event.decision == "deny"
    assert event.outcome == ("denied" if name == "staff_only" else "unknown")


def test_who_is_permitted_sees_and_calls(
    make_client: MakeClient, make_token: MakeToken, staff: Any, version: str
) -> None:
    client = make_client(version, make_token(staff))
    assert "staff_only" in names(client)
    assert client.call("staff_only").text == "staff"


def test_each_item_of_a_batch_is_judged_by_itself(make_client: MakeClient) -> None:
    client = make_client("2025-03-26")
    client.initialize()
    calls = [
        {"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": name}}
        for i, name in enumerate(["open_to_all", "staff_only", "scoped"])
    ]
    answer = client.post(calls)
    (replies,) = answer.messages
    assert [reply["id"] for reply in replies] == [0, 1, 2]
    assert replies[0]["result"]["content"][0]["text"] == "hello"
    assert replies[1]["error"]["message"] == "Unknown tool: staff_only"
    assert replies[2]["error"]["code"] == 403
    outcomes = CallEvent.objects.order_by("id").values_list("tool", "outcome")
    assert set(outcomes) == {("open_to_all", "ok"), ("staff_only", "denied"), ("scoped", "denied")}


class RaisesDenied(BasePermission):
    def has_permission(self, request: Any, view: Any) -> bool:
        raise PermissionDenied


class RaisesNotFound(BasePermission):
    def has_permission(self, request: Any, view: Any) -> bool:
        raise Http404


class Breaks(BasePermission):
    def has_permission(self, request: Any, view: Any) -> bool:
        raise RuntimeError("the gate broke")


@pytest.mark.parametrize("gate", [RaisesDenied, RaisesNotFound, Breaks])
def test_a_permission_class_that_raises_stays_shut_and_hides_no_other_tool(
    make_client: MakeClient,
    serve: Serve,
    caplog: pytest.LogCaptureFixture,
    gate: type[BasePermission],
) -> None:
    def guarded() -> str:
        return "in"

    serve(guarded, permission_classes=[gate])
    client = make_client()
    assert "guarded" not in names(client)
    assert "add" in names(client)
    assert client.call("guarded").error["message"] == "Unknown tool: guarded"
    # Django's own ways to say no are an answer and not a fault.
    assert ("A permission class" in caplog.text) == (gate is Breaks)


@pytest.mark.parametrize(
    ("hints", "method"),
    [({"read_only": True}, "GET"), ({}, "POST"), ({"destructive": True}, "DELETE")],
)
def test_hints_give_permission_classes_their_method(
    make_client: MakeClient, serve: Serve, hints: dict[str, Any], method: str
) -> None:
    seen = []

    class Look(BasePermission):
        def has_permission(self, request: Any, view: Any) -> bool:
            seen.append((request.method, view.tool.name, view.action, request.user.username))
            return True

    def looked_at() -> str:
        return "in"

    serve(looked_at, permission_classes=[Look], **hints)
    assert make_client().call("looked_at").text == "in"
    assert seen == [(method, "looked_at", "looked_at", "ada")]


def test_composed_permissions_mean_what_drf_means(
    make_client: MakeClient, make_token: MakeToken, staff: Any, serve: Serve
) -> None:
    def either() -> str:
        return "in"

    def neither() -> str:
        return "in"

    serve(either, permission_classes=[IsAdminUser | IsAuthenticatedOrReadOnly], read_only=True)
    serve(neither, permission_classes=[~IsAuthenticated])
    for token in (make_token(), make_token(staff)):
        client = make_client(MODERN, token)
        assert client.call("either").text == "in"
        assert "neither" not in names(client)


@pytest.mark.parametrize(
    ("hints", "codename"), [({}, "add_user"), ({"destructive": True}, "delete_user")]
)
def test_model_permissions_follow_the_user_at_once(
    make_client: MakeClient,
    serve: Serve,
    user: Any,
    django_user_model: Any,
    hints: dict[str, Any],
    codename: str,
) -> None:
    def change_people() -> str:
        return "changed"

    serve(
        change_people,
        permission_classes=[DjangoModelPermissions],
        queryset=django_user_model.objects.all(),
        **hints,
    )
    client = make_client()
    assert "change_people" not in names(client)
    user.user_permissions.add(Permission.objects.get(codename=codename))
    assert "change_people" in names(client)
    assert client.call("change_people").text == "changed"
    user.user_permissions.clear()
    assert "error" in client.call("change_people").response


def test_permission_classes_may_look_into_the_body(
    make_client: MakeClient, serve: Serve, version: str
) -> None:
    seen = []

    class LooksInside(BasePermission):
        def has_permission(self, request: Any, view: Any) -> bool:
            seen.append((request.data["params"]["name"], request.POST, len(request.body) > 50))
            return True

    def guarded() -> str:
        return "in"

    serve(guarded, permission_classes=[LooksInside])
    assert make_client(version).call("guarded").text == "in"
    ((name, form, has_body),) = seen
    assert (name, dict(form), has_body) == ("guarded", {}, True)


@pytest.mark.parametrize("charset", ["utf-7", "utf-16", "rot13", "latin-1", "none", None])
@pytest.mark.parametrize("first", [b"", b"\xef\xbb\xbf"], ids=["", "byte order mark"])
def test_they_see_the_message_that_runs_however_it_is_sent(
    make_client: MakeClient, serve: Serve, charset: str | None, first: bytes
) -> None:
    seen: list[Any] = []

    class Looks(BasePermission):
        def has_permission(self, request: Any, view: Any) -> bool:
            seen.append(request.data["params"]["arguments"])
            return True

    def guarded(who: str, number: int) -> str:
        return f"{who} {number}"

    client = make_client()
    params = client.params({"name": serve(guarded, permission_classes=[Looks])})
    arguments = {"who": "+AMQ-da", "number": 2**70}
    params["arguments"] = arguments
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    kind = "application/json" + (f"; charset={charset}" if charset else "")
    headers = {**client.headers_for("tools/call", params), "content-type": kind}
    assert client.post(first + body.encode(), headers=headers).text == f"+AMQ-da {2**70}"
    assert seen == [arguments]


# --- what a token adds, which is nothing ---------------------------------------------------------


def test_a_missing_scope_is_a_403_that_names_all_of_them_at_once(
    make_client: MakeClient, serve: Serve, user: Any, settings: Any
) -> None:
    scopes = {"a:read": "", "b:write": "", "c:delete": ""}
    settings.MCP_APP = {**settings.MCP_APP, "SCOPES": scopes}

    def guarded() -> str:
        return "in"

    serve(guarded, scopes=["a:read", "b:write"])
    _, some = issue(user=user, name="some", scopes=["a:read", "c:delete"])
    client = make_client(MODERN, some.reveal())
    assert "guarded" not in names(client)
    answer = client.call("guarded")
    assert answer.status == 403
    assert answer.headers["www-authenticate"] == (
        'Bearer error="insufficient_scope", scope="a:read b:write"'
    )
    event = CallEvent.objects.get(tool="guarded")
    assert (event.outcome, event.decision) == ("denied", "deny")
    assert "b:write" in event.error_text
    assert "a:read" not in event.error_text

    _, all_of_them = issue(user=user, name="all", scopes=["a:read", "b:write"])
    assert make_client(MODERN, all_of_them.reveal()).call("guarded").text == "in"


def test_implied_scopes_let_in_and_what_is_needed_is_named_as_the_tool_does(
    make_client: MakeClient, serve: Serve, user: Any, settings: Any
) -> None:
    stated = {"all": {"implies": ["a"]}, "a": "", "a:read": {"implies": ["b"]}, "b": "", "c": ""}
    settings.MCP_APP = {**settings.MCP_APP, "SCOPES": stated}

    def guarded() -> str:
        return "in"

    serve(guarded, scopes=["a:read", "b"])
    _, secret = issue(user=user, name="some", scopes=["all"])
    client = make_client(MODERN, secret.reveal())
    assert "guarded" in names(client)
    assert client.call("guarded").text == "in"
    # Implied no more, refused on the next request.
    settings.MCP_APP = {**settings.MCP_APP, "SCOPES": stated | {"a:read": "", "all": ""}}
    answer = client.call("guarded")
    assert answer.status == 403
    assert answer.headers["www-authenticate"] == (
        'Bearer error="insufficient_scope", scope="a:read b"'
    )
    assert "guarded" not in names(client)


def test_a_missing_permission_is_never_a_401(mcp: MCPClient) -> None:
    answer = mcp.call("staff_only")
    assert answer.status in (200, 400)
    assert "www-authenticate" not in answer.headers


def test_a_scope_does_not_open_what_its_user_may_not(
    make_client: MakeClient, make_token: MakeToken, serve: Serve, settings: Any
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "SCOPES": {"all": ""}}

    def both() -> str:
        return "in"

    serve(both, permission_classes=[IsAdminUser], scopes=["all"])
    client = make_client(MODERN, make_token(None, "all"))
    assert "both" not in names(client)
    # The user's axis comes first: whoever may not, learns of no scope.
    assert client.call("both").error["message"] == "Unknown tool: both"


def test_a_superusers_token_is_narrowed_like_any_other(
    make_client: MakeClient, make_token: MakeToken, django_user_model: Any
) -> None:
    root = django_user_model.objects.create_superuser("root")
    client = make_client(MODERN, make_token(root))
    assert "scoped" not in names(client)
    assert client.call("scoped").status == 403
    assert client.call("staff_only").text == "staff"


def test_tokens_of_one_user_are_named_and_revoked_separately(
    make_client: MakeClient, user: Any
) -> None:
    from mcp_app.auth.tokens import revoke

    first, one = issue(user=user, name="one")
    _, two = issue(user=user, name="two")
    clients = [make_client(MODERN, secret.reveal()) for secret in (one, two)]
    for client in clients:
        assert client.call("add", {"a": 1}).status == 200
    assert set(CallEvent.objects.values_list("token_name", flat=True)) == {"one", "two"}
    revoke(first)
    assert [client.call("add", {"a": 1}).status for client in clients] == [401, 200]


def test_no_credential_is_nobody(make_client: MakeClient, make_token: MakeToken) -> None:
    """However many tokens there are, none stands in for a missing one."""
    make_token()
    answer = make_client(MODERN, "").call("open_to_all")
    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert "error=" not in answer.headers["www-authenticate"]
    event = CallEvent.objects.get()
    assert (event.outcome, event.username, event.token_name) == ("unauthenticated", "", "")
    assert event.error_text == "no credentials"
    assert event.tool == "open_to_all"


def test_anonymous_callers_get_what_is_open_and_no_more(
    make_client: MakeClient, settings: Any, serve: Serve, version: str
) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "ALLOW_ANONYMOUS": True}

    def who(ctx: Context) -> str:
        assert isinstance(ctx.user, AnonymousUser)
        return f"{ctx.token} {ctx.caller.source}"

    serve(who, permission_classes=[AllowAny], read_only=True)
    client = make_client(version, "")
    assert names(client) == {"open_to_all", "who"}
    assert client.call("who").text == "None anonymous"
    assert "error" in client.call("add", {"a": 1}).response
    event = CallEvent.objects.get(tool="who")
    assert (event.source, event.user_id, event.username) == ("anonymous", None, "")


# --- other authentication classes ----------------------------------------------------------------


def test_existing_drf_authentication_classes_serve_as_they_are(
    make_client: MakeClient, user: Any, settings: Any, serve: Serve
) -> None:
    """DRF's own basic authentication: the user's rights, narrowed by no token."""
    settings.MCP_APP = {
        **settings.MCP_APP,
        "AUTHENTICATION_CLASSES": [
            "mcp_app.auth.authentication.TokenAuthentication",
            "rest_framework.authentication.BasicAuthentication",
        ],
    }
    user.set_password("pw")
    user.save()
    client = make_client(MODERN, "")

    def who(ctx: Context) -> dict[str, Any]:
        return {"user": ctx.user.username, "scopes": ctx.scopes, "header": ctx.request.META["X"]}

    good = {"authorization": "Basic YWRhOnB3"}
    assert client.call("add", {"a": 1}, headers=good).text == '{"total":2}'
    assert client.call("scoped", {"number": 2}, headers=good).text == "2"
    assert client.call("add", {"a": 1}, headers={"authorization": "Basic YWRhOm5v"}).status == 401
    event = CallEvent.objects.filter(tool="add", outcome="ok").get()
    assert (event.source, event.username) == ("BasicAuthentication", "ada")


def test_a_context_gives_the_request_and_is_no_part_of_the_schema(
    make_client: MakeClient, serve: Serve, version: str
) -> None:
    def look(ctx: Context, more: str = "") -> dict[str, Any]:
        return {
            "agent": ctx.request.META.get("HTTP_USER_AGENT"),
            "user": ctx.request.user.username,
            "auth": ctx.request.auth.name,
            "id": len(ctx.correlation_id),
            "tool": ctx.tool_name,
        }

    serve(look, read_only=True)
    client = make_client(version)
    (tool,) = (tool for tool in client.tools() if tool["name"] == "look")
    assert list(tool["inputSchema"]["properties"]) == ["more"]
    result = client.request(
        "tools/call", {"name": "look", "arguments": {}}, headers={"user-agent": "probe"}
    )
    assert result.text == '{"agent":"probe","user":"ada","auth":"laptop","id":32,"tool":"look"}'


# --- honest hints --------------------------------------------------------------------------------


def test_hints_are_those_that_were_declared(make_client: MakeClient, serve: Serve) -> None:
    def plain() -> str:
        return ""

    def hinted() -> str:
        return ""

    serve(plain)
    serve(hinted, destructive=True, idempotent=True, open_world=False, title="Hinted")
    tools = {tool["name"]: tool for tool in make_client().tools()}
    assert "annotations" not in tools["plain"]
    assert tools["add"]["annotations"] == {"readOnlyHint": True}
    assert tools["hinted"]["annotations"] == {
        "destructiveHint": True,
        "idempotentHint": True,
        "openWorldHint": False,
    }
