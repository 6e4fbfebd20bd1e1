"""A million call events on PostgreSQL: what the call log costs then. Run by hand, not by pytest.

`python -m tests.audit.volume [ROWS]` makes a database of its own on the server that
`EXAMPLE_DATABASE` names, and drops it at the end.
"""

import io
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

NAME = f"mcp_app_volume_{os.getpid()}"
SERVER = os.environ.get("EXAMPLE_DATABASE", "postgres://postgres@127.0.0.1:5432/postgres")

FILL = """
INSERT INTO mcp_app_callevent (
    created_at, duration_ms, user_id, username, token_id, token_name, token_lookup, session_id,
    request_id, method, tool, source, transport, decision, outcome, error_class, error_text,
    correlation_id, arguments, result_bytes, protocol_version, client_name, client_version, address
)
SELECT now() - ((%(rows)s - n) * interval '31536 seconds' / (%(rows)s / 1000.0)),
    random() * 100, 1 + n %% 50, 'user' || (1 + n %% 50), 1 + n %% 50, 'token', 'Ab3dEf6hI' ||
    lpad((n %% 50)::text, 3, '0'), '', n::text, 'tools/call', 'tool_' || (n %% 40), 'token', 'http',
    'allow', (ARRAY['ok','ok','ok','ok','ok','ok','ok','error','denied','invalid'])[1 + n %% 10],
    '', '', md5(n::text), jsonb_build_object('limit', n, 'note', repeat('x', 200)), 1000,
    '2026-07-28', 'Claude Code', '2.1', '10.0.0.1'
FROM generate_series(1, %(rows)s) AS n
"""


