"""`{% load mcp_app_admin %}`: what the admin's templates ask for beyond their context.

Django imports this in projects without an admin too, so the admin is imported when it is asked.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst

register = template.Library()

_CELL: Final = re.compile(r"<t[dh]\b")


@register.simple_tag(takes_context=True)
def mcp_app_pages(context: Mapping[str, Any]) -> list[Any]:
    """The pages beside the models' own, of this admin site, that the person may open."""
    from mcp_app.admin.pages import links

    return links(context["request"])


@register.filter
def moment(at: Any) -> Any:
    """A date and a time as the lists show them."""
    from mcp_app.admin.display import moment as cell

    return cell(at)


@register.filter
def labelled(cells: Sequence[str], headers: Sequence[Mapping[str, Any]]) -> list[SafeString]:
    """The cells of a row, each with its column's name in `data-label`, for where rows are cards."""
    return [
        _labelled(cell, str(capfirst(str(header["text"]))))
        for cell, header in zip(cells, headers, strict=False)
    ]


def _labelled(cell: str, label: str) -> SafeString:
    # The checkbox of a row has a heading that is itself a checkbox.
    said = "" if "<input" in label else f' data-label="{escape(label)}"'
    return mark_safe(_CELL.sub(lambda tag: f"{tag[0]}{said}", cell, count=1))  # noqa: S308 - the cell is Django's own, escaped
