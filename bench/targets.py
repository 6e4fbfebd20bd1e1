"""What is measured: each target, what it promises, and what it is compared with.

A is the official SDK: modern revision, JSON, the tool `add`, anonymous, nothing recorded, uvicorn.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from bench.wire import LEGACY, MODERN, PROGRESS, TOOL, Question

PYTHON: Final = sys.executable
Measure = Literal["cpu", "latency"]
Database = Literal["", "sqlite", "postgresql"]


@dataclass(frozen=True)
class Server:
    """How a server is started. `{port}` in the command is the one to listen on.

    `database` is one of ours, which comes with a token. `prepare` is a command that makes what a
    peer needs in the folder `BENCH_STATE`, and prints its token. One process has one core; what has
    more is let onto every core.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    database: Database = ""
    path: str = "/mcp"
    prepare: tuple[str, ...] = ()
    every_core: bool = False

    def offering(self, tools: int) -> "Server":
        """The same server with that many further tools."""
        environment = {**self.environment, "BENCH_TOOLS": str(tools)}
        return replace(self, environment=environment)


ADDITION: Final = Question()


@dataclass(frozen=True)
class Target:
    """One row of the results.

    Args:
        against: the name of the target that it is measured beside, and that makes its ratio.
        promise: what holds for each answer.
        goal: the ratio that is to be reached, at most.
        units: what one answer is divided by: 1, or the events of its stream.
    """

    name: str
    title: str
    server: Server
    question: Question = ADDITION
    connections: int = 16
    against: str = "A"
    promise: str = "token, permission class, committed event"
    measure: Measure = "cpu"
    goal: float | None = None
    units: int = 1


def uvicorn(application: str, python: str = PYTHON, lifespan: str = "off") -> tuple[str, ...]:
    """One process; uvloop and httptools where they are installed."""
    return (
        *(python, "-m", "uvicorn", application, "--host", "127.0.0.1", "--port", "{port}"),
        *("--log-level", "warning", "--no-access-log", "--lifespan", lifespan),
    )


def daphne(application: str, python: str = PYTHON) -> tuple[str, ...]:
    """One process."""
    return (python, "-m", "daphne", "-b", "127.0.0.1", "-p", "{port}", "-v", "0", application)


def gunicorn(application: str, python: str = PYTHON) -> tuple[str, ...]:
    """One worker of eight threads that keeps connections open."""
    return (
        *(python, "-m", "gunicorn", "--bind", "127.0.0.1:{port}", "--worker-class", "gthread"),
        *("--workers", "1", "--threads", "8", "--keep-alive", "30", "--log-level", "warning"),
        application,
    )


NOTHING: Final = "nothing: anonymous, no event"
_SDK: Final = Server(uvicorn("bench.servers.sdk:app", lifespan="on"))
_SDK_STREAMS: Final = replace(_SDK, environment={"BENCH_STREAMS": "1"})
_SDK_SESSIONS: Final = replace(_SDK, environment={"BENCH_SESSIONS": "1"})
_BARE: Final = Server(uvicorn("bench.servers.bare:app"))

DOOR: Final = "bench.servers.product.asgi:application"
_VIEW: Final = "bench.servers.product.asgi:view"
_WSGI: Final = "bench.servers.product.wsgi:application"
_DOOR_SQLITE: Final = Server(uvicorn(DOOR), database="sqlite")

SESSION: Final = Question(version=LEGACY, session=True)
THREE_REPORTS: Final = Question(
    tool="progress", arguments={"n": 3}, progress=True, counts=PROGRESS, times=3
)
THOUSAND_EVENTS: Final = replace(THREE_REPORTS, arguments={"n": 1000}, times=1000)


def listing(tools: int, beside: int, version: str = MODERN) -> Question:
    """A list of that many tools and of the few that the server has beside them."""
    last = b'"tool_%d"' % (tools - 1)
    return Question("tools/list", version=version, expects=last, counts=TOOL, times=tools + beside)


def _databases(
    name: str, title: str, command: tuple[str, ...], goals: tuple[float, float]
) -> list[Target]:
    sqlite: Database = "sqlite"
    postgresql: Database = "postgresql"
    pairs = (((sqlite, "SQLite"), goals[0]), ((postgresql, "PostgreSQL"), goals[1]))
    return [
        Target(f"{name}-{kind}", f"{title}, {label}", Server(command, database=kind), goal=goal)
        for (kind, label), goal in pairs
    ]


def _list(tools: int, goal: float) -> Target:
    return Target(
        f"list-{tools}",
        f"tools/list, {tools:,} tools, filtered for the user",
        _DOOR_SQLITE.offering(tools),
        listing(tools, beside=3),
        connections=2,
        against=f"A-list-{tools}",
        promise="token, a permission class a tool",
        goal=goal,
    )


def _list_of_sdk(tools: int) -> Target:
    return Target(
        f"A-list-{tools}",
        f"official SDK, tools/list, {tools:,} tools",
        _SDK.offering(tools),
        listing(tools, beside=2),
        connections=2,
        promise=NOTHING,
    )


BASELINES: Final = (
    Target("A", "official SDK, modern, JSON, uvicorn", _SDK, promise=NOTHING),
    Target("A-one", "A, one connection", _SDK, connections=1, promise=NOTHING, measure="latency"),
    Target(
        "A-session",
        "official SDK, a 2025-11-25 session",
        _SDK_SESSIONS,
        SESSION,
        promise=NOTHING,
    ),
    Target(
        "A-reports",
        "official SDK, three progress reports, SSE",
        _SDK_STREAMS,
        THREE_REPORTS,
        promise=NOTHING,
    ),
    Target(
        "A-events",
        "official SDK, 1,000 events on one stream",
        _SDK_STREAMS,
        THOUSAND_EVENTS,
        connections=1,
        promise=NOTHING,
        against="bare-events",
        units=1000,
    ),
    Target(
        "bare-events",
        "bare ASGI, 1,000 events on one stream",
        _BARE,
        THOUSAND_EVENTS,
        connections=1,
        promise=NOTHING,
        units=1000,
    ),
    _list_of_sdk(200),
    _list_of_sdk(1000),
)

OURS: Final = (
    *_databases("asgi", "ASGI door, uvicorn", uvicorn(DOOR), (0.5, 0.6)),
    *_databases("daphne", "ASGI door, daphne", daphne(DOOR), (1.0, 1.0)),
    *_databases("gunicorn", "view, gunicorn threads", gunicorn(_WSGI), (1.2, 1.2)),
    *_databases("view", "view on ASGI, uvicorn", uvicorn(_VIEW), (2.0, 2.0)),
    Target(
        "one",
        "ASGI door, uvicorn, SQLite, one connection: median latency",
        _DOOR_SQLITE,
        connections=1,
        against="A-one",
        measure="latency",
        goal=2.0,
    ),
    Target("session", "ASGI door, a session of 2025-11-25", _DOOR_SQLITE, SESSION, goal=0.7),
    Target(
        "writing",
        "ASGI door, a tool that may write",
        _DOOR_SQLITE,
        Question(tool="book"),
        promise="token, permission class, an event committed before and after",
    ),
    Target(
        "reports",
        "ASGI door, three progress reports, SSE",
        _DOOR_SQLITE,
        THREE_REPORTS,
        against="A-reports",
        goal=1.0,
    ),
    _list(200, 0.04),
    _list(1000, 0.02),
    Target(
        "events",
        "1,000 events on one stream, each",
        _DOOR_SQLITE,
        THOUSAND_EVENTS,
        connections=1,
        against="bare-events",
        units=1000,
        goal=2.0,
    ),
)
