"""How the admin's cells look: badges, prefixes, JSON. What a caller sent is always escaped."""

import json
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime
from typing import Any, Final

from django.contrib import admin
from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from mcp_app.audit.outcomes import GROUPS, OutcomeGroup
from mcp_app.audit.periods import local
from mcp_app.models import CallEvent, CallOutcome, TokenStatus

NOTHING: Final = "-"
BREAK: Final = SafeString("<br>")

GROUP_TONES: Final = {
    OutcomeGroup.OK: "good",
    OutcomeGroup.FAILED: "bad",
    OutcomeGroup.TURNED_AWAY: "warn",
    OutcomeGroup.UNFINISHED: "dull",
}
"""An outcome has its group's colour, so that a call looks alike in a list and in the chart."""

_TONES: Final[Mapping[str, str]] = {
    TokenStatus.ACTIVE: "good",
    TokenStatus.EXPIRING: "warn",
    TokenStatus.EXPIRED: "dull",
    TokenStatus.REVOKED: "bad",
    TokenStatus.NO_SECRET: "bad",
    **{each: GROUP_TONES[group] for group, outcomes in GROUPS.items() for each in outcomes},
}
"""By value, so that a stored string finds its tone too; the rest are bad."""


def badge(value: str, label: Any) -> SafeString:
    """A label with a coloured mark; the text keeps the page's own colour in light and dark."""
    return mark(tone(value), label)


def mark(tone: str, label: Any) -> SafeString:
    """The same in a colour by its name: good, warn, bad or dull."""
    return format_html('<span class="mcp-badge mcp-badge-{}">{}</span>', tone, label)


def tone(value: str) -> str:
    """The colour of a badge's mark, by name."""
    return _TONES.get(value, "bad")


def passed(gate: bool | None, by_token: bool = False) -> SafeString:
    """What a gate says; None where only a call can tell, or the token that was not chosen."""
    open_to = _("depends on the token") if by_token else _("at the call")
    tone, word = {
        True: ("good", _("pass")),
        False: ("bad", _("fail")),
        None: ("dull", open_to),
    }[gate]
    return mark(tone, word)


def outcome_badge(call: Any) -> SafeString:
    """How a call ended: a row of the log's, or whatever else has its `outcome`."""
    return badge(call.outcome, dict(CallOutcome.choices).get(call.outcome, call.outcome))


def caller_text(event: CallEvent) -> str:
    """Who called, by the name they had; of nobody the address, or nothing."""
    return event.username or event.address or ""


def client_text(event: CallEvent) -> str:
    """What the caller said it is, or nothing."""
    return f"{event.client_name} {event.client_version}".strip()


def moment(at: datetime | None, seconds: bool = True) -> str | SafeString:
    """A date and a time in the current time zone, short enough for a list.

    Who points at it reads the zone's distance from UTC; pages name the zone itself.
    """
    if at is None:
        return NOTHING
    there = local(at)
    time = f"{there:%H:%M:%S}" if seconds else f"{there:%H:%M}"
    cell = (
        '<time datetime="{}" title="{}"><span class="mcp-moment">{}</span>'
        ' <span class="mcp-moment">{}</span></time>'
    )
    said = there.isoformat(timespec="seconds")
    return format_html(cell, said, said, f"{there:%Y-%m-%d}", time)


def moment_of(field: str, label: Any) -> Callable[[Any], Any]:
    """A column of moments as a field that is only read: Django would write them another way."""

    @admin.display(description=label, ordering=field)
    def shown(row: Any) -> Any:
        return moment(getattr(row, field), seconds=False)

    return shown


def two_lines(first: Any, second: Any) -> str | SafeString:
    """A cell of two facts, the second the quieter one."""
    return format_html('{}<br><span class="mcp-quiet">{}</span>', first, second)


def lines(texts: Sequence[Any]) -> SafeString:
    """Each on a line of its own."""
    return format_html_join(BREAK, "{}", ((text,) for text in texts))


def prefix(lookup: str) -> str | SafeString:
    """The public part of a secret as people see it."""
    return format_html("<code>mcp_{}_…</code>", lookup) if lookup else NOTHING


def codes(names: Sequence[str], gone: Set[str] = frozenset()) -> str | SafeString:
    """Names such as scopes, each as code; of those in `gone` it says so."""
    if not names:
        return _("none")
    return format_html_join(" ", "{}", ((_code(name, name in gone),) for name in names))


def _code(name: str, gone: bool) -> SafeString:
    if not gone:
        return format_html("<code>{}</code>", name)
    told = _("no longer there")
    return format_html('<code>{}</code> <span class="mcp-quiet">({})</span>', name, told)


def pretty_json(value: Any) -> str | SafeString:
    """A JSON value on lines of its own."""
    if value is None:
        return NOTHING
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return format_html('<pre class="mcp-block">{}</pre>', text)


def block(text: str) -> str | SafeString:
    """A longer text with its own line breaks."""
    return format_html('<pre class="mcp-block">{}</pre>', text) if text else NOTHING


def duration(milliseconds: float | None) -> str:
    """A time in the unit that suits it."""
    if milliseconds is None:
        return NOTHING
    if milliseconds < 1000:
        return _("%(n)s ms") % {"n": number_format(milliseconds, 1)}
    return _("%(n)s s") % {"n": number_format(milliseconds / 1000, 2)}


def percentage(share: float | None) -> str:
    """A share between 0 and 1 in per cent, to a tenth; what is not nothing never reads as 0."""
    if share is None:
        return NOTHING
    shown = round(100 * share, 1)
    if share and not shown:
        return f"< {number_format(0.1, 1)} %"
    return f"{number_format(shown, 0 if shown.is_integer() else 1)} %"
