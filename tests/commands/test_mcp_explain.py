"""`manage.py mcp_explain`: each gate that a call meets, with pass or fail and why."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.cache.backends.locmem import LocMemCache
from django.core.management import CommandError, call_command
from django.utils import translation
from rest_framework.throttling import BaseThrottle, UserRateThrottle

from mcp_app.access.switches import switch_for, turn
from mcp_app.access.throttling import SlidingWindowThrottle, ToolThrottle, UserThrottle
from mcp_app.access.view import DeclaredView
from mcp_app.auth.tokens import issue, revoke
from mcp_app.catalog.registry import default_server
from mcp_app.hooks import deny
from mcp_app.transports.subjects import access_of, caller_of


def gates(*words: str) -> dict[str, tuple[Any, str]]:
    """Whether each gate passed, and why."""
    out = StringIO()
    try:
        call_command("mcp_explain", *words, "--json", stdout=out)
    except CommandError:
        assert out.getvalue(), "the gates are printed first"
    rows = json.loads(out.getvalue())
    return {row["name"]: (row["passed"], row["why"]) for row in rows}


def prefix(token: Any) -> str:
    return str(token.secrets.get().lookup)


def test_who_may_call_passes_each_gate(ana: Any) -> None:
    told = gates("shell_add", "--user", "ana")
    assert told == {
        "endpoint": (True, "it is served"),
        "credential": (True, "no token is looked at; the user is active"),
        "maintenance": (True, "not closed"),
        "permission IsAuthenticated": (True, "asked as GET"),
        "switches": (True, "none is set"),
        "limits of the token": (True, "the token has none"),
        "scopes": (True, "needs none"),
    }
    assert list(told)[:4] == ["endpoint", "credential", "maintenance", "permission IsAuthenticated"]


def test_each_gate_that_is_shut_says_why(ana: Any) -> None:
    ana.is_staff = True
    ana.save()
    token, _ = issue(user=ana, name="narrow", tools=["shell_add"], read_only=True)
    told = gates("shell_write", "--token", prefix(token))
    assert told["credential"] == (True, "narrow, Active")
    assert told["limits of the token"] == (False, "the token is limited to reading, shell_add")
    assert told["scopes"] == (False, "the token lacks rooms:write")
    nothing, _ = issue(user=ana, name="nothing", tools=[])
    told = gates("shell_add", "--token", prefix(nothing))
    assert told["limits of the token"] == (False, "the token is limited to no tool")
    refused = gates("shell_secret", "--user", "ana")
    assert refused["permission (IsAuthenticated & ~IsAdminUser)"] == (False, "asked as GET")


def test_a_token_is_of_the_user_who_is_named(ana: Any, django_user_model: Any) -> None:
    token, _ = issue(user=ana, name="laptop")
    assert gates("shell_add", "--user", "ana", "--token", prefix(token)) == gates(
        "shell_add", "--token", prefix(token)
    )
    django_user_model.objects.create_user("ben")
    with pytest.raises(CommandError, match="not of ben"):
        call_command("mcp_explain", "shell_add", "--user", "ben", "--token", prefix(token))
    with pytest.raises(CommandError, match="who calls"):
        call_command("mcp_explain", "shell_add")


def test_it_speaks_to_programs_in_one_language(ana: Any) -> None:
    token, _ = issue(user=ana, name="laptop")
    with translation.override("de"):
        assert gates("shell_add", "--token", prefix(token))["credential"] == (
            True,
            "laptop, Active",
        )


def test_who_may_not_sign_in_is_told_so(ana: Any, settings: Any) -> None:
    ana.is_active = False
    ana.save()
    settings.MCP_APP = {**settings.MCP_APP, "ENABLED": False}
    told = gates("shell_add", "--user", "ana")
    assert told["credential"] == (False, "the user is not active")
    assert told["endpoint"][0] is False


def test_a_closed_server_is_the_gate_before_permission(ana: Any) -> None:
    turn(switch_for("maintenance", "default", reason="Moving house."))
    told = gates("shell_add", "--user", "ana")
    assert told["maintenance"] == (False, "The server is in maintenance: Moving house.")


def test_a_dead_credential_is_a_gate_of_its_own(ana: Any) -> None:
    token, secret = issue(user=ana, name="gone")
    revoke(token)
    told = gates("shell_add", "--token", secret.reveal())
    assert told["credential"] == (False, "revoked")


def test_what_only_a_call_can_tell_is_said_to_be_so(ana: Any, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "BEFORE_CALL": [never]}

    @default_server.tool(confirm="Really {room}?")
    def shell_close(room: str) -> str:
        """Close."""
        return room

    try:
        told = gates("shell_close", "--user", "ana")
    finally:
        default_server.remove("shell_close")
    assert told["hook never"][0] is None
    assert told["confirmation"] == (None, "a person is asked: Really {room}?")


class Drf(UserRateThrottle):
    """A class of DRF's own kind."""

    rate = "2/min"
    cache = LocMemCache("explained", {})


