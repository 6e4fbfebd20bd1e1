"""`manage.py mcp_switch`, and what `mcp_explain` and `mcp_tools` make of it."""

import re
from io import StringIO
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command

from mcp_app.models import Switch


def run(*words: str) -> str:
    out = StringIO()
    call_command("mcp_switch", *words, stdout=out)
    return out.getvalue()


def test_off_shows_in_the_list_and_in_explain_and_on_lifts(ana: Any) -> None:
    run("off", "shell_add", "--reason", "It adds wrongly.", "--until", "2h", "--by", "ana")
    assert "tool shell_add of default" in run("list")
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("mcp_explain", "shell_add", "--user", "ana", stdout=out)
    assert re.search(r"^FAIL +switches ", out.getvalue(), re.MULTILINE)
    assert "It adds wrongly." in out.getvalue()
    run("on", "shell_add", "--by", "ana")
    assert run("list") == ""
    assert ", lifted by ana: It adds wrongly." in run("list", "--all")
    assert Switch.objects.get().lifted_by == ana
    assert LogEntry.objects.filter(user=ana).count() == 2
    call_command("mcp_explain", "shell_add", "--user", "ana", stdout=StringIO())


def test_a_server_is_closed_and_opened(ana: Any) -> None:
    for act in ("read-only", "maintenance"):
        run(act, "--reason", "Moving house.")
        assert Switch.objects.in_force().get().server == "default"
        run(act, "--end")
        assert not Switch.objects.in_force().exists()


@pytest.mark.parametrize(
    "words",
    [
        ("off", "no_such_tool", "--reason", "x"),
        ("off", "shell_add"),
        ("off", "shell_add", "--reason", "x", "--until", "2001-01-01T00:00Z"),
        ("off", "shell_add", "--reason", "x", "--until", "soon"),
        ("off", "shell_add", "--reason", "x", "--server", "nowhere"),
        ("on", "shell_add"),
        ("off", "shell_add", "--reason", "x", "--by", "nobody"),
    ],
)
def test_what_makes_no_sense_is_refused(ana: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        run(*words)
    assert not Switch.objects.exists()
