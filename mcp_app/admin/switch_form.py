"""The form that sets a switch: what of that which is declared, why, and until when."""

from datetime import datetime, time, timedelta
from typing import Any, ClassVar, Final

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_app.admin.entries import Entry, find
from mcp_app.audit.periods import local, midnight, stored, to_the_minute
from mcp_app.catalog.registry import servers
from mcp_app.forms.fields import ZONE, Choices, MomentField
from mcp_app.models import Switch, SwitchKind
from mcp_app.models.switches import declared, noun_of

NEVER: Final = "never"
CUSTOM: Final = "custom"
_MORNING: Final = time(9)
Target = tuple[str, str, str]
"""Server, noun and name; of a whole server the last two are empty."""


def ending_choices() -> Choices:
    """The usual ends, each with the moment that it means."""
    ends = _presets()
    labels = {
        "1h": gettext("In 1 hour"),
        "4h": gettext("In 4 hours"),
        "today": gettext("At the end of today"),
        "tomorrow": gettext("Tomorrow morning"),
    }
    said = gettext("%(span)s, on %(moment)s")
    spans = [
        (name, said % {"span": label, "moment": to_the_minute(ends[name])})
        for name, label in labels.items()
    ]
    never, custom = gettext("Not by itself: until it is lifted"), gettext("At a chosen time")
    return [(NEVER, never), *spans, (CUSTOM, custom)]


def _presets() -> dict[str, datetime]:
    now = timezone.now()
    tomorrow = local(now).date() + timedelta(days=1)
    return {
        "1h": now + timedelta(hours=1),
        "4h": now + timedelta(hours=4),
        "today": midnight(tomorrow),
        "tomorrow": stored(datetime.combine(tomorrow, _MORNING)),
    }


class SwitchForm(forms.ModelForm):  # type: ignore[type-arg]  # no subscript at run time
    """A server, or one thing of what the servers declare."""

    target = forms.ChoiceField(
        label=_("What"), help_text=_("A whole server for read-only and maintenance.")
    )
    ending = forms.ChoiceField(
        label=_("Ends"), choices=ending_choices, initial=NEVER, help_text=ZONE
    )
    until = MomentField(label=_("Until"), required=False)

    class Meta:
        model = Switch
        fields: ClassVar = ["kind", "reason", "until"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        self._targets = _targets()
        fields["target"].choices = [
            ("", "---------"),
            *((str(number), label) for number, (_, label) in enumerate(self._targets)),
        ]
        entry = find(str(self.initial.get("of", "")))
        if entry is not None:
            self.initial["target"] = self._number_of(entry)

    def _number_of(self, entry: Entry) -> str:
        """How the choice says what another page names."""
        wanted = (entry.server.name, noun_of(entry.declared), entry.declared.key)
        named = (str(n) for n, (target, _) in enumerate(self._targets) if target == wanted)
        return next(named, "")

    def clean(self) -> dict[str, Any]:
        """A whole server where the switch is for one, and one thing of it otherwise."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        number, kind = cleaned.get("target"), cleaned.get("kind")
        if number and kind:
            (server, noun, name), _label = self._targets[int(number)]
            if bool(name) != (kind == SwitchKind.OFF):
                self.add_error("target", gettext("That does not go with this switch."))
            self.instance.server, self.instance.noun, self.instance.name = server, noun, name
        if "ending" in cleaned and "until" in cleaned:
            cleaned["until"] = self._end(cleaned["ending"], cleaned["until"])
        return cleaned

    def _post_clean(self) -> None:
        """What the model makes of a target that is refused already needs no saying."""
        super()._post_clean()  # type: ignore[misc]
        if "target" in self.errors:
            self.errors.pop(NON_FIELD_ERRORS, None)

    def _end(self, ending: str, until: datetime | None) -> datetime | None:
        if ending != CUSTOM:
            return _presets().get(ending)
        if until is None:
            self.add_error("until", gettext("Give the date and time, or choose another end."))
        return until


def shown_end(switch: Switch) -> dict[str, str]:
    """The fields that say the end which a person was shown: an hour from then, not from now."""
    if switch.until is None:
        return {"ending": NEVER, "until": ""}
    return {"ending": CUSTOM, "until": f"{local(switch.until):%Y-%m-%dT%H:%M:%S}"}


def _targets() -> list[tuple[Target, str]]:
    """What can be switched, with the words for it."""
    found: list[tuple[Target, str]] = []
    for server in servers():
        found.append(((server.name, "", ""), gettext("the server %s") % server.name))
        for noun, names in declared(server).items():
            found.extend(
                ((server.name, noun, name), f"{server.name}: {noun} {name}")
                for name in sorted(names)
            )
    return found
