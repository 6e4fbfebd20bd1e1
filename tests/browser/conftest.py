"""One live example for all that is looked at, with calls in its log."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import live
from tests.browser.site import Site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The example behind daphne, on SQLite."""
    state, port = tmp_path_factory.mktemp("state"), live.free_port()
    shots = Path(os.environ.get("BROWSER_SHOTS") or tmp_path_factory.mktemp("shots"))
    shots.mkdir(parents=True, exist_ok=True)
    environment = live.environment(state, "tests.browser.settings", EXAMPLE_DATABASE="")
    live.manage(environment, "prepare_example", "--no-calls")
    password = json.loads((state / "credentials.json").read_text())["password"]
    with live.running(live.command("daphne", port), port, environment, state / "server.log"):
        yield Site(f"http://{live.HOST}:{port}", password, shots, environment)
