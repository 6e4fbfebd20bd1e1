"""A list is asked for at once, and holds what each declaration says when it is asked alone."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.http import HttpRequest
from rest_framework.permissions import AllowAny, IsAdminUser, IsAuthenticated

from mcp_app.access.checks import CallerAccess
from mcp_app.access.switches import switch_for, turn
from mcp_app.catalog.registry import MCPServer
from mcp_app.dispatch.context import Caller
from mcp_app.dispatch.services import may_use, usable

pytestmark = pytest.mark.django_db


def _server() -> MCPServer:
    server = MCPServer("of many")
    kinds: Any = product(
        (AllowAny, IsAuthenticated, IsAdminUser), (True, False), ([], ["rooms:write"])
    )
    for number, (cls, reads, scopes) in enumerate(kinds):
        server.tool(
            name=f"tool_{number}", permission_classes=[cls], read_only=reads, scopes=scopes
        )(look)
    return server


def look() -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize("kind", [None, "off", "read_only"])
@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"scopes": frozenset()},
        {"scopes": frozenset({"rooms:write"})},
        {"tools": frozenset({"tool_0", "tool_3", "tool_11"})},
        {"reads_only": True},
    ],
)
def test_many_at_once_are_those_that_are_usable_one_by_one(
    kind: str | None, limits: dict[str, Any]
) -> None:
    server = _server()
    if kind is not None:
        named = {"noun": "tool", "name": "tool_0"} if kind == "off" else {}
        turn(switch_for(kind, server.name, reason="Broken.", **named))
    for is_staff in (True, False):
        user = get_user_model().objects.create_user(f"staff {is_staff}", is_staff=is_staff)
        caller = replace(Caller(user), **limits)
        access = CallerAccess(caller, HttpRequest, server)
        found = usable(access, caller, server.tools.values())
        alone = CallerAccess(caller, HttpRequest, server)
        assert found == [tool for tool in server.tools.values() if may_use(alone, caller, tool)]
        assert 0 < len(found) <= len(server.tools)
