"""The suite's fixture tools that change lists, and the one that makes its client come back.

What a list holds is a matter of permission here, kept in the shared cache: so it changes on every
process at once.
"""

import time
from typing import Any

from django.core.cache import cache
from rest_framework.permissions import BasePermission

from mcp_app import Context, prompt, tool
from mcp_app.notify import lists_changed


class IsOn(BasePermission):
    """Admits callers while a switch is on."""

    switch = ""

    def has_permission(self, request: Any, view: Any) -> bool:
        """Ask the cache."""
        return bool(cache.get(self.switch))


class ToolIsOn(IsOn):
    """The dynamic tool's."""

    switch = "conformance.tool"


class PromptIsOn(IsOn):
    """The dynamic prompt's."""

    switch = "conformance.prompt"


@tool(read_only=True, permission_classes=[ToolIsOn])
def test_dynamic_tool() -> str:
    """Is there and is not there, in turn."""
    return "pong"


@prompt(permission_classes=[PromptIsOn])
def test_dynamic_prompt() -> str:
    """Is there and is not there, in turn."""
    return "pong"


@tool
def test_trigger_tool_change() -> str:
    """Adds the dynamic tool, or takes it away."""
    return _turn(ToolIsOn.switch)


@tool
def test_trigger_prompt_change() -> str:
    """Adds the dynamic prompt, or takes it away."""
    return _turn(PromptIsOn.switch)


def _turn(switch: str) -> str:
    cache.set(switch, not cache.get(switch), timeout=None)
    lists_changed()
    return "The list is another one."


@tool(read_only=True)
def test_reconnection(ctx: Context) -> str:
    """Closes its stream before the result, which the client comes back for."""
    ctx.close_stream(retry_ms=500)
    time.sleep(0.1)
    return "Reconnection test completed successfully."
