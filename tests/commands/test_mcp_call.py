"""`manage.py mcp_call`: the endpoint's gates and its audit, from a shell."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from mcp_app.models import CallEvent


def run(*words: str) -> str:
    out = StringIO()
    call_command("mcp_call", *words, stdout=out)
    return out.getvalue()


def test_a_result_is_printed_as_json(ana: Any) -> None:
    assert run("shell_add", "--user", "ana", "--args", '{"a": 2}') == '{\n  "result": 3\n}\n'


def test_a_text_is_printed_as_it_is(ana: Any) -> None:
    assert "told" in run("shell_secret", "--user", "ana")


def test_the_call_stands_in_the_log(ana: Any) -> None:
    run("shell_add", "--user", "ana", "--args", '{"a": 2}')

    event = CallEvent.objects.get()
    assert (event.user, event.username, event.tool) == (ana, "ana", "shell_add")
    assert (event.source, event.transport, event.address) == ("command", "command", "127.0.0.1")
    assert (event.outcome, event.arguments) == ("ok", {"a": 2})
    assert event.client_name == "manage.py mcp_call"


def test_a_tool_s_error_ends_with_exit_code_1_and_one_event(ana: Any) -> None:
    with pytest.raises(CommandError, match="cannot use hunter2") as failure:
        run("shell_fail", "--user", "ana", "--args", '{"password": "hunter2"}')

    assert failure.value.returncode == 1
    event = CallEvent.objects.get()
    assert (event.outcome, event.error_text) == ("error", "cannot use [redacted]")
    assert event.arguments == {"password": "[redacted]"}


@pytest.mark.parametrize(
    ("words", "said", "outcome"),
    [
        (["shell_add", "--args", "{}"], "a: ", "invalid"),
        (["shell_gone"], "Unknown tool: shell_gone", "unknown"),
        (["server_stats"], "Unknown tool: server_stats", "denied"),
        (["shell_write", "--scope", "rooms:read"], "rooms:write", "denied"),
    ],
)
def test_what_is_refused_is_said_and_recorded(
    ana: Any, settings: Any, words: list[str], said: str, outcome: str
) -> None:
    settings.MCP_APP = {"SCOPES": {"rooms:read": "", "rooms:write": ""}}

    with pytest.raises(CommandError, match=said):
        run(*words, "--user", "ana")

    assert CallEvent.objects.get().outcome == outcome


def test_scopes_narrow_only_when_they_are_given(ana: Any) -> None:
    run("shell_write", "--user", "ana")
    run("shell_write", "--user", "ana", "--scope", "rooms:write")

    assert list(CallEvent.objects.values_list("outcome", flat=True)) == ["ok", "ok"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["shell_add"], "--user"),
        (["shell_add", "--user", "bob"], "There is no user 'bob'"),
        (["shell_add", "--user", "ana", "--args", "{"], "not JSON"),
        (["shell_add", "--user", "ana", "--args", "[]"], "must be a JSON object"),
        (["shell_add", "--user", "ana", "--scope", "nothing"], "Not a declared scope: nothing"),
    ],
)
def test_a_wrong_command_line_calls_nothing(ana: Any, words: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        run(*words)

    assert not CallEvent.objects.exists()


def test_a_user_who_may_not_sign_in_calls_nothing(ana: Any) -> None:
    ana.is_active = False
    ana.save()

    with pytest.raises(CommandError, match="not active"):
        run("shell_add", "--user", "ana", "--args", '{"a": 2}')
