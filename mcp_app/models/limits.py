"""The names that limit a token: of scopes and of tools, and which of them there are.

A name that was known once and is not any more means nothing, and does no harm: it may stay.
"""

from collections.abc import Callable, Mapping, Set
from difflib import get_close_matches
from typing import Final

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from mcp_app.catalog.registry import servers
from mcp_app.conf import settings


def validate_scopes(value: object) -> None:
    """Raise `ValidationError` unless `value` is a list of names; `refuse_unknown` knows which."""
    if not _is_list_of_names(value):
        raise ValidationError(_("Scopes are a list of names."), code="not_a_list")


def validate_tools(value: object) -> None:
    """Raise `ValidationError` unless `value` is a list of names; `refuse_unknown` knows which."""
    if not _is_list_of_names(value):
        raise ValidationError(_("Tools are a list of names."), code="not_a_list")


def names(value: object) -> frozenset[str]:
    """Those in a stored list; of anything else none, whatever a row was made to hold."""
    listed = value if isinstance(value, list) else []
    return frozenset(name for name in listed if isinstance(name, str))


def unknown(field: str, value: object) -> frozenset[str]:
    """Which names of a token's `scopes` or `tools` mean nothing."""
    found = names(value)
    return found - _KNOWN[field]() if found else found


def refuse_unknown(found: Mapping[str, Set[str]]) -> None:
    """Raise `ValidationError` by field for unknown names, each with the one probably meant."""
    wrong = {
        field: ValidationError(
            _TOLD[field],
            code=f"unknown_{field.removesuffix('s')}",
            params={"names": _similar(sorted(names), _KNOWN[field]())},
        )
        for field, names in found.items()
        if names
    }
    if wrong:
        raise ValidationError(wrong)


def _scopes() -> Set[str]:
    return frozenset(settings.SCOPES)


def _tools() -> Set[str]:
    return {name for server in servers() for name in server.tools}


_KNOWN: Final[Mapping[str, Callable[[], Set[str]]]] = {"scopes": _scopes, "tools": _tools}
_TOLD: Final = {
    "scopes": _("Not a declared scope: %(names)s."),
    "tools": _("There is no tool %(names)s."),
}


def _is_list_of_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _similar(unknown: list[str], known: Set[str]) -> str:
    """The names, each with the one that was probably meant."""
    meant = ((name, get_close_matches(name, sorted(known), 1)) for name in unknown)
    return ", ".join(f"{name} ({_('or')} {close[0]}?)" if close else name for name, close in meant)
