"""Clients that we did not write use every feature: on one process, and on two behind one port."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import live
from tests.interop.clients import Call, inspect
from tests.interop.walks import WALKS, Walk

pytestmark = pytest.mark.interop

STEPS = [[1, 3, "step 1"], [2, 3, "step 2"], [3, 3, "step 3"]]
PATIENCE = 10.0
"""Seconds until the last cancelled call must have stopped."""


@dataclass(frozen=True)
class Talkative:
    """A running product that asks, reports and changes, and a token of its superuser."""

    url: str
    token: str
    environment: dict[str, str]

    def cancelled(self) -> set[str]:
        """The clients whose call of `wait` ended early."""
        look = (
            "from mcp_app.models import CallEvent; import json;"
            "calls = CallEvent.objects.filter(outcome='cancelled', tool='wait');"
            "print(json.dumps(list(calls.values_list('client_name', flat=True))))"
        )
        shell = ("shell", "--no-imports", "-c", look)
        return set(json.loads(live.manage(self.environment, *shell)))


@pytest.fixture(scope="module", params=["daphne", "uvicorn"])
def talkative(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Talkative]:
    """One process on SQLite alone; two on PostgreSQL and Redis."""
    folder = tmp_path_factory.mktemp(request.param)
    processes = 2 if request.param == "uvicorn" else 1
    with live.scratch_database("postgresql" if processes > 1 else "sqlite") as database:
        environment = live.environment(
            folder,
            "tests.servers.site.settings",
            DJANGO_SUPERUSER_PASSWORD="unused",
            SECRET_KEY="of this test alone",
            EXAMPLE_DATABASE=database,
        )
        if processes > 1:
            environment["REDIS_URL"] = live.REDIS
            environment["SITE_PREFIX"] = f"talk-{folder.name}"
        live.manage(environment, "migrate", "-v", "0")
        people = ("createsuperuser", "--no-input", "--username=root", "--email=r@e.org")
        live.manage(environment, *people)
        issued = live.manage(environment, "mcp_token", "create", "root", "--name=talk", "--plain")
        port = live.free_port()
        command = live.command(request.param, port, "tests.servers.site", processes)
        with live.running(command, port, environment, folder / "server.log"):
            yield Talkative(f"http://{live.HOST}:{port}/mcp", issued.strip(), environment)


@pytest.mark.parametrize("walk", WALKS, ids=str)
def test_a_client_uses_every_feature(talkative: Talkative, walk: Walk) -> None:
    seen = walk.run(talkative.url, talkative.token)

    assert seen.pop("version") == walk.version
    assert {"steps", "greet", "wait", "govern"} <= set(seen.pop("tools"))
    assert seen == {
        "structured": {"total": 5},
        "failed": [True, "There is nothing left."],
        "text": "three steps",
        "progress": STEPS,
        "logs": ["began"],
        "accepted": "Hello Ada",
        "declined": "They decline",
        "sampled": "The model says fine",
        "roots": "file:///work",
        "read": "a",
        "templates": ["notes://{name}"],
        "prompts": ["cheer"],
        "prompt": "Be glad!",
        "completed": ["glad", "grim"],
        "heard": ["notes://a", "tools"],
        "cancelled": True,
    }


def test_each_call_that_a_client_gave_up_was_stopped(talkative: Talkative) -> None:
    walked = {str(walk) for walk in WALKS}
    deadline = time.monotonic() + PATIENCE
    while walked - talkative.cancelled():
        assert time.monotonic() < deadline


@pytest.mark.parametrize("mode", ["legacy", "auto", "modern"])
def test_the_inspector_reads_and_prompts(talkative: Talkative, mode: str, tmp_path: Path) -> None:
    # Its command line runs one method at a time, and cannot be asked, cancel or subscribe.
    call = Call(talkative.url, talkative.token, "", {}, tmp_path)
    read = inspect(call, mode, "resources/read", "--uri", "notes://a")
    assert read["contents"][0]["text"] == "a"
    (template,) = inspect(call, mode, "resources/templates/list")["resourceTemplates"]
    assert template["uriTemplate"] == "notes://{name}"
    options = ("--prompt-name", "cheer", "--prompt-args", "mood=glad")
    got = inspect(call, mode, "prompts/get", *options)
    assert got["messages"][0]["content"]["text"] == "Be glad!"
