"""`manage.py mcp_explain`: each gate that a call meets, with pass or fail and why."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from mcp_app.access.throttling import UserThrottle
from mcp_app.auth.tokens import issue, revoke
from mcp_app.catalog.registry import default_server
from mcp_app.hooks import deny


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
    assert gates("shell_add", "--user", "ana") == {
        "permission IsAuthenticated": (True, "asked as GET"),
        "switches": (True, "none is set"),
        "limits of the token": (True, "the token has none"),
        "scopes": (True, "needs none"),
    }


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


def test_a_dead_credential_is_the_first_gate(ana: Any) -> None:
    token, secret = issue(user=ana, name="gone")
    revoke(token)
    told = gates("shell_add", "--token", secret.reveal())
    assert next(iter(told.items())) == ("credential", (False, "revoked"))


def test_what_only_a_call_can_tell_is_said_to_be_so(ana: Any, settings: Any) -> None:
    settings.MCP_APP = {
        **settings.MCP_APP,
        "THROTTLE_RATES": {"user": "1/hour"},
        "BEFORE_CALL": [never],
    }

    @default_server.tool(throttle_classes=[UserThrottle], confirm="Really {room}?")
    def shell_close(room: str) -> str:
        """Close."""
        return room

    try:
        for _ in range(3):  # nothing is counted
            told = gates("shell_close", "--user", "ana")
    finally:
        default_server.remove("shell_close")
    assert told["throttle UserThrottle"] == (None, "")
    assert told["hook never"] == (None, "asked with the arguments")
    assert told["confirmation"] == (None, "a person is asked: Really {room}?")


def never(ctx: Any, tool: Any, arguments: Any) -> Any:
    """Refuse."""
    return deny("never")


def test_what_a_hook_hides_is_shut(ana: Any, settings: Any) -> None:
    settings.MCP_APP = {**settings.MCP_APP, "LIST_TOOLS": [lambda ctx, tools: []]}
    assert gates("shell_add", "--user", "ana")["hooks LIST_TOOLS"][0] is False


def test_the_table_reads_as_a_list_and_the_exit_code_says_no(ana: Any) -> None:
    out = StringIO()
    call_command("mcp_explain", "shell_add", "--user", "ana", stdout=out)
    assert out.getvalue().splitlines()[0].split()[:3] == ["pass", "permission", "IsAuthenticated"]
    with pytest.raises(CommandError) as refused:
        call_command("mcp_explain", "server_stats", "--user", "ana", stdout=StringIO())
    assert refused.value.returncode == 1
    for wrong in (("nowhere", "--user", "ana"), ("shell_add", "--token", "nobody")):
        with pytest.raises(CommandError):
            call_command("mcp_explain", *wrong)
