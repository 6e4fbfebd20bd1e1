"""What is measured hangs together, and is told as it was measured."""

import importlib.util
from collections import Counter
from dataclasses import replace

import pytest

from bench import environments, report
from bench.__main__ import TARGETS
from bench.peers import PEERS
from bench.rounds import Round, Sample
from bench.targets import BASELINES, OURS, Target

ROWS = [*OURS, *PEERS]
SAMPLE = Sample(
    answers=100,
    units=100,
    wall=1.0,
    server_cpu=0.2,
    database_cpu=0.01,
    load_cpu=0.05,
    latency=0.008,
)


def test_no_two_targets_share_a_name() -> None:
    names = Counter(target.name for target in (*BASELINES, *ROWS))

    assert max(names.values()) == 1


@pytest.mark.parametrize("target", ROWS, ids=[target.name for target in ROWS])
def test_a_target_is_compared_with_one_that_is_asked_the_same(target: Target) -> None:
    baseline = TARGETS[target.against]

    assert baseline.measure == target.measure
    assert baseline.units == target.units
    assert baseline.question.method == target.question.method


def test_every_peer_has_its_server_and_its_environment() -> None:
    commands = [target.server.command for target in PEERS]
    modules = {
        part.partition(":")[0]
        for command in commands
        for part in command
        if part.startswith("bench.servers")
    }
    named = {part for command in commands for part in command if "/bench-" in part}

    assert all(importlib.util.find_spec(module) for module in modules)
    assert any(str(environments.folder("typescript")) in part for part in named)


def test_a_row_tells_the_median_its_spread_and_whether_the_goal_is_reached() -> None:
    target = replace(TARGETS["asgi-sqlite"], goal=0.5)
    rounds = [Round(SAMPLE, SAMPLE, ratio) for ratio in (0.4, 0.45, 0.9)]

    row = report.table({target.name: target}, {target.name: rounds}).splitlines()[-1]

    assert "0.45 (0.40 … 0.90)" in row
    assert "≤ 0.5: reached" in row
    assert "| 2.000 | 0.100 | 5% | 8.0 |" in row
    assert target.promise in row
