"""The first gate that Explain finds shut is the one that refuses on the wire: all of them do."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.permissions import BasePermission

from mcp_app.access.switches import lift, switch_for, turn
from mcp_app.access.throttling import UserThrottle
from mcp_app.audit.gates import deciding_gate
from mcp_app.auth.tokens import issue
from mcp_app.conf import settings as app_settings
from mcp_app.models import CallEvent, Switch, Token
from mcp_app.transports.subjects import caller_of, gates_of
from tests.interaction.conftest import MakeClient, ready
from tests.interaction.tools import server

shut: set[str] = set()
"""Which of the gates that a product writes are shut."""


class Door(BasePermission):
    """Admits everybody, unless it is shut."""

    def has_permission(self, request: Any, view: Any) -> bool:
        return "permission" not in shut


def unhidden(ctx: Any, tools: Any) -> Any:
    """Leaves the tool out while it is shut."""
    return [tool for tool in tools if "hook" not in shut or tool.name != "guarded"]


@pytest.fixture
def guarded() -> Iterator[Any]:
    """A tool with every gate that a tool can have."""

    @server.tool(permission_classes=[Door], scopes=["rooms:write"], throttle_classes=[UserThrottle])
    def guarded() -> str:
        """Answer."""
        return "in"

    yield server.tools["guarded"]
    server.remove("guarded")
    shut.clear()


def openers(token: Token, settings: Any) -> list[tuple[str, str, Callable[[], object]]]:
    """By gate in order: its name here, the name that the log has, and what opens it."""

    def saved(**changes: Any) -> Callable[[], object]:
        return lambda: Token.objects.filter(pk=token.pk).update(**changes)

    def lifted(kind: str) -> Callable[[], object]:
        return lambda: [lift(one) for one in Switch.objects.in_force().filter(kind=kind)]

    def raised() -> None:
        settings.MCP_APP = {**app_settings.raw, "THROTTLE_RATES": {"user": "1000/hour"}}

    return [
        ("credential", "Authentication", saved(revoked_at=None)),
        ("maintenance", "Switch", lifted("maintenance")),
        ("permission Door", "Permission classes", lambda: shut.discard("permission")),
        ("hooks LIST_TOOLS", "Hook of LIST_TOOLS", lambda: shut.discard("hook")),
        ("switches", "Switch", lifted("off")),
        ("limits of the token", "Limits of the token", saved(tools=None)),
        ("scopes", "Scopes of the token", saved(scopes=["rooms:write"])),
        ("throttle UserThrottle", "Rate limit", raised),
    ]


def test_the_first_gate_that_is_shut_is_the_one_that_refuses(
    make_client: MakeClient, user: Any, guarded: Any, settings: Any
) -> None:
    rates = {"user": "1/hour"}
    settings.MCP_APP = {**app_settings.raw, "THROTTLE_RATES": rates, "LIST_TOOLS": [unhidden]}
    token, secret = issue(user=user, name="laptop", scopes=["rooms:write"])
    client = ready(make_client("2026-07-28", secret.reveal()))
    assert client.call("guarded").text == "in"
    Token.objects.filter(pk=token.pk).update(revoked_at=timezone.now(), tools=["add"], scopes=[])
    shut.update({"permission", "hook"})
    turn(switch_for("maintenance", server.name, reason="Moving."))
    turn(switch_for("off", server.name, noun="tool", name="guarded", reason="Broken."))
    for name, in_log, opened in openers(token, settings):
        assert client.call("guarded").error
        assert str(deciding_gate(CallEvent.objects.latest("pk")).name) == in_log
        assert first_shut(guarded) == name
        opened()
    assert first_shut(guarded) is None
    assert client.call("guarded").text == "in"


def first_shut(tool: Any) -> str | None:
    """What Explain says of the one token that there is."""
    row = Token.objects.get().secrets.select_related("token__user").get()
    gates = gates_of(tool, caller_of(row.token.user, row, source="command"), server, row)
    return next((gate.name for gate in gates if gate.passed is False), None)
