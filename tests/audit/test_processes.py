"""The writer when its process forks and when it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from mcp_app.models import CallEvent

PROGRAM = Path(__file__).with_name("process.py")
ROOT = PROGRAM.parents[2]


def run(what: str) -> list[str]:
    """What the program wrote, after it ended well and said nothing."""
    database = {key: value for key, value in connection.settings_dict.items() if key != "TEST"}
    program = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM), json.dumps(database, default=str), what],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (program.returncode, program.stderr) == (0, "")
    return list(CallEvent.objects.order_by("pk").values_list("tool", flat=True))


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_writes_and_leaves_its_parent_s_connection_alone() -> None:
    assert run("fork") == ["before", "child", "after"]


@pytest.mark.django_db(transaction=True)
def test_a_process_that_ends_stores_what_waits_first() -> None:
    assert run("leave") == ["waiting"] * 300


@pytest.mark.django_db(transaction=True)
def test_an_event_of_a_process_that_is_ending_is_stored() -> None:
    assert run("late") == ["late"]
