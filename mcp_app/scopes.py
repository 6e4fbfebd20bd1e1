"""What `MCP_APP["SCOPES"]` says of each scope: its description, and which others come with it.

By its name a scope implies those beneath it: `orders` implies `orders:read`. Others it lists under
`implies`. Both are followed to their end; a scope that is not declared implies nothing.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mcp_app.conf import settings


def description(scope: str) -> str:
    """What people are told of a declared scope."""
    stated = settings.SCOPES[scope]
    return str(stated.get("description", "") if isinstance(stated, Mapping) else stated)


def listed(scope: str) -> tuple[str, ...]:
    """What a declared scope says that it implies, declared or not."""
    stated: Any = settings.SCOPES[scope]
    return tuple(stated.get("implies", ())) if isinstance(stated, Mapping) else ()


def implied_by(scope: str) -> frozenset[str]:
    """All declared scopes that come with one, without itself."""
    return carried([scope]) - {scope}


def carried(held: Iterable[str]) -> frozenset[str]:
    """Those of the scopes held that are declared, and all that come with them."""
    declared = settings.SCOPES
    found = {scope for scope in held if scope in declared}
    to_follow = list(found)
    while to_follow:
        new = set(_next(to_follow.pop())) - found
        found |= new
        to_follow += new
    return frozenset(found)


def way(held: Iterable[str], scope: str) -> tuple[str, ...]:
    """How one of the scopes held leads to `scope`, both included, by the fewest steps.

    A scope that is held leads to itself; empty where none leads there.
    """
    starts = sorted(name for name in held if name in settings.SCOPES)
    return (scope,) if scope in starts else _way(starts, scope)


def cycles() -> Iterator[tuple[str, ...]]:
    """Each way on which a scope implies itself, told once: as (`a`, `b`, `a`)."""
    told: set[frozenset[str]] = set()
    for scope in settings.SCOPES:
        found = _way([scope], scope)
        if found and frozenset(found) not in told:
            told.add(frozenset(found))
            yield found


def _way(starts: Iterable[str], scope: str) -> tuple[str, ...]:
    ways: deque[tuple[str, ...]] = deque((start,) for start in starts)
    seen: set[str] = set()
    while ways:
        found = ways.popleft()
        for step in _next(found[-1]):
            if step == scope:
                return (*found, step)
            if step not in seen:
                seen.add(step)
                ways.append((*found, step))
    return ()


def _next(scope: str) -> list[str]:
    """The declared scopes that one implies by itself."""
    declared = settings.SCOPES
    beneath = f"{scope}:"
    stated = [name for name in listed(scope) if name in declared]
    return stated + [name for name in declared if name.startswith(beneath)]
