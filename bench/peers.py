"""Other people's servers as targets, and ours beside the one that is nearest to it."""

from dataclasses import replace
from typing import Final

from bench import environments
from bench.targets import (
    NOTHING,
    OURS,
    SESSION,
    THOUSAND_EVENTS,
    THREE_REPORTS,
    Server,
    Target,
    gunicorn,
    listing,
    uvicorn,
)
from bench.wire import LEGACY, Question

_TOKEN: Final = "token, no event"
_LOOKED_UP: Final = "token (one SELECT of the bench's), no event"
_OLD: Final = Question(version=LEGACY)
_LIST_SIZES: Final = (200, 1000)


def _peer(module: str, environment: str, *, wsgi: bool, token: bool, path: str = "/mcp") -> Server:
    start, name = (gunicorn, "wsgi") if wsgi else (uvicorn, "asgi")
    python = environments.python(environment)
    command = start(f"bench.servers.peers.{module}:{name}", python)
    # Without a token there is still a database that some of them ask.
    return Server(
        command,
        environment={"BENCH_TOKEN": "1"} if token else {},
        path=path,
        prepare=(python, "-m", "bench.servers.peers.prepare", module),
    )


_FAST: Final = Server(
    uvicorn("bench.servers.peers.fast_mcp:app", environments.python("fastmcp"), lifespan="on")
)
_FAST_STREAMS: Final = replace(_FAST, environment={"BENCH_STREAMS": "1"})
_FAST_SESSIONS: Final = replace(_FAST, environment={"BENCH_SESSIONS": "1"})
_TYPESCRIPT: Final = Server(("node", str(environments.folder("typescript") / "server.mjs")))
_MCPZ: Final = _peer("mcpz", "mcpz", wsgi=True, token=False)
_MCPZ_TOKEN: Final = _peer("mcpz", "mcpz", wsgi=True, token=True)
_STATELESS: Final = _peer("stateless", "stateless", wsgi=False, token=False)
_MCP_SERVER: Final = _peer("mcp_server", "mcp-server", wsgi=True, token=False)


def _called(name: str, title: str, server: Server, promise: str, question: Question) -> Target:
    return Target(name, title, server, question, promise=promise)


def _lists(
    name: str, title: str, server: Server, beside: int, version: str = "2026-07-28"
) -> list[Target]:
    return [
        Target(
            f"{name}-list-{tools}",
            f"{title}, tools/list, {tools:,} tools",
            server.offering(tools),
            listing(tools, beside, version),
            connections=2,
            against=f"A-list-{tools}",
            promise=NOTHING,
        )
        for tools in _LIST_SIZES
    ]


def _beside(name: str, against: str, goal: float) -> Target:
    """A target of ours beside a peer instead of A."""
    ours = next(target for target in OURS if target.name == name)
    title = f"ours: {ours.title}"
    return replace(ours, name=f"{name}-peer", title=title, against=against, goal=goal)


PEERS: Final[tuple[Target, ...]] = (
    _called("fastmcp", "FastMCP, modern, JSON", _FAST, NOTHING, Question()),
    _called("fastmcp-session", "FastMCP, 2025-11-25 session", _FAST_SESSIONS, NOTHING, SESSION),
    replace(
        _called("fastmcp-reports", "FastMCP, three reports", _FAST_STREAMS, NOTHING, THREE_REPORTS),
        against="A-reports",
    ),
    replace(
        _called("fastmcp-events", "FastMCP, 1,000 events", _FAST_STREAMS, NOTHING, THOUSAND_EVENTS),
        against="bare-events",
        connections=1,
        units=1000,
    ),
    _called("typescript", "official TypeScript server", _TYPESCRIPT, NOTHING, Question()),
    _called("mcpz", "django-mcpz, gunicorn threads", _MCPZ, NOTHING, Question()),
    _called("mcpz-token", "django-mcpz, gunicorn threads", _MCPZ_TOKEN, _TOKEN, Question()),
    _called(
        "mcpz-asgi",
        "django-mcpz, uvicorn",
        _peer("mcpz", "mcpz", wsgi=False, token=True),
        _TOKEN,
        Question(),
    ),
    _called(
        "drf-mcp",
        "djangorestframework-mcp-server, gunicorn threads",
        _peer("drf_mcp", "drf-mcp", wsgi=True, token=True, path="/mcp/"),
        _LOOKED_UP,
        Question(),
    ),
    _called(
        "stateless",
        "django-stateless-mcp, uvicorn",
        _peer("stateless", "stateless", wsgi=False, token=True),
        _LOOKED_UP,
        Question(),
    ),
    _called(
        "admin-mcp",
        "django-admin-mcp, gunicorn threads, reads one row",
        _peer("admin_mcp", "admin-mcp", wsgi=True, token=True, path="/mcp/"),
        "token, model permission",
        Question(tool="get_note", arguments={"id": 1}, version=LEGACY),
    ),
    _called(
        "mcp-server",
        "django-mcp-server, gunicorn threads",
        _peer("mcp_server", "mcp-server", wsgi=True, token=True),
        _TOKEN,
        _OLD,
    ),
    *_lists("fastmcp", "FastMCP", _FAST, beside=2),
    *_lists("typescript", "official TypeScript server", _TYPESCRIPT, beside=2),
    *_lists("mcpz", "django-mcpz, gunicorn", _MCPZ, beside=1),
    *_lists("stateless", "django-stateless-mcp, uvicorn", _STATELESS, beside=1),
    *_lists("mcp-server", "django-mcp-server, gunicorn", _MCP_SERVER, beside=2, version=LEGACY),
    _beside("gunicorn-sqlite", "mcpz-token", 0.6),
    _beside("list-200", "mcpz-list-200", 1.0),
    _beside("list-1000", "mcpz-list-1000", 1.0),
)
