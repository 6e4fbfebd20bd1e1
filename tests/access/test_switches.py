"""What a switch refuses: each kind of thing under the name that it is switched by."""

import pytest

from mcp_app.access.switches import Switches, switch_for, turn
from mcp_app.catalog.registry import MCPServer
from mcp_app.models.switches import declared, noun_of


@pytest.fixture
def server() -> MCPServer:
    """A server with one of each kind."""
    made = MCPServer("of each kind")

    @made.tool
    def pull() -> None:
        """Pull."""

    @made.resource("kind://one")
    def one() -> str:
        """One."""
        return ""

    @made.resource("kind://{number}")
    def numbered(number: int) -> str:
        """One of many."""
        return ""

    @made.prompt
    def say() -> str:
        """Say."""
        return ""

    return made


def test_each_kind_of_thing_is_refused_by_its_own_switch_alone(server: MCPServer, db: None) -> None:
    things = [d for kind in ("tools", "resources", "prompts") for d in server.listed(kind)]
    assert len(things) == 4
    for off in things:
        names = declared(server)[noun_of(off)]
        assert off.key in names
        switch = turn(
            switch_for("off", server.name, noun=noun_of(off), name=off.key, reason="Broken.")
        )
        refused = [thing for thing in things if Switches(server).refusal_of(thing)]
        assert refused == [off]
        assert Switches(server).spared(things) == [thing for thing in things if thing is not off]
        switch.delete()
    assert Switches(server).spared(things) == things
