"""`manage.py mcp_tools`: the registered tools, what guards each, and which a user may call."""

import json
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from mcp_app.access.explanation import permission_classes
from mcp_app.access.permissions import class_text
from mcp_app.catalog.definition import Tool
from mcp_app.catalog.registry import default_server
from mcp_app.management.callers import find_caller
from mcp_app.transports.subjects import access_of

_HINTS = ("read_only", "destructive", "idempotent", "open_world")


class Command(BaseCommand):
    """One line a tool."""

    help = "List the MCP tools with their hints, permission classes and scopes."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the caller and the format."""
        parser.add_argument("--user", help="Also say which of them this username may call.")
        parser.add_argument("--json", action="store_true", help="Print a JSON array.")

    def handle(self, *args: Any, user: str | None, json: bool, **options: Any) -> None:
        """Print every tool, sorted by name."""
        rows = [_row(tool) for tool in default_server.tools.values()]
        if user is not None:
            access = access_of(find_caller(user))
            for row, tool in zip(rows, default_server.tools.values(), strict=True):
                row["may_call"] = access.permits(tool) and access.switched_off(tool) is None
        self.stdout.write(_as_json(rows) if json else _as_table(rows))


def _row(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        **{hint: getattr(tool, hint) for hint in _HINTS},
        "permissions": [class_text(cls) for cls in permission_classes(tool)],
        "default_permissions": tool.permission_classes is None,
        "scopes": list(tool.scopes),
        "module": tool.module,
    }


def _as_json(rows: Sequence[dict[str, Any]]) -> str:
    return json.dumps(rows, indent=2, ensure_ascii=False)


def _as_table(rows: Sequence[dict[str, Any]]) -> str:
    table = [_cells(row) for row in rows]
    if not table:
        return "No tools. Declare them in an app's mcp.py."
    table.insert(0, ["TOOL", "HINTS", "PERMISSIONS", "SCOPES", "MAY CALL"][: len(table[0])])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(map(str.ljust, cells, widths)) for cells in table)
    return "\n".join(line.rstrip() for line in lines)


def _cells(row: dict[str, Any]) -> list[str]:
    hints = [hint.replace("_", "-") for hint in _HINTS if row[hint]]
    cells = [row["name"], ", ".join(hints), ", ".join(row["permissions"]), " ".join(row["scopes"])]
    cells = [cell or "-" for cell in cells]
    if "may_call" in row:
        cells.append("yes" if row["may_call"] else "no")
    return cells
