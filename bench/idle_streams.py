"""What an idle stream costs: memory, CPU, threads and database connections of one process.

    python -m bench.idle_streams --streams 2000 --seconds 30

Each kind of stream is opened against a fresh uvicorn process on PostgreSQL, through the ASGI door
and through Django's handler, beside a bare ASGI stream that only sends the same comments. Memory
is what the process grew by from before the first of them, after a garbage collection, by stream.
"""

import argparse
import asyncio
import gc
import json
import os
import resource
import secrets
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests import live

KINDS: Final = ("bare", "listen", "get", "listen-view", "get-view")
MODERN: Final = "2026-07-28"
LEGACY: Final = "2025-11-25"
_AT_ONCE: Final = 50
"""Streams being opened at a time."""
_WARM: Final = 100
"""Streams that come and go first, so that what is made once is not counted."""
_PATIENCE: Final = 60.0
"""Seconds."""

# --- the server ------------------------------------------------------------------------------


def serve(port: int, via: str, trace: bool) -> None:
    """The example with no bound on streams, beside two addresses of the measurement's own."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
    from django.conf import settings

    settings.MCP_APP = {**settings.MCP_APP, "STREAM_LIMIT": 10**6, "SESSION_LIMIT": 10**6}
    import uvicorn

    from project.asgi import application, django_application

    product: Any = application if via == "door" else django_application
    if trace:
        import tracemalloc

        tracemalloc.start(12)

    async def measured(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/measure":
            await _reply(send, _measure())
        elif scope["path"] == "/trace":
            await _reply(send, _trace())
        elif scope["path"] == "/bare":
            await _bare(receive, send)
        else:
            await product(scope, receive, send)

    uvicorn.run(measured, port=port, log_level="warning", lifespan="off", backlog=4096)


async def _reply(send: Any, value: Any) -> None:
    body = json.dumps(value).encode()
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _bare(receive: Any, send: Any) -> None:
    """The least that keeps a stream alive: a task that sleeps and sends."""
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    while True:
        await send({"type": "http.response.body", "body": b":\n\n", "more_body": True})
        try:
            async with asyncio.timeout(15):
                while (await receive())["type"] != "http.disconnect":
                    pass
                return
        except TimeoutError:
            pass


def _measure() -> dict[str, float]:
    gc.collect()
    times = os.times()
    fields = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in fields}
    return {
        "rss": sizes["Rss"],
        "pss": sizes["Pss"],
        "cpu": times.user + times.system,
        "threads": len(os.listdir("/proc/self/task")),
        "tasks": len(asyncio.all_tasks()),
    }


def _trace() -> list[str]:
    import tracemalloc

    gc.collect()
    snapshot = tracemalloc.take_snapshot().statistics("lineno")[:60]
    return [f"{s.size / 1024:9.0f} KiB {s.count:8d} {s.traceback[0]}" for s in snapshot]


# --- the client ------------------------------------------------------------------------------


class Server:
    """A running server, asked over HTTP with no more than the standard library."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token

    async def open(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        """Send a request; the reader once the answer's head is read, the writer and the head."""
        reader, writer = await asyncio.open_connection(live.HOST, self._port, limit=2**14)
        told = {
            "Host": f"{live.HOST}:{self._port}",
            "Authorization": f"Bearer {self._token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "User-Agent": "idle-streams/1",
            "Content-Length": str(len(body)),
            **headers,
        }
        lines = [f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in told.items()), "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        return reader, writer, head

    async def ask(self, path: str) -> Any:
        """A small JSON answer, on a connection of its own."""
        reader, writer, _ = await self.open("GET", path, {"Connection": "close"}, b"")
        body = await reader.read()
        writer.close()
        return json.loads(body)

    async def stream(self, kind: str, number: int) -> Any:
        """Open one stream of a kind, up to its first event."""
        if kind == "bare":
            reader, writer, _ = await self.open("GET", "/bare", {}, b"")
        elif kind == "listen":
            reader, writer, _ = await self._listen(number)
        else:
            reader, writer, _ = await self._get()
        await asyncio.wait_for(reader.readuntil(b"\n\n"), _PATIENCE)
        return reader, writer

    async def _listen(self, number: int) -> Any:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "idle-streams", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        wanted = {"toolsListChanged": True, "promptsListChanged": True}
        params = {"notifications": wanted, "_meta": meta}
        method = "subscriptions/listen"
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        return await self.open("POST", "/mcp", headers, json.dumps(message).encode())

    async def _get(self) -> Any:
        info = {"name": "idle-streams", "version": "1"}
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info}
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        body = json.dumps(message).encode()
        _, writer, head = await self.open("POST", "/mcp", {"Connection": "close"}, body)
        writer.close()
        pairs = (line.partition(": ") for line in head.splitlines())
        (session,) = (value for name, _, value in pairs if name.lower() == "mcp-session-id")
        headers = {"MCP-Protocol-Version": LEGACY, "Mcp-Session-Id": session}
        return await self.open("GET", "/mcp", headers, b"")


