"""Form fields for what limits a token: its scopes, its tools, its end; each as people choose it."""

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_app.catalog.definition import Tool
from mcp_app.catalog.registry import servers
from mcp_app.conf import settings
from mcp_app.models.limits import unknown
from mcp_app.scopes import description, implied_by

ANY: Final = "any"
ONLY: Final = "only"
CHOICES: Final = ((ANY, _("Any tool that its user may call")), (ONLY, _("Only these tools:")))
_ABOUT: Final = 90
"""Characters of a tool's description that are shown."""
_LABEL: Final = '<code>{}</code> <span class="mcp-describe">{}</span>'
_GONE_LABEL: Final = '<code>{}</code> (<span class="mcp-describe">{}</span>)'
_TOOL_LABEL: Final = '<code>{}</code> ({}): <span class="mcp-describe">{}</span>'
"""With signs between the tags: of tools Django drops mere spaces, and words would run together."""

Choices = list[tuple[str, Any]]


def scope_choices() -> Choices:
    """Each declared scope with its description."""
    return [(name, format_html(_LABEL, name, _told(name))) for name in settings.SCOPES]


def _told(scope: str) -> str:
    told, implied = description(scope), ", ".join(sorted(implied_by(scope)))
    return f"{told} ({gettext('with')} {implied})" if implied else told


def tool_choices(tools: Iterable[Tool] | None = None) -> Choices:
    """Each of the tools, or of all that there are, once: what it does and needs, and is for."""
    every = (tool for server in servers() for tool in server.tools.values())
    named = {tool.name: tool for tool in (every if tools is None else tools)}
    return [(name, _tool_label(named[name])) for name in sorted(named)]


def _tool_label(tool: Tool) -> SafeString:
    return format_html(_TOOL_LABEL, tool.name, _mark(tool), _about(tool))


def _mark(tool: Tool) -> str:
    does = gettext("only reads") if tool.read_only else gettext("writes")
    if not tool.scopes:
        return does
    told = {"does": does, "scopes": ", ".join(tool.scopes)}
    return gettext("%(does)s, needs %(scopes)s") % told


def _about(tool: Tool) -> str:
    first = next(iter(str(tool.description or tool.title or "").strip().splitlines()), "")
    return str(Truncator(first).chars(_ABOUT))


def gone_choices(field: str, names: Any) -> Choices:
    """Those of a token's `scopes` or `tools` that mean nothing any more."""
    told = gettext("no longer declared: it allows nothing")
    return [(name, format_html(_GONE_LABEL, name, told)) for name in sorted(unknown(field, names))]


def _zone() -> str:
    said = gettext("Times are in the time zone %(zone)s.")
    return said % {"zone": timezone.get_current_timezone_name()}


ZONE: Final = lazy(_zone, str)()
"""For a form that asks for moments, or names some."""


class MomentField(forms.DateTimeField):
    """A date and a time, by the browser's own control."""

    def __init__(self, **kwargs: Any) -> None:
        attrs = {"type": "datetime-local", "step": 1}
        kwargs["widget"] = forms.DateTimeInput(attrs, format="%Y-%m-%dT%H:%M:%S")
        super().__init__(**kwargs)


class Sent(list[Any]):
    """Both controls as they were sent, each None where it was not."""


class ToolsWidget(forms.MultiWidget):
    """A choice, and the tools that it is about."""

    class Media:
        js: ClassVar = [forms.Script("mcp_app/tools.js", defer=True)]

    def __init__(self) -> None:
        names = forms.CheckboxSelectMultiple(attrs={"class": "mcp-tools"})
        super().__init__({"limit": forms.RadioSelect(choices=CHOICES), "names": names})

    def decompress(self, value: Any) -> list[Any]:
        """The choice that a token's `tools` are, and the names."""
        return [ANY, []] if value is None else [ONLY, value]

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Sent:
        """What a browser sent."""
        return Sent(super().value_from_datadict(data, files, name))

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        """For either: Django takes any list for what was sent, and a token's tools are one.

        Those that are ticked come first, so that none is out of sight.
        """
        sent = value if isinstance(value, Sent) else self.decompress(value)
        ticked, boxes = sent[1] or [], list[Any](self.widgets)[1]
        boxes.choices = sorted(boxes.choices, key=lambda choice: choice[0] not in ticked)
        return super().get_context(name, sent, attrs)


class ToolsField(forms.MultiValueField):
    """None for any tool, or the names of the only ones; an empty list for none at all."""

    widget = ToolsWidget

    def __init__(self, **kwargs: Any) -> None:
        fields = (forms.ChoiceField(choices=CHOICES), forms.MultipleChoiceField(required=False))
        super().__init__(fields, require_all_fields=False, **kwargs)

    def offer(self, choices: Choices, everything: Any = CHOICES[0][1]) -> None:
        """Let these be ticked; `everything` is what the choice of any tool is called."""
        names: Any = self.fields[1]
        limits, boxes = list[Any](self.widget.widgets)
        limits.choices = ((ANY, everything), CHOICES[1])
        names.choices = boxes.choices = choices

    def clean(self, value: Any) -> list[str] | None:
        """Need the choice, and no names beside “any”: which of the two is meant nobody knows."""
        limit, names = (field.clean(sent) for field, sent in zip(self.fields, value, strict=True))
        if limit == ANY and names:
            raise ValidationError(
                _("Tools are ticked, but any tool is chosen. Choose “only these”, or tick none."),
                code="ambiguous",
            )
        return sorted(names) if limit == ONLY else None

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether it would let other tools be called."""
        try:
            return bool(self.clean(data) != initial)
        except ValidationError:
            return True