@contextmanager
def scratch() -> Iterator[None]:
    """A database of its own, migrated."""
    import django
    from django.core.management import call_command
    from django.db import connections

    with psycopg.connect(SERVER, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {NAME}")
    os.environ["EXAMPLE_DATABASE"] = urlunsplit(urlsplit(SERVER)._replace(path=f"/{NAME}"))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    try:
        django.setup()
        call_command("migrate", verbosity=0)
        yield
    finally:
        connections.close_all()
        with psycopg.connect(SERVER, autocommit=True) as server:
            server.execute(f"DROP DATABASE {NAME} WITH (FORCE)")


def timed(what: str, work: Callable[[], Any]) -> Any:
    """Run `work`; print its seconds and the growth of the process's peak of memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{what:<44} {seconds:8.2f} s   peak +{grown:.0f} MB", flush=True)
    return result


def fill(rows: int) -> None:
    """People, tokens and calls of a year."""
    from django.contrib.auth import get_user_model
    from django.db import connection

    from mcp_app.auth.tokens import issue

    for number in range(1, 51):
        user = get_user_model().objects.create_user(f"user{number}")
        issue(user=user, name=f"token {number}")
    with connection.cursor() as cursor:
        cursor.execute(FILL, {"rows": rows})
        cursor.execute("VACUUM ANALYZE mcp_app_callevent")


WEEK_AGO = datetime.now(UTC) - timedelta(days=7)
PAGES = {
    "changelist": {},
    "filter tool": {"tool": "tool_7"},
    "filter tool that never ran": {"tool": "nothing"},
    "filter outcome": {"outcome__exact": "denied"},
    "filter outcome without rows": {"outcome__exact": "timeout"},
    "filter user": {"user": "user7"},
    "filter user unknown": {"user": "nobody"},
    "filter token by name": {"token": "token 7"},
    "filter token by prefix": {"token": "mcp_Ab3dEf6hI007"},
    "filter past 7 days": {"created_at__gte": f"{WEEK_AGO:%Y-%m-%d %H:%M:%S%z}"},
    "filters tool, user, outcome": {"tool": "tool_7", "user": "user8", "outcome__exact": "ok"},
    "search correlation id": {"q": "c4ca4238a0b923820dcc509a6f75849b"},
    "search tool": {"q": "tool_3"},
    "search user": {"q": "user3"},
    "search nothing": {"q": "no such thing"},
    "filter result went wrong": {"result": "failed"},
    "filter client": {"client": "Claude Code"},
    "filter client that never called": {"client": "nothing"},
    "filter decision without rows": {"decision": "confirm"},
    "filter slow without rows": {"min_ms": "1000"},
    "filter one day": {"since": f"{WEEK_AGO:%Y-%m-%d}", "until": f"{WEEK_AGO:%Y-%m-%d}"},
    "last page": {"p": "200"},
}


def look(rows: int) -> None:
    """Each page of the call log, the second time it is asked for."""
    from django.contrib.auth import get_user_model
    from django.test import Client
    from django.urls import reverse

    client = Client()
    client.force_login(get_user_model().objects.create_superuser("boss"))
    url = reverse("admin:mcp_app_callevent_changelist")
    for name, query in PAGES.items():
        assert client.get(url, query).status_code == 200
        timed(name, lambda query=query: client.get(url, query))  # type: ignore[misc]
    overview = reverse("admin:mcp_app_callevent_overview")
    for period in ("day", "week", "month"):
        client.get(overview, {"for": period})
        timed(f"overview, {period}", lambda p=period: client.get(overview, {"for": p}))  # type: ignore[misc]
    story = reverse("admin:mcp_app_callevent_change", args=[rows // 2])
    client.get(story)
    timed("one call", lambda: client.get(story))
    export = reverse("admin:mcp_app_callevent_export", args=["csv"])
    for name, query in (("all", {}), ("tool", {"tool": "tool_7"}), ("user", {"user": "user7"})):
        response = client.get(export, query)
        size = timed(f"admin export csv, {name}", lambda r=response: sum(map(len, r)))  # type: ignore[misc]
        print(f"{'':<44} {size / 2**20:8.0f} MiB")


def prune_beside_calls() -> None:
    """Prune a half while calls are recorded, and say how long the slowest of them waited."""
    from django.core.management import call_command

    from mcp_app.audit.writer import EventWriter
    from tests.audit.records import call

    writer, done, waits = EventWriter(), threading.Event(), []

    def record() -> None:
        while not done.is_set():
            start = time.perf_counter()
            assert writer.submit(call(tool="beside")).result(60)
            waits.append(time.perf_counter() - start)
            time.sleep(0.005)

    thread = threading.Thread(target=record)
    thread.start()
    try:
        call_command("mcp_prune", "--older-than", "180d")
    finally:
        done.set()
        thread.join()
        writer.close()
    waits.sort()
    print(
        f"{len(waits)} calls meanwhile: median {waits[len(waits) // 2] * 1000:.1f} ms,"
        f" 99 % {waits[len(waits) * 99 // 100] * 1000:.1f} ms, slowest {waits[-1] * 1000:.0f} ms"
    )


def main(rows: int) -> None:
    """Everything, in order."""
    with scratch():
        from django.core.management import call_command

        timed(f"{rows} rows made", lambda: fill(rows))
        look(rows)
        for form in ("csv", "jsonl"):
            file = os.path.join(tempfile.gettempdir(), f"{NAME}.{form}")
            timed(
                f"mcp_export {form}",
                lambda f=form, o=file: call_command("mcp_export", format=f, output=o),
            )
            os.unlink(file)
        timed("mcp_seal", lambda: call_command("mcp_seal"))
        timed("mcp_seal, nothing new", lambda: call_command("mcp_seal"))
        timed("mcp_seal --verify", lambda: call_command("mcp_seal", verify=True))
        timed(
            "mcp_prune --dry-run",
            lambda: call_command(
                "mcp_prune", "--older-than", "180d", "--dry-run", stdout=io.StringIO()
            ),
        )
        timed("mcp_prune of a half, sealed", prune_beside_calls)
        timed("mcp_seal --verify after it", lambda: call_command("mcp_seal", verify=True))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
