"""The product's databases for one run: a SQLite file a server, and one PostgreSQL database.

`BENCH_POSTGRESQL` is the address of a database in which another may be created.
"""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from bench import processes

ADDRESS: Final = os.environ.get("BENCH_POSTGRESQL", "postgres://postgres@127.0.0.1:5432/postgres")
SETTINGS: Final = "bench.servers.product.settings"


class Databases:
    """Made as they are asked for, and dropped at the end of the run."""

    def __init__(self, folder: Path, closing: contextlib.ExitStack) -> None:
        self._folder = folder
        self._closing = closing
        self._prepared: dict[str, tuple[dict[str, str], str]] = {}
        self._copies = 0

    def of(self, kind: str) -> tuple[dict[str, str], str]:
        """An environment for a server of ours, "sqlite" or "postgresql", and its token."""
        if kind not in self._prepared:
            self._prepared[kind] = self._prepare(kind)
        environment, token = self._prepared[kind]
        return (self._copy() if kind == "sqlite" else environment), token

    def processes(self) -> list[int]:
        """The processes of PostgreSQL that serve this run's database."""
        if "postgresql" not in self._prepared:
            return []
        return _backends(self._prepared["postgresql"][0]["BENCH_DATABASE"])

    def _prepare(self, kind: str) -> tuple[dict[str, str], str]:
        state = self._folder / kind
        state.mkdir()
        environment = _environment(state, self._address(kind))
        command = [sys.executable, "-m", "bench.servers.product.prepare"]
        return environment, processes.printed(command, environment)

    def _address(self, kind: str) -> str:
        return "" if kind == "sqlite" else self._closing.enter_context(scratch())

    def _copy(self) -> dict[str, str]:
        self._copies += 1
        state = self._folder / f"sqlite-{self._copies}"
        shutil.copytree(self._folder / "sqlite", state)
        return _environment(state, "")


@contextlib.contextmanager
def scratch() -> Iterator[str]:
    """The address of a PostgreSQL database that is dropped again."""
    import psycopg

    name = f"bench_{os.getpid()}"
    with psycopg.connect(ADDRESS, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
        try:
            yield urlunsplit(urlsplit(ADDRESS)._replace(path=f"/{name}"))
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def _backends(address: str) -> list[int]:
    import psycopg

    query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    with psycopg.connect(address) as connection:
        own = connection.info.backend_pid
        return [pid for (pid,) in connection.execute(query) if pid != own]


def _environment(state: Path, address: str) -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": SETTINGS,
        "BENCH_STATE": str(state),
        "BENCH_DATABASE": address,
    }
