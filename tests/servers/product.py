"""Server processes on PostgreSQL and Redis that are one product; each has a port of its own."""

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests import live
from tests.servers import sites
from tests.servers.lines import LiveClient

PROCESSES: Final = 4
LEGACY, MODERN = "2025-11-25", "2026-07-28"
_ABLE: Final = {"elicitation": {}}


@dataclass(frozen=True)
class Product:
    """The processes' ports, and somebody who hires and dismisses people at any of them."""

    ports: list[int]
    environment: dict[str, str]
    boss: LiveClient

    def hire(self) -> tuple[str, str]:
        """A new member of staff: their name and their token."""
        name = f"u-{secrets.token_hex(4)}"
        return name, self.do("hire", username=name)

    def token(self) -> str:
        """A token of somebody new."""
        return self.hire()[1]

    def do(self, tool: str, at: int = 0, **arguments: Any) -> str:
        """Have the boss call a tool at one of the processes; what it says."""
        return self.boss.at(self.ports[at]).call(tool, arguments).text

    def client(self, version: str, token: str, at: int = 0, **options: Any) -> LiveClient:
        """A client at one of the processes, its handshake done."""
        client = LiveClient(token, version=version, capabilities=_ABLE, **options)
        client.at(self.ports[at])
        if version != MODERN:
            client.initialize()
        return client


@contextlib.contextmanager
def running_product(folder: Path) -> Iterator[Product]:
    """The processes, for the length of the block."""
    with live.scratch_database("postgresql") as database:
        prefix = f"site-{secrets.token_hex(4)}"
        environment = sites.shared(folder, database=database, prefix=prefix)
        token = sites.prepare(environment)
        with sites.serving(environment, folder, ["uvicorn"] * PROCESSES) as served:
            ports = [one.port for one in served]
            yield Product(ports, environment, LiveClient(token, version=MODERN))
