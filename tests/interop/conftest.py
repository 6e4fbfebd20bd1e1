"""The example as live servers: three servers on two databases, each with its data and token."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import live
from tests.interop.administrator import Administrator
from tests.interop.product import Product

SERVERS = ("daphne", "uvicorn", "gunicorn")
DATABASES = ("sqlite", "postgresql")


@pytest.fixture(scope="session", params=DATABASES)
def prepared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """The environment of an example whose database has its data, users and token."""
    state = tmp_path_factory.mktemp(request.param)
    with live.scratch_database(request.param) as address:
        environment = live.environment(state, "project.settings", EXAMPLE_DATABASE=address)
        live.manage(environment, "prepare_example", "--no-calls")
        yield environment


@pytest.fixture(scope="session", params=SERVERS)
def product(
    request: pytest.FixtureRequest,
    prepared: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Product]:
    """The example behind one server, and a token that an administrator issued in its admin."""
    port = live.free_port()
    log = tmp_path_factory.mktemp(request.param) / "server.log"
    kept = json.loads((Path(prepared["EXAMPLE_STATE"]) / "credentials.json").read_text())
    origin = f"http://{live.HOST}:{port}"
    with (
        live.running(live.command(request.param, port), port, prepared, log),
        Administrator(origin, kept["password"]) as administrator,
    ):
        token = administrator.issue_token("sam", f"Clients through {request.param}")
        yield Product(origin, token, administrator)
    print(log.read_text())
