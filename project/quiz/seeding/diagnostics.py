"""Example diagnostics: what the servers reported in seven days, and how their logs travelled."""

import datetime as dt
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from project.quiz.choices import Category, Destination, ForwardingState, Severity
from project.quiz.models import DiagnosticsEvent, ForwardingRecord, Match
from project.quiz.randomness import seeded
from project.quiz.retention import RETENTION


class Sort(NamedTuple):
    """A sort of event; `weight` is how often it comes, relative to the others."""

    weight: int
    category: Category
    severity: Severity
    code: str
    message: str


SORTS = (
    Sort(30, Category.GAME, Severity.INFO, "MATCH_STARTED", "A match started"),
    Sort(8, Category.GAME, Severity.WARNING, "TIMER_DRIFT", "Question timer ran 250 ms late"),
    Sort(3, Category.GAME, Severity.ERROR, "REVEAL_RETRIED", "The reveal had to be sent again"),
    Sort(20, Category.NETWORK, Severity.INFO, "WS_RECONNECT", "A player's socket came back"),
    Sort(9, Category.NETWORK, Severity.WARNING, "WS_SLOW", "Send queue of a socket is full"),
    Sort(3, Category.NETWORK, Severity.ERROR, "NODE_UNREACHABLE", "A node missed two heartbeats"),
    Sort(10, Category.DATABASE, Severity.WARNING, "SLOW_QUERY", "A query took more than 500 ms"),
    Sort(1, Category.DATABASE, Severity.CRITICAL, "POOL_EXHAUSTED", "No database connection free"),
    Sort(14, Category.SECURITY, Severity.INFO, "LOGIN_FAILED", "Wrong password"),
    Sort(6, Category.SECURITY, Severity.WARNING, "RATE_LIMITED", "Too many join attempts"),
    Sort(3, Category.SECURITY, Severity.ERROR, "LEDGER_FORGED", "A solo ledger failed its check"),
    Sort(1, Category.SECURITY, Severity.CRITICAL, "ADMIN_LOCKED", "An account has been locked"),
    Sort(6, Category.FORWARDING, Severity.INFO, "BATCH_RETRIED", "A log batch was sent again"),
    Sort(2, Category.FORWARDING, Severity.ERROR, "BATCH_LOST", "A log batch was given up"),
)
EVENTS = 1_800
ABOUT_MATCHES = (Category.GAME, Category.NETWORK)
FORWARDING_STEP = dt.timedelta(minutes=30)
_NODES = ("game-1", "game-2", "game-3", "edge-1")


def seed_diagnostics(matches: Sequence[Match], now: dt.datetime) -> None:
    """Create the events; those of the game and the network are each about some match."""
    rng = seeded("seed", "diagnostics")
    week = int(RETENTION.total_seconds())
    ages = sorted((rng.randrange(week) for _ in range(EVENTS)), reverse=True)
    sorts = rng.choices(SORTS, weights=[sort.weight for sort in SORTS], k=EVENTS)
    DiagnosticsEvent.objects.bulk_create(
        (
            _event(sort, now - dt.timedelta(seconds=age), matches, rng)
            for sort, age in zip(sorts, ages, strict=True)
        ),
        batch_size=500,
    )


def _event(sort: Sort, at: dt.datetime, matches: Sequence[Match], rng: Random) -> DiagnosticsEvent:
    match = rng.choice(matches) if matches and sort.category in ABOUT_MATCHES else None
    return DiagnosticsEvent(
        at=_during(match, rng) if match else at,
        category=sort.category,
        severity=sort.severity,
        code=sort.code,
        message=sort.message,
        node=rng.choice(_NODES),
        address=_address(rng) if sort.category is Category.SECURITY else None,
        match=match,
    )


def _during(match: Match, rng: Random) -> dt.datetime:
    # A running match has not got further than its first minute for certain.
    seconds = 60 if match.ended_at is None else 240
    return match.started_at + dt.timedelta(seconds=rng.randrange(seconds))


def _address(rng: Random) -> str:
    # RFC 5737 sets these addresses aside for documentation; squaring makes a few of them busy.
    return f"203.0.113.{1 + int(60 * rng.random() ** 2)}"


def seed_forwarding(now: dt.datetime) -> None:
    """Create the batches of every destination, one each half hour."""
    rng = seeded("seed", "forwarding")
    ForwardingRecord.objects.bulk_create(_records(now, rng), batch_size=500)


def _records(now: dt.datetime, rng: Random) -> Iterator[ForwardingRecord]:
    steps = RETENTION // FORWARDING_STEP
    outage = range(steps // 2, steps // 2 + 5)
    for step in range(steps, 0, -1):
        for destination in Destination:
            down = destination is Destination.SIEM and step in outage
            yield _record(destination, now - (step - 0.5) * FORWARDING_STEP, down=down, rng=rng)


def _record(
    destination: Destination, at: dt.datetime, *, down: bool, rng: Random
) -> ForwardingRecord:
    state = ForwardingState.FAILED if down else _state(rng)
    delivered = state is ForwardingState.DELIVERED
    return ForwardingRecord(
        at=at,
        destination=destination,
        state=state,
        lines=rng.randrange(200, 4_000),
        attempts=1 if delivered else rng.randrange(2, 6),
        milliseconds=rng.randrange(20, 400) if delivered else 10_000,
        error="" if delivered else "The destination did not answer within 10 s",
    )


def _state(rng: Random) -> ForwardingState:
    states = (ForwardingState.DELIVERED, ForwardingState.RETRYING, ForwardingState.FAILED)
    return rng.choices(states, weights=(96, 3, 1))[0]
