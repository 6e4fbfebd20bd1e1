"""What a sync tool runs inside: its own transaction where the project asks for one."""

from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from django.db import connections, transaction

from mcp_app.catalog.definition import Tool
from mcp_app.conf import settings


def around(tool: Tool) -> AbstractContextManager[Any]:
    """`atomic()` on each database that calls for it, or nothing.

    The tool's own `atomic=` decides; else `MCP_APP["ATOMIC"]`; else each database's
    ATOMIC_REQUESTS, as for a view. The call event is never inside.
    """
    wanted = tool.atomic if tool.atomic is not None else settings.ATOMIC
    aliases = [alias for alias in connections if _applies(alias, wanted)]
    if not aliases:
        return nullcontext()
    stack = ExitStack()
    for alias in aliases:
        stack.enter_context(transaction.atomic(using=alias))
    return stack


def _applies(alias: str, wanted: bool | None) -> bool:
    if wanted is None:
        return bool(connections.settings[alias].get("ATOMIC_REQUESTS"))
    return wanted
