"""A small program with a writer, run in a process of its own by `test_processes`.

It is given the database as JSON, and what to do.
"""

import atexit
import json
import os
import sys
import time

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="x",
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "mcp_app"],
    DATABASES={"default": json.loads(sys.argv[1])},
    USE_TZ=True,
)
django.setup()

from mcp_app.audit.writer import EventWriter  # noqa: E402 - needs the settings
from mcp_app.dispatch.interfaces import CallRecord, Outcome  # noqa: E402

writer = EventWriter()


def record(tool: str) -> CallRecord:
    """A call that ended well."""
    return CallRecord(started_at=time.time(), method="tools/call", tool=tool, outcome=Outcome.OK)


def fork() -> None:
    """Write before, in and after a forked child; the child's end must not harm the parent."""
    assert writer.submit(record("before")).result(20)
    child = os.fork()
    if not child:
        stored = writer.submit(record("child")).result(20)
        writer.close(20)
        sys.exit(0 if stored else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    assert writer.submit(record("after")).result(20)


def leave() -> None:
    """End while events wait."""
    for _ in range(300):
        writer.submit(record("waiting"))


def late() -> None:
    """Submit when the interpreter is already ending."""
    atexit.register(lambda: writer.submit(record("late")).result(20))


{"fork": fork, "leave": leave, "late": late}[sys.argv[2]]()