async def opened(server: Server, kind: str, count: int) -> list[Any]:
    """So many streams, each with its first event read."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> Any:
        async with gate:
            return await server.stream(kind, number)

    return await asyncio.gather(*(one(number) for number in range(count)))


async def close(streams: list[Any]) -> None:
    """Hang up on all of them."""
    for _, writer in streams:
        writer.close()
    await asyncio.sleep(1)


async def measure(
    server: Server, kind: str, options: argparse.Namespace, connections: Callable[[], str]
) -> str:
    """One line: what `options.streams` of a kind cost."""
    await close(await opened(server, kind, _WARM))
    before = await server.ask("/measure")
    started = time.monotonic()
    streams = await opened(server, kind, options.streams)
    opening = time.monotonic() - started
    # Connections that are too old go with the next call; an idle recorder ends after 20 seconds.
    await asyncio.sleep(2)
    idle = await server.ask("/measure")
    since = time.monotonic()
    readers = [asyncio.ensure_future(_read(reader)) for reader, _ in streams]
    await asyncio.sleep(options.seconds)
    after = await server.ask("/measure")
    lasted = time.monotonic() - since
    if options.trace:
        print(*await server.ask("/trace"), sep="\n")
    held = connections()
    alive = sum(not reader.done() for reader in readers)
    told = sum(reader.count for reader in map(_Count.of, readers))
    for reader in readers:
        reader.cancel()
    await close(streams)
    count = options.streams
    return (
        f"{kind}: {(after['pss'] - before['pss']) / count:.1f} KiB PSS,"
        f" {(after['rss'] - before['rss']) / count:.1f} KiB RSS a stream;"
        f" idle CPU {100 * (after['cpu'] - idle['cpu']) / lasted:.2f} %"
        f" over {lasted:.0f} s ({told} keep-alives); {alive}/{count} open;"
        f" threads {before['threads']:.0f} -> {after['threads']:.0f};"
        f" tasks a stream {(after['tasks'] - before['tasks']) / count:.2f};"
        f" connections {held}; opened in {opening:.1f} s"
    )


class _Count:
    """How often a reader was given something."""

    _all: Final[dict[Any, "_Count"]] = {}

    def __init__(self) -> None:
        self.count = 0

    @classmethod
    def of(cls, task: Any) -> "_Count":
        return cls._all.setdefault(task, cls())


async def _read(reader: Any) -> None:
    counter = _Count.of(asyncio.current_task())
    while await reader.read(4096):
        counter.count += 1


# --- the whole -------------------------------------------------------------------------------


def main() -> int:
    """Measure each kind that was asked for, in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--trace", action="store_true", help="print where memory was allocated")
    parser.add_argument("--serve", nargs=2, metavar=("PORT", "VIA"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(int(options.serve[0]), options.serve[1], options.trace)
        return 0
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    for kind in options.kind or KINDS:
        print(_measured(kind, options), flush=True)
    return 0


def _measured(kind: str, options: argparse.Namespace) -> str:
    kind, _, via = kind.partition("-")
    with (
        tempfile.TemporaryDirectory(prefix="idle-streams-") as name,
        live.scratch_database("postgresql") as database,
    ):
        state = Path(name)
        environment = live.environment(state, "project.settings", EXAMPLE_DATABASE=database)
        live.manage(environment, "migrate", "--verbosity", "0")
        live.manage(
            environment | {"DJANGO_SUPERUSER_PASSWORD": secrets.token_urlsafe()},
            *["createsuperuser", "--no-input", "--username=idle", "--email=idle@example.org"],
        )
        token = live.manage(environment, "mcp_token", "create", "idle", "--name=idle", "--plain")
        port = live.free_port()
        module = [sys.executable, "-m", "bench.idle_streams", "--serve", str(port), via or "door"]
        command = module + ["--trace"] * options.trace
        log = state / "server.log"
        with live.running(command, port, environment, log):
            server = Server(port, token.strip())
            held = lambda: _connections(database)  # noqa: E731
            line = asyncio.run(measure(server, kind, options, held))
        told = log.read_text()
    return f"{line} via {via or 'door'}" + (f"\n{told[-2000:]}" if told else "")


def _connections(database: str) -> str:
    """The server's database connections by state."""
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT coalesce(state, '-'), count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() GROUP BY 1"
        ).fetchall()
    return ", ".join(f"{count} {state}" for state, count in rows) or "0"


if __name__ == "__main__":
    sys.exit(main())
