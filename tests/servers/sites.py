"""The small product of `tests.servers.site`: its settings, its first user, its processes."""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests import live

MODULE: Final = "tests.servers.site"
PASSWORD: Final = "a password of these tests alone"
"""That of `root`, its superuser."""


def environment_of(folder: Path, *, database: str = "", **more: str) -> dict[str, str]:
    """What its processes and commands run in: state in `folder`, `more` as its settings say."""
    return live.environment(
        folder,
        f"{MODULE}.settings",
        DJANGO_SUPERUSER_PASSWORD=PASSWORD,
        SECRET_KEY="of these tests alone",
        EXAMPLE_DATABASE=database,
        **more,
    )


def shared(folder: Path, *, database: str, prefix: str, **more: str) -> dict[str, str]:
    """As `environment_of`, for processes that are one product: Redis joins those of one prefix."""
    environment = environment_of(folder, database=database, SITE_PREFIX=prefix, **more)
    environment.setdefault("REDIS_URL", live.REDIS)
    return environment


def prepare(environment: Mapping[str, str], *databases: str) -> str:
    """Make its tables and its superuser; that user's token."""
    for alias in databases or ("default",):
        live.manage(environment, "migrate", "-v", "0", "--database", alias)
    person = ("createsuperuser", "--no-input", "--username=root", "--email=r@e.org")
    live.manage(environment, *person)
    return live.manage(environment, "mcp_token", "create", "root", "--name=t", "--plain").strip()


class Served:
    """A process of it.

    Attributes:
        log: what it has said.
    """

    def __init__(self, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
        self.port, self.process, self.log = port, process, log


@contextlib.contextmanager
def serving(
    environment: Mapping[str, str], folder: Path, servers: Sequence[str]
) -> Iterator[list[Served]]:
    """One process a server that is named, each at a port of its own and with a log in `folder`."""
    with contextlib.ExitStack() as stack:
        processes = []
        for number, server in enumerate(servers):
            port, log = live.free_port(), folder / f"{number}-{server}.log"
            command = live.command(server, port, MODULE)
            process = stack.enter_context(live.running(command, port, environment, log))
            processes.append(Served(port, process, log))
        yield processes
