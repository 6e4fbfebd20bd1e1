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


@register.simple_tag(takes_context=True)
def mcp_app_beside_models(context: Mapping[str, Any], app_list: Sequence[Any]) -> list[Any]:
    """The apps of an admin site's index, with the pages that the person may open."""
    from mcp_app.admin.pages import beside_models

    return beside_models(context["request"], app_list)


@register.inclusion_tag("admin/mcp_app/closures.html", takes_context=True)
def mcp_app_closures(context: Mapping[str, Any]) -> dict[str, Any]:
    """Which whole servers are closed or read-only now: why, until when, and where that is set."""
    from mcp_app.admin.closures import closures

    return {"closures": closures(context["request"])}


@register.simple_tag(takes_context=True)
def mcp_app_calls(context: Mapping[str, Any], of: Any) -> str:
    """The address of the calls of a user or session, with a token or secret, for who may see it."""
    from mcp_app.admin.links import calls_url

    return calls_url(context["request"], of) if of else ""


@register.simple_tag(takes_context=True)
def mcp_app_tokens(context: Mapping[str, Any], user: Any) -> str:
    """The address of a user's tokens, for those who may see them."""
    from mcp_app.admin.links import tokens_url

    return tokens_url(context["request"], user) if user else ""


@register.simple_tag(takes_context=True)
def mcp_app_issue(context: Mapping[str, Any], user: Any) -> str:
    """The address of the form that issues a user a token, for those who may."""
    from mcp_app.admin.links import issue_url

    return issue_url(context["request"], user) if user else ""


@register.simple_tag(takes_context=True)
def mcp_app_view_as(context: Mapping[str, Any], of: Any) -> str:
    """The address of what a user or a token's holder is shown, for those who may see it."""
    from mcp_app.admin.links import view_as_url

    return view_as_url(context["request"], of) if of else ""


@register.simple_tag(takes_context=True)
def mcp_app_explain(context: Mapping[str, Any], token: Any, reach: Any) -> str:
    """The address that says why a token does not open what is nearest to it, for who may see it."""
    from mcp_app.admin.links import explain_url

    return explain_url(context["request"], token, reach)


@register.simple_tag(takes_context=True)
def mcp_app_page(context: Mapping[str, Any], slug: str, **query: str) -> str:
    """The address of a page of the catalogue's, for those who may open it."""
    from mcp_app.admin.links import page_url
    from mcp_app.models import Catalogue

    return page_url(context["request"], Catalogue, slug, query)


@register.simple_tag(takes_context=True)
def mcp_app_index(context: Mapping[str, Any], opts: Any) -> str:
    """The address of the app's page, for those who may do something with its models."""
    from mcp_app.admin.links import app_url

    return app_url(context["request"], opts.model)


@register.simple_tag(takes_context=True)
def mcp_app_list(context: Mapping[str, Any], opts: Any) -> str:
    """The address of a model's list, for those who may see it."""
    from mcp_app.admin.links import list_url

    return list_url(context["request"], opts.model)


@register.simple_tag(takes_context=True)
def mcp_app_row(context: Mapping[str, Any], row: Any) -> str:
    """The address of a row's page, for those who may see it."""
    from mcp_app.admin.links import change_url

    return change_url(context["request"], row) if row else ""


@register.simple_tag(takes_context=True)
def mcp_app_back(context: Mapping[str, Any], opts: Any, row: Any = None) -> str:
    """Where a form leads that is left unsent: to what it is about, as near as the person may."""
    from mcp_app.admin.links import back_url

    return back_url(context["request"], opts.model, row)


@register.filter
def passed(gate: bool | None, by_token: bool = False) -> Any:
    """Whether a gate lets a call through, with a coloured mark."""
    from mcp_app.admin.display import passed as badge

    return badge(gate, by_token)


@register.filter
def codes(names: Sequence[str]) -> Any:
    """Names, each as code."""
    from mcp_app.admin.display import codes as shown

    return shown(list(names))


@register.filter
def prefix(lookup: str) -> Any:
    """The public part of a secret as people see it."""
    from mcp_app.admin.display import prefix as shown

    return shown(lookup) if lookup else ""


@register.filter
def moment(at: Any) -> Any:
    """A date and a time as the lists show them."""
    from mcp_app.admin.display import moment as cell

    return cell(at)


@register.filter
def minute(at: Any) -> Any:
    """A date and a time to the minute."""
    from mcp_app.admin.display import moment as cell

    return cell(at, seconds=False)


@register.filter
def duration(milliseconds: float | None) -> str:
    """A time in the unit that suits it."""
    from mcp_app.admin.display import duration as text

    return text(milliseconds)


@register.filter
def percentage(share: float | None) -> str:
    """A share between 0 and 1 in per cent, or a dash for none."""
    from mcp_app.admin.display import percentage as text

    return text(share)


@register.filter
def outcome_badge(event: Any) -> Any:
    """How a call ended, with a coloured mark."""
    from mcp_app.admin.display import outcome_badge as badge

    return badge(event)


@register.filter
def pretty_json(value: Any) -> Any:
    """A JSON value on lines of its own."""
    from mcp_app.admin.display import pretty_json as shown

    return shown(value)


@register.filter
def text_block(text: str) -> Any:
    """A longer text with its own line breaks."""
    from mcp_app.admin.display import block

    return block(text)


@register.filter
def labelled(cells: Sequence[str], headers: Sequence[Mapping[str, Any]]) -> list[SafeString]:
    """The cells of a row, each with its column's name in `data-label`, for where rows are cards."""
    return [
        _labelled(cell, str(capfirst(str(header["text"]))))
        for cell, header in zip(cells, headers, strict=False)
    ]


@register.filter
def beside_filters(changelist: Any) -> list[tuple[str, str]]:
    """What a list's address says that is in no field of its filters' form."""
    fields = {name for spec in changelist.filter_specs for name in spec.expected_parameters()}
    said = changelist.filter_params.items()
    return [(name, value) for name, values in said if name not in fields for value in values]


@register.filter
def unread(changelist: Any) -> list[Any]:
    """The fields of a list's filters in which something cannot be read."""
    from mcp_app.admin.call_filters import unread as found

    return found(changelist.filter_specs)


def _labelled(cell: str, label: str) -> SafeString:
    # The checkbox of a row has a heading that is itself a checkbox.
    said = "" if "<input" in label else f' data-label="{escape(label)}"'
    return mark_safe(_CELL.sub(lambda tag: f"{tag[0]}{said}", cell, count=1))  # noqa: S308 - the cell is Django's own, escaped
