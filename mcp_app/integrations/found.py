"""A row that a call names, where it is one of its caller's."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework.exceptions import APIException

from mcp_app.access.permissions import classes_of
from mcp_app.access.view import DeclaredView
from mcp_app.catalog.definition import Tool
from mcp_app.catalog.errors import NotFound


def found(tool: Tool, context: Any, rows: Any, by: str) -> Any:
    """The first of `rows`, all of which are the one that was named.

    Raises:
        NotFound: there is none, or a permission class refuses it: to the caller, that is the same.
    """
    # A join may find the same row twice.
    row = next(iter(rows[:1]), None)
    if row is None or not admits(tool, context, row):
        raise NotFound(f"There is no {rows.model._meta.verbose_name} of this {by}.")
    return row


def admits(tool: Tool, context: Any, row: Any) -> bool:
    """Whether every permission class of the tool admits the caller to this row."""
    view: Any = DeclaredView(tool, context.request)
    try:
        classes = classes_of(tool)
        return all(cls().has_object_permission(context.request, view, row) for cls in classes)
    except (APIException, Http404, PermissionDenied):
        return False
