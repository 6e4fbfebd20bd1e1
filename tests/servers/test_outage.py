"""Redis goes away and comes back: calls go on, streams end in good order, all of it recovers."""

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import live
from tests.servers import sites
from tests.servers.callers import LEGACY, Caller, Stream, until

pytestmark = pytest.mark.live

INPUT_TIMEOUT = 2.0
QUICK = 1.0
"""Seconds within which a call that needs no bus is answered, on a machine with other work too."""


class Broker:
    """A Redis of this test's own, which it may kill."""

    def __init__(self, folder: Path) -> None:
        self.port = live.free_port()
        self._folder = folder

    @contextmanager
    def running(self) -> Iterator[None]:
        """Up for the length of the block, and killed at its end."""
        process = subprocess.Popen(
            [
                *["redis-server", "--port", str(self.port), "--bind", live.HOST, "--save", ""],
                *["--appendonly", "no", "--dir", str(self._folder)],
            ],
            stdout=subprocess.DEVNULL,
        )
        try:
            assert until(self._answers)
            yield
        finally:
            process.kill()
            process.wait()

    def _answers(self) -> bool:
        import redis

        with contextlib.suppress(redis.ConnectionError):
            return bool(redis.Redis(port=self.port, host=live.HOST).ping())
        return False


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    """Not running yet."""
    return Broker(tmp_path)


@pytest.fixture
def processes(broker: Broker, tmp_path: Path) -> Iterator[tuple[list[int], str, list[Path]]]:
    """Two servers on one database and one Redis: ports, a token, and logs."""
    environment = sites.environment_of(
        tmp_path,
        REDIS_URL=f"redis://{live.HOST}:{broker.port}/0",
        SITE_PREFIX="outage",
        SITE_MCP_APP=json.dumps({"INPUT_TIMEOUT": INPUT_TIMEOUT, "STREAM_LIMIT": 100}),
    )
    token = sites.prepare(environment)
    with sites.serving(environment, tmp_path, ["uvicorn"] * 2) as served:
        yield [one.port for one in served], token, [one.log for one in served]


def asked(caller: Caller) -> tuple[Stream, Any]:
    """A call that waits for its user, and its question."""
    stream = caller.open("tools/call", {"name": "ask", "arguments": {}})
    return stream, stream.event()


def answer(question: Any) -> dict[str, Any]:
    content = {"action": "accept", "content": {"name": "Ada"}}
    return {"jsonrpc": "2.0", "id": question["id"], "result": content}


def quick_calls(caller: Caller, count: int) -> None:
    """Calls that need no bus, each answered in time."""
    for _ in range(count):
        started = time.monotonic()
        assert "result" in caller.call("read")
        assert time.monotonic() - started < QUICK


def is_heard_from(there: Caller, here: Caller) -> bool:
    """Whether an answer that is posted to one process reaches the call at the other."""
    stream, question = asked(here)
    there.post(answer(question))
    told = stream.event()
    if "result" not in told:
        # The question is withdrawn first.
        told = stream.event()
    stream.close()
    return bool(told["result"]["content"][0]["text"] == "Hello Ada")


def test_redis_may_go_away_and_come_back(
    broker: Broker, processes: tuple[list[int], str, list[Path]]
) -> None:
    (first, second), token, logs = processes
    modern = Caller(first, token)
    with broker.running():
        legacy = Caller(first, token, LEGACY).initialize()
        elsewhere = legacy.at(second)
        assert until(lambda: is_heard_from(elsewhere, legacy))
        listening, own = modern.listen(), legacy.get()
        waiting, question = asked(legacy)

    # It is gone. Streams end as at a graceful stop, so that their clients look again.
    assert listening.event()["result"]["resultType"] == "complete"
    assert own.line() == ""
    quick_calls(modern, 10)
    quick_calls(elsewhere, 10)
    # What is posted to the other process does not come; the call says so at its limit.
    assert elsewhere.post(answer(question)) == 202
    withdrawn = waiting.event()
    assert withdrawn["method"] == "notifications/cancelled"
    assert withdrawn["params"]["requestId"] == question["id"]
    told = waiting.event()
    assert told["result"]["isError"]
    assert "Nobody answered in time." in told["result"]["content"][0]["text"]
    # New streams are let in all the while; within a process nothing is lost.
    again = modern.listen()
    assert is_heard_from(legacy, legacy)
    # Told once, however long it lasts.
    for log in logs:
        lines = log.read_text().splitlines()
        assert sum("channel layer" in line for line in lines) == 1, lines
        assert len(lines) <= 2, lines

    with broker.running():
        # Those that began meanwhile may have missed something, and end too.
        assert again.event()["result"]["resultType"] == "complete"
        assert until(lambda: is_heard_from(elsewhere, legacy))
        quick_calls(modern, 3)
    for stream in (listening, own, waiting, again):
        stream.close()
