"""A server that is asked to stop tells what it had kept to itself."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import live
from tests.servers import sites
from tests.servers.lines import LiveClient

pytestmark = pytest.mark.live

LIMIT, SENT = 2, 7
MODERN = "2026-07-28"


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A product of its own, that keeps few rows of strangers, for longer than a test takes."""
    with live.scratch_database("sqlite") as database:
        few = {"UNAUTHENTICATED_ROWS": f"{LIMIT}/hour"}
        environment = sites.environment_of(
            tmp_path, database=database, SITE_MCP_APP=json.dumps(few)
        )
        sites.prepare(environment)
        yield environment


@pytest.mark.parametrize("server", ["uvicorn", "daphne", "gunicorn"])
def test_the_number_of_strangers_is_told_at_a_stop(
    environment: dict[str, str], tmp_path: Path, server: str
) -> None:
    with contextlib.ExitStack() as stack:
        (served,) = stack.enter_context(sites.serving(environment, tmp_path, [server]))
        nobody = LiveClient("mcp_guess", version=MODERN).at(served.port)
        assert {nobody.call("read").status for _ in range(SENT)} == {401}
    told = live.manage(environment, "mcp_export", "--format", "jsonl")
    rows = [json.loads(line) for line in told.splitlines()]
    assert len(rows) == LIMIT + 1
    assert rows[-1]["error_text"].startswith(f"{SENT - LIMIT} more")
