"""`manage.py mcp_tools`: what there is, what guards it, who may call it."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command


def run(*words: str) -> str:
    out = StringIO()
    call_command("mcp_tools", *words, stdout=out)
    return out.getvalue()


def rows(*words: str) -> dict[str, list[str]]:
    """The table's cells by tool."""
    lines = [" ".join(line.split("  ")).split() for line in run(*words).splitlines()]
    return {line[0]: line[1:] for line in lines}


def test_each_tool_has_a_line_with_its_hints_classes_and_scopes() -> None:
    table = rows()

    assert table["TOOL"] == ["HINTS", "PERMISSIONS", "SCOPES"]
    assert table["shell_add"] == ["read-only", "IsAuthenticated", "-"]
    assert table["shell_write"] == ["destructive", "IsAuthenticated", "rooms:write"]
    assert table["shell_secret"] == ["read-only", "(IsAuthenticated", "&", "~IsAdminUser)", "-"]
    assert list(table)[1:] == sorted(list(table)[1:])


def test_with_a_user_each_line_says_whether_that_user_may_call(ana: Any) -> None:
    table = rows("--user", "ana")

    assert table["TOOL"][-2:] == ["MAY", "CALL"]
    assert table["shell_add"][-1] == "yes"
    assert table["server_stats"][-1] == "no"
    ana.is_staff = True
    ana.save()
    table = rows("--user", "ana")
    assert table["server_stats"][-1] == "yes"
    assert table["shell_secret"][-1] == "no"


def test_as_json_it_says_the_same(ana: Any) -> None:
    tools = {tool["name"]: tool for tool in json.loads(run("--json", "--user", "ana"))}

    assert tools["shell_write"] == {
        "name": "shell_write",
        "title": None,
        "read_only": False,
        "destructive": True,
        "idempotent": None,
        "open_world": None,
        "permissions": ["IsAuthenticated"],
        "default_permissions": True,
        "scopes": ["rooms:write"],
        "module": "tests.commands.conftest",
        "may_call": True,
    }
    assert tools["server_stats"]["may_call"] is False


def test_an_unknown_user_is_an_error(ana: Any) -> None:
    with pytest.raises(CommandError, match="There is no user 'bob'"):
        run("--user", "bob")
