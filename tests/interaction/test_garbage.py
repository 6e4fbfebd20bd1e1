"""An answered request leaves nothing that refers to itself: what it held is free at once.

Left to the collector, the objects of some requests cost a fifth of the CPU time of each. A request
of DRF's refers to itself, so a tool that asks for one is another matter.
"""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import Mock

import pytest

from mcp_app.testing import MCPClient
from mcp_app.transports import door
from tests.interaction import wire
from tests.interaction.conftest import LEGACY, MODERN, MakeToken, ready
from tests.interaction.tools import server

REQUESTS = 5


@contextmanager
def left_to_the_collector() -> Iterator[list[str]]:
    """What of this package's, and of the rows it made, was not free after the block."""
    found: list[str] = []
    gc.collect()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kinds = (type(each) for each in gc.garbage)
        found += [kind.__qualname__ for kind in kinds if kind.__module__.startswith("mcp_app.")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.fixture(params=[MODERN, LEGACY[0]])
def client(request: pytest.FixtureRequest, make_token: MakeToken, lanes: None) -> MCPClient:
    """A client of the ASGI door, one an era."""
    return ready(MCPClient(make_token(), version=request.param, door="asgi", server=server))


@pytest.mark.parametrize("tool", ["open_to_all", "count_users", "reports", "refuse"])
def test_nothing_is_left_to_the_garbage_collector(client: MCPClient, tool: str) -> None:
    async def scenario() -> list[str]:
        await _answered(client, tool)
        with left_to_the_collector() as left:
            await _answered(client, tool)
        return left

    assert asyncio.run(scenario()) == []


def test_a_watch_that_never_came_to_look_is_not_left_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(door, "_MOMENT", 0)

    async def scenario() -> list[str]:
        with left_to_the_collector() as left:
            line = door._Line(_nothing_comes, Mock())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert line._watching is not None
            line.leave()
            del line
            await asyncio.sleep(0)
        return left

    assert asyncio.run(scenario()) == []


async def _nothing_comes() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


async def _answered(client: MCPClient, tool: str) -> None:
    for _ in range(REQUESTS):
        line: Any = wire.call(wire.endpoint_application(), client, tool)
        await line.end()
        assert line.status == 200
