"""Many threads and four processes spend one token's budget: the window stays exact (D-085, D-086).

What a server counts happens between a call's start and its end, by Redis's clock, which is this
machine's. Every answer is held against the formula with the bounds that follow from that.
"""

import json
import math
import os
import secrets
import threading
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests import live
from tests.servers import sites
from tests.servers.lines import LiveClient

pytestmark = pytest.mark.live

PROCESSES, THREADS = 4, 32
CALLS, LIMIT, PERIOD, SECONDS = (
    (20_000, 5000, "min", 60) if "LIMITS_WHOLE" in os.environ else (2000, 50, "s", 1)
)
"""`LIMITS_WHOLE=1` makes it as many calls as an endpoint may see, in two minutes."""
MODERN = "2026-07-28"


@dataclass
class Answers:
    """When calls began and were answered, by what became of them."""

    admitted: list[tuple[float, float]] = field(default_factory=list)
    refused: list[tuple[float, float]] = field(default_factory=list)
    others: list[Any] = field(default_factory=list)

    def note(self, status: int, began: float, ended: float) -> None:
        """Keep one answer; lists take appends from any thread."""
        kind = {200: self.admitted, 429: self.refused}.get(status, self.others)
        kind.append((began, ended))


@pytest.fixture
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[int], str]]:
    """Four processes with one limit, and a token."""
    folder = tmp_path_factory.mktemp("limits")
    limits = {
        "DEFAULT_THROTTLE_CLASSES": ["mcp_app.access.throttling.TokenThrottle"],
        "THROTTLE_RATES": {"token": f"{LIMIT}/{PERIOD}"},
    }
    with live.scratch_database("postgresql") as database:
        prefix = f"limits-{secrets.token_hex(4)}"
        environment = sites.shared(
            folder, database=database, prefix=prefix, SITE_MCP_APP=json.dumps(limits)
        )
        token = sites.prepare(environment)
        with sites.serving(environment, folder, ["uvicorn"] * PROCESSES) as served:
            yield [one.port for one in served], token


def call(answers: Answers, port: int, token: str, times: int) -> None:
    """One thread's calls."""
    client = LiveClient(token, version=MODERN).at(port)
    for _ in range(times):
        began = time.time()
        status = client.call("read").status
        answers.note(status, began, time.time())


def test_no_answer_of_many_threads_breaks_the_formula(ports: tuple[list[int], str]) -> None:
    answers = Answers()
    threads = [
        threading.Thread(
            target=call, args=(answers, ports[0][n % PROCESSES], ports[1], CALLS // THREADS)
        )
        for n in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not answers.others
    assert len(answers.refused) > THREADS, "the limit was never reached"
    assert len(answers.admitted) + len(answers.refused) == CALLS // THREADS * THREADS
    check_never_more(answers)
    check_never_less(answers)


def window_of(moment: float) -> int:
    """The number of the window that a moment lies in."""
    return math.floor(moment / SECONDS)


def remaining(moment: float) -> float:
    """The share of its window that is still to come."""
    return 1 - moment % SECONDS / SECONDS


def check_never_more(answers: Answers) -> None:
    """Each admitted call fitted: with the least that had been counted when it was answered."""
    sure: dict[int, list[float]] = {}
    for began, ended in answers.admitted:
        if window_of(began) == window_of(ended):
            sure.setdefault(window_of(began), []).append(ended)
    for window, ends in sure.items():
        before = len(sure.get(window - 1, ()))
        for count, ended in enumerate(sorted(ends)):
            assert count + remaining(ended) * before < LIMIT, (window, count, by_window(answers))


def check_never_less(answers: Answers) -> None:
    """Each refused call did not fit: with the most that may have been counted by then."""
    starts = sorted(began for began, _ in answers.admitted)
    ends = sorted(ended for _, ended in answers.admitted)
    for began, ended in answers.refused:
        window = window_of(began)
        if window_of(ended) != window:
            continue
        start = window * SECONDS
        counted = bisect_right(starts, ended) - bisect_left(ends, start)
        before = bisect_right(starts, start) - bisect_left(ends, start - SECONDS)
        fits = counted + remaining(began) * before < LIMIT - 1
        assert not fits, (window, counted, before, by_window(answers))


def by_window(answers: Answers) -> Counter[tuple[int, int]]:
    """How many admitted calls began in the one window and were answered in the other."""
    return Counter((window_of(began), window_of(ended)) for began, ended in answers.admitted)
