"""Knows how to run a server of ours as a process on a free port, and how to stop it again.

It ends only what it started, by its process id.
"""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
HOST: Final = "127.0.0.1"
POSTGRESQL: Final[Mapping[str, Any]] = {"host": "127.0.0.1", "port": 5432, "user": "postgres"}
REDIS: Final = "redis://127.0.0.1:6379/0"
_START: Final = 30.0  # seconds until a server must listen
_KEPT: Final = 60  # seconds that uvicorn keeps a connection; a command between may take a while
_STOP: Final = 10.0  # seconds until one that was asked to stop is killed


def free_port() -> int:
    """A port that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def command(server: str, port: int, module: str = "project", processes: int = 1) -> list[str]:
    """The command line of one server: "daphne", "uvicorn" or "gunicorn" (the view under WSGI)."""
    python = sys.executable
    asgi, wsgi = f"{module}.asgi:application", f"{module}.wsgi:application"
    return {
        "daphne": [python, "-m", "daphne", "-b", HOST, "-p", str(port), "-v", "0", asgi],
        "uvicorn": [
            *[python, "-m", "uvicorn", "--host", HOST, "--port", str(port)],
            *["--workers", str(processes), "--log-level", "warning", "--lifespan", "off"],
            *["--timeout-keep-alive", str(_KEPT), asgi],
        ],
        "gunicorn": [
            *[python, "-m", "gunicorn", "--bind", f"{HOST}:{port}", "--log-level", "warning"],
            *["--workers", str(processes), "--threads", "4", wsgi],
        ],
    }[server]


def manage(environment: Mapping[str, str], *arguments: str) -> str:
    """Run one `manage.py` command and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "django", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


@contextlib.contextmanager
def running(
    arguments: Sequence[str], port: int, environment: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """The server's process, once it listens; it is stopped when the block ends.

    Raises:
        RuntimeError: it ended, or did not listen in time; the message has its log.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            arguments,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            _await_listening(process, port, log)
            yield process
        finally:
            _stop(process)


def _await_listening(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} does not listen on {port}:\n{log.read_text()}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def environment(state: Path, settings: str, **more: str) -> dict[str, str]:
    """An environment for servers and commands: state of their own, warnings as the tests have."""
    return (
        os.environ
        | {
            "DJANGO_SETTINGS_MODULE": settings,
            "EXAMPLE_STATE": str(state),
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
        }
        | more
    )


@contextlib.contextmanager
def scratch_database(kind: str) -> Iterator[str]:
    """The value of EXAMPLE_DATABASE: a PostgreSQL database that is dropped again, or none."""
    if kind == "sqlite":
        yield ""
        return
    # Here, since the tests of the layers without Django run without a driver too.
    import psycopg

    name = f"scratch_{os.getpid()}_{secrets.token_hex(4)}"
    with psycopg.connect(**POSTGRESQL, dbname="postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
        try:
            yield "postgres://{user}@{host}:{port}/{name}".format(**POSTGRESQL, name=name)
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())