class Odd(BaseThrottle):
    """A class that only knows by counting."""

    def allow_request(self, request: Any, view: Any) -> bool:
        raise AssertionError("it was asked")


class Away(SlidingWindowThrottle):
    """A class whose counter is away."""

    rate = "1/min"

    def get_cache_key(self, request: Any, view: Any) -> str:
        raise ConnectionError


def test_throttles_are_asked_and_count_nothing(ana: Any, settings: Any) -> None:
    rates = {"user": "2/hour"}
    settings.MCP_APP = {**settings.MCP_APP, "THROTTLE_RATES": rates}

    @default_server.tool(
        read_only=True, throttle_classes=[UserThrottle, ToolThrottle, Drf, Odd, Away]
    )
    def shell_slow() -> str:
        """Take its time."""
        return "done"

    try:
        before = [gates("shell_slow", "--user", "ana") for _ in range(3)][-1]
        request = access_of(caller_of(ana, source="command")).request_for(
            default_server.tools["shell_slow"]
        )
        view: Any = DeclaredView(default_server.tools["shell_slow"], request)
        for cls in (UserThrottle, UserThrottle, Drf, Drf):
            assert cls().allow_request(request, view)
        after = gates("shell_slow", "--user", "ana")
    finally:
        default_server.remove("shell_slow")
    assert before["throttle UserThrottle"] == (True, "0 of 2/hour are used")
    assert before["throttle ToolThrottle"] == (True, "it limits nothing here")
    assert before["throttle Drf"] == (True, "0 of 2/min are used")
    assert before["throttle Odd"] == (None, "it can only be asked by counting a call")
    assert before["throttle Away"] == (None, "it failed with ConnectionError")
    assert after["throttle UserThrottle"][0] is False
    assert after["throttle UserThrottle"][1].startswith("2 of 2/hour are used; the next fits in ")
    assert after["throttle Drf"][0] is False


def never(ctx: Any, tool: Any, arguments: Any) -> Any:
    """Refuse."""
    return deny("never")


def test_what_a_hook_hides_is_shut(ana: Any, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "LIST_TOOLS": [lambda ctx, tools: []]}
    assert gates("shell_add", "--user", "ana")["hooks LIST_TOOLS"][0] is False


def test_the_table_reads_as_a_list_and_the_exit_code_says_no(ana: Any) -> None:
    out = StringIO()
    call_command("mcp_explain", "shell_add", "--user", "ana", stdout=out)
    assert out.getvalue().splitlines()[0].split()[:3] == ["pass", "endpoint", "it"]
    with pytest.raises(CommandError) as refused:
        call_command("mcp_explain", "server_stats", "--user", "ana", stdout=StringIO())
    assert refused.value.returncode == 1
    for wrong in (("nowhere", "--user", "ana"), ("shell_add", "--token", "nobody")):
        with pytest.raises(CommandError):
            call_command("mcp_explain", *wrong)
